// Adds words to a long number in two's complement. Shared by the kernels that sum products exactly.

// Adds three words to four words of a sum, with a carry, and returns the four words. `numbers` are the indices of these
// four words.
fn added(sum: vec4<u32>, words: vec3<u32>, numbers: vec4<u32>, carry: ptr<function, u32>) -> vec4<u32> {
    let low = select(vec4<u32>(0u), vec4<u32>(words.x), numbers == vec4<u32>(0u));
    let middle = select(low, vec4<u32>(words.y), numbers == vec4<u32>(1u));
    let addend = select(middle, vec4<u32>(words.z), numbers == vec4<u32>(2u));
    let partial = sum + addend;
    let carries = select(vec4<u32>(0u), vec4<u32>(1u), partial < sum);
    // A word that has carried is not all ones, so the added carry cannot carry again.
    var total = partial;
    total.x += *carry;
    let from_x = carries.x | select(0u, 1u, total.x < partial.x);
    total.y += from_x;
    let from_y = carries.y | select(0u, 1u, total.y < partial.y);
    total.z += from_y;
    let from_z = carries.z | select(0u, 1u, total.z < partial.z);
    total.w += from_z;
    *carry = carries.w | select(0u, 1u, total.w < partial.w);
    return total;
}
