//! Types and constants that all of the crate uses. Nothing here needs a GPU or imports from another folder.

pub mod aabb;
pub mod constants;
pub mod error;
pub mod exact;
pub mod id_pair;
pub mod layout;
pub mod options;
pub mod report;
pub mod reserve;
pub mod setters;
