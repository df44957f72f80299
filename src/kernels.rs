//! The stages of the flow, one file each, in their order: [`prepare`], where filters change the boxes, [`pca`],
//! [`frame`], [`bin`], [`sort`], [`rank`], [`sweep`], [`giants`], [`emit`], [`order`]; and [`small`] in place of them
//! all from `pca` on, where boxes are few. A stage is a struct that holds its kernels, with methods `record…` whose
//! arguments are the buffers it reads and writes. No stage knows of another.
//!
//! Kernel `k` of stage `s` is `shaders/…/s_k.wgsl`, is labelled `s_k` wherever it shows, and is mirrored on plain
//! slices by `cpu::mirror::s::k`. Only `emit_place`, `emit_sweep` and `emit_again` have no mirrors: the pairs that they
//! write together are those of `cpu::mirror::sweep::test`.

use crate::filters::prepare;
use crate::gpu::kernel::Source;
use crate::grid::{bin, frame, pca, sort};
use crate::pairs::{emit, giants, order, rank, small, sweep};

/// The sources of all kernels, in the order in which they run.
pub const SOURCES: &[Source] = &[
    prepare::BOXES,
    pca::BOUNDS,
    pca::MOMENTS,
    frame::CHOOSE,
    bin::WORLDS,
    bin::COUNT,
    bin::SCAN,
    bin::SCATTER,
    sort::COUNT,
    sort::SCAN,
    sort::SCATTER,
    sort::TALLY,
    sort::WIDE,
    sort::BALLOT,
    rank::ENDS,
    sweep::COUNT,
    sweep::SCAN,
    sweep::TEST,
    giants::TEST,
    emit::PLACE,
    emit::SCAN,
    emit::SWEEP,
    emit::AGAIN,
    emit::GIANTS,
    emit::INCLUDE,
    order::SPLIT,
    order::JOIN,
    small::TEST,
    small::INCLUDE,
    small::EMIT,
];
