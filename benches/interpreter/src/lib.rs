//! An interpreter of kernels: a `wgpu` device without hardware or driver. It runs naga's representation of each kernel
//! and watches every access to memory.
//!
//! [`Interpreter::device`] creates the device. A library runs on it unchanged, with its buffers, bind groups,
//! submissions and indirect dispatches. Afterwards [`Interpreter::report`] returns the faults of all kernels (data
//! races, reads of unwritten memory, accesses out of bounds, barriers that not all invocations reach) and the cost of
//! each kernel.
//!
//! - Subgroups have the requested size. Invocations of a workgroup run in lockstep; workgroups run one after the other,
//!   in an order that can be chosen.
//! - A **race** is two accesses of different invocations to one word, at least one of them a write, without a barrier
//!   that orders them: `workgroupBarrier` orders workgroup memory, `storageBarrier` storage, and both only within a
//!   workgroup. `subgroupBarrier` orders nothing, since on some back ends it does not.
//! - Atomics also race if their order can show: a load beside a change; a change with a used result beside another
//!   change; two changes by different functions. Changes by the same function with unused results do not race, nor do
//!   stores of the same value.

mod arithmetic;
mod backend;
mod compile;
mod compiler;
pub mod counts;
mod device;
mod expression;
mod kernel;
mod logic;
mod mask;
pub mod memory;
mod mutate;
pub mod program;
mod report;
mod run;
mod schedule;
mod stores;
mod types;
mod walk;

pub use device::{Compared, Interpreter};
pub use mutate::Mutation;
pub use report::{Finding, KernelCost, Report};
pub use schedule::{Order, Schedule};
