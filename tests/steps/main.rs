//! Events from step to step, of both engines, against set differences of brute force.

#[path = "../common/mod.rs"]
mod common;

mod edited;
mod filtered;
mod generated;
mod identity;
mod kinds;
mod margin;
mod moved;
mod oracle;
mod owner;
mod reasons;
mod recorded;
mod refused;
mod sequences;
mod slots;
mod streamed;
mod submitted;
