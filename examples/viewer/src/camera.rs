//! The camera.

use glam::{Mat4, Vec2, Vec3, Vec4};

use crate::scene::Look;

/// A camera that goes around a point.
#[derive(Clone, Copy, Debug)]
pub struct Camera {
    /// The point in the middle of the picture.
    pub target: Vec3,
    /// The distance from that point.
    pub distance: f32,
    /// The direction along the ground, in radians.
    pub yaw: f32,
    /// The direction upward, in radians.
    pub pitch: f32,
}

/// Half of the visible height at a distance of one.
const HALF_HEIGHT: f32 = 0.42;

impl From<Look> for Camera {
    fn from(look: Look) -> Self {
        Self { target: look.target, distance: look.distance, yaw: 0.7, pitch: look.pitch }
    }
}

impl Camera {
    /// Returns the position of the camera.
    pub fn eye(&self) -> Vec3 {
        self.target - self.distance * self.forward()
    }

    fn forward(&self) -> Vec3 {
        let (sin, cos) = self.pitch.sin_cos();
        -Vec3::new(self.yaw.cos() * cos, self.yaw.sin() * cos, sin)
    }

    /// Returns the directions to the right and upward in the picture.
    fn across(&self) -> (Vec3, Vec3) {
        let forward = self.forward();
        let right = forward.cross(Vec3::Z).normalize();
        (right, right.cross(forward))
    }

    /// Returns the matrix from the world to clip space. The depth is 1 at the near plane and 0 at infinity.
    pub fn clip_from_world(&self, aspect: f32) -> Mat4 {
        let (eye, forward, (right, up)) = (self.eye(), self.forward(), self.across());
        let near = 0.002 * self.distance.max(0.01);
        let row = |axis: Vec3, scale: f32| scale * axis.extend(-axis.dot(eye));
        let rows = Mat4::from_cols(
            row(right, 1.0 / (HALF_HEIGHT * aspect)),
            row(up, 1.0 / HALF_HEIGHT),
            // Depth is near / distance. Floats are most precise near 0, far away.
            Vec4::new(0.0, 0.0, 0.0, near),
            row(forward, 1.0),
        );
        rows.transpose()
    }

    /// Returns the direction of the ray through a point of the picture, from -1 to 1 to the right and upward.
    pub fn ray(&self, at: Vec2, aspect: f32) -> Vec3 {
        let (right, up) = self.across();
        self.forward() + HALF_HEIGHT * (at.x * aspect * right + at.y * up)
    }

    /// Turns by angles.
    pub fn turn(&mut self, by: Vec2) {
        self.yaw -= by.x;
        // Straight up, the direction to the right is undefined.
        self.pitch = (self.pitch + by.y).clamp(-1.5, 1.5);
    }

    /// Moves the target by a part of the height of the picture.
    pub fn pan(&mut self, by: Vec2) {
        let (right, up) = self.across();
        self.target += 2.0 * HALF_HEIGHT * self.distance * (by.y * up - by.x * right);
    }

    /// Multiplies the distance.
    pub fn zoom(&mut self, factor: f32) {
        self.distance = (self.distance * factor).clamp(0.05, 1e5);
    }
}
