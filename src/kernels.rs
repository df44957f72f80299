//! The kernels of all stages. A stage is a file with a struct of its kernels. The methods `record…` of the struct take
//! the buffers to read and write. A stage dispatches only its own kernels.
//!
//! Kernel `k` of stage `s` is the file `s_k.wgsl` below `shaders/`, and has the label `s_k`. `KERNELS` of the stage
//! lists the kernel. Its mirror is `cpu::mirror::s::k`. An exception: `emit_sweep` and `emit_again` only write the hits
//! of `sweep_test`, so their mirror is `cpu::mirror::sweep::test`.

use crate::filters::prepare;
use crate::gpu::kernel::Source;
use crate::grid::{bin, frame, pca, sort};
use crate::pairs::{emit, events, exclude, giants, neighbours, order, rank, small, sweep};
use crate::tree::{build, query};

/// The sources of the kernels of each stage, in the order of the flow: filters and prepared boxes; the grid; pairs; all
/// pairs of few boxes; trees.
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
