//! Other libraries, called as by their own users. Invalid boxes are left out, as for pairs.
//!
//! | peer | rays | boxes | nearest to a point | what it answers otherwise |
//! |---|---|---|---|---|
//! | [`parry`] | all three | yes | one | rounds in single precision; of several at one distance, it gives any |
//! | [`bvh`] | all three | yes | not measured: its point type is of a crate that it does not show | the same; directions are normalised; a ray in the plane of a face misses; boxes beyond 1e14 are refused |
//! | [`obvhs`] | all three | yes | no | the same; a direction below 1e-7 counts as 1e-7 |
//! | [`rstar`] | no | yes | any number | distances round, and of several at one distance it gives any |

pub mod bvh;
pub mod obvhs;
pub mod parry;
pub mod rstar;
