// Computes eigenvalues and eigenvectors of a covariance matrix by cyclic Jacobi rotations, for frame_choose. Source: as
// frame_choose.

struct Eigen {
    values: vec3<f32>,
    vectors: mat3x3<f32>,     // columns
}

// Returns the eigenvalues and eigenvectors. Diagonal elements that differ by at most `tie` count as equal when the
// direction of a rotation is chosen.
fn jacobi(covariance: mat3x3<f32>, tie: f32) -> Eigen {
    var turned = Turned(covariance, mat3x3<f32>(1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0));
    // A 3x3 matrix converges in about six sweeps. The fixed count gives the same result on every run.
    for (var sweep = 0u; sweep < 8u; sweep += 1u) {
        // No loop: with constant indices, the matrices stay in registers.
        turned = turn(turned, 0u, 1u, tie);
        turned = turn(turned, 0u, 2u, tie);
        turned = turn(turned, 1u, 2u, tie);
    }
    let a = turned.matrix;
    return Eigen(vec3<f32>(a[0][0], a[1][1], a[2][2]), turned.vectors);
}

// A matrix after some rotations, and the product of these rotations.
struct Turned {
    matrix: mat3x3<f32>,
    vectors: mat3x3<f32>,
}

// Rotates axes p and q so that their off-diagonal element vanishes.
fn turn(before: Turned, p: u32, q: u32, tie: f32) -> Turned {
    var a = before.matrix;
    var v = before.vectors;
    let off = a[q][p];
    let difference = a[q][q] - a[p][p];
    if abs(off) > 1e-30 && abs(off) > 1e-9 * abs(difference) {
        let theta = 0.5 * difference / off;
        let turns_forward = theta >= 0.0 || (theta > -0.5 && abs(difference) <= tie);
        let t = select(-1.0, 1.0, turns_forward) / (abs(theta) + sqrt(theta * theta + 1.0));
        let c = 1.0 / sqrt(t * t + 1.0);
        let s = t * c;
        let ap = a[p];
        let aq = a[q];
        a[p] = c * ap - s * aq;
        a[q] = s * ap + c * aq;
        let to_p = vec3<f32>(a[0][p], a[1][p], a[2][p]);
        let to_q = vec3<f32>(a[0][q], a[1][q], a[2][q]);
        let in_p = c * to_p - s * to_q;
        let in_q = s * to_p + c * to_q;
        a[0][p] = in_p.x;
        a[1][p] = in_p.y;
        a[2][p] = in_p.z;
        a[0][q] = in_q.x;
        a[1][q] = in_q.y;
        a[2][q] = in_q.z;
        let vp = v[p];
        let vq = v[q];
        v[p] = c * vp - s * vq;
        v[q] = s * vp + c * vq;
    }
    return Turned(a, v);
}
