//! An interpreter of kernels: a `wgpu` device without hardware or driver, which runs naga's representation of each kernel
//! and watches every access to memory.
//!
//! [`Interpreter::device`] makes the device. A library that is given it runs as it is: its buffers, bind groups,
//! submissions and indirect dispatches. Afterwards [`Interpreter::report`] tells what was wrong in any kernel (data races,
//! reads of memory that nobody wrote, accesses out of bounds, barriers that not all invocations reach) and what each cost.
//!
//! - Subgroups have the size that is requested. Invocations of a workgroup run in lockstep, workgroups one after the
//!   other in an order that can be chosen.
//! - A **race** is two accesses of different invocations to one word, at least one of them writing, without a barrier that
//!   orders them: `workgroupBarrier` orders workgroup memory, `storageBarrier` storage, and both only within a workgroup.
//!   `subgroupBarrier` orders nothing, since it does not on every back end.
//! - Atomics race too where their order could show: a load beside a change; a change whose result is used beside another;
//!   two changes by different functions. Changes by the same function whose results are not used do not race, nor do
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
