//! The kernels of all stages. A stage is a file: a struct that holds its kernels, with methods `record…` whose arguments
//! are the buffers that they read and write. None dispatches the kernels of another.
//!
//! Kernel `k` of stage `s` is `s_k.wgsl` in the folder of the stage below `shaders/`, is labelled `s_k` wherever it shows,
//! stands in `KERNELS` of the stage, and is mirrored on plain slices by `cpu::mirror::s::k`; but the pairs that
//! `emit_sweep` and `emit_again` write between them are those of `cpu::mirror::sweep::test`.

use crate::filters::prepare;
use crate::gpu::kernel::Source;
use crate::grid::{bin, frame, pca, sort};
use crate::pairs::{emit, events, exclude, giants, neighbours, order, rank, small, sweep};
use crate::tree::{build, query};

/// The sources of the kernels of each stage, in the order of the flow: where filters change, and change boxes, where the grid is
/// built, where pairs are found; in place of all but the first, where boxes are few; and those of trees.
const STAGES: &[&[Source]] = &[
    prepare::KERNELS,
    exclude::KERNELS,
    pca::KERNELS,
    frame::KERNELS,
    bin::KERNELS,
    sort::KERNELS,
    rank::KERNELS,
    sweep::KERNELS,
    giants::KERNELS,
    emit::KERNELS,
    &order::KERNELS,
    small::KERNELS,
    &events::KERNELS,
    neighbours::KERNELS,
    &build::KERNELS,
    query::KERNELS,
];

/// Lists the sources of all kernels, stage by stage.
pub fn sources() -> impl Iterator<Item = &'static Source> {
    STAGES.iter().copied().flatten()
}
