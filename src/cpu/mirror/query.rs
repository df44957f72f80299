//! Mirror of `query`: the conversion of queries. The brute-force functions mirror the kernels that answer queries.

pub use crate::cpu::brute_queries::{all_hits as cross, all_hits as times};
pub use crate::cpu::brute_queries::{first_hits as first, first_hits as hits};
pub use crate::cpu::brute_queries::{nearest as near, nearest as squares};
pub use crate::cpu::brute_queries::{overlaps as sphere, overlaps as touch};

#[cfg(feature = "gpu")]
pub use derived::{CutOut, capsule, moving, turned};

#[cfg(feature = "gpu")]
mod derived {
    use crate::queries::Region;
    use crate::{Aabb, Capsule, Cast, OrientedBox, Shape};

    /// The cut of a shape: bounds, and normals and offsets of half-spaces.
    pub type CutOut = (Aabb, Vec<[f32; 4]>);

    /// Returns the words of moving spheres or capsules.
    pub fn moving<C: Cast>(casts: &[C]) -> Vec<u32> {
        C::words(casts).into_owned()
    }

    /// Returns the cut of each capsule; none for an invalid capsule.
    pub fn capsule(capsules: &[Capsule]) -> Vec<Option<CutOut>> {
        regions(capsules)
    }

    /// Returns the cut of each turned box.
    pub fn turned(boxes: &[OrientedBox]) -> Vec<Option<CutOut>> {
        regions(boxes)
    }

    fn regions<S: Shape>(shapes: &[S]) -> Vec<Option<CutOut>> {
        let region = |shape: &S| {
            let region = shape.region()?;
            let mut parts = Vec::new();
            region.each_half_space(|part| parts.push(part));
            Some((region.bounds(), parts))
        };
        shapes.iter().map(region).collect()
    }
}
