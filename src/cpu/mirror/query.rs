//! Mirror of `query`: queries against every box.

pub use crate::cpu::brute_queries::{all_hits as cross, all_hits as times};
pub use crate::cpu::brute_queries::{first_hits as first, first_hits as hits};
pub use crate::cpu::brute_queries::{nearest as near, nearest as squares};
pub use crate::cpu::brute_queries::{overlaps as sphere, overlaps as touch};
