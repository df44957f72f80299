// Counts the pairs of a block of tiles, and adds the count to the sum over SUM_BLOCKS blocks (shared/scan.wgsl). Shared
// by the kernels that test, which bind block_hits with atomics.

var<workgroup> hits_in_block: atomic<u32>;

// Counts the pairs of a block. `found` is the pair count of this invocation. Every invocation of the workgroup must
// call it.
fn count_block(block: u32, local: u32, found: u32) {
    if local == 0u {
        atomicStore(&hits_in_block, 0u);
    }
    workgroupBarrier();
    if found != 0u {
        atomicAdd(&hits_in_block, found);
    }
    workgroupBarrier();
    if local == 0u {
        let hits = atomicLoad(&hits_in_block);
        atomicStore(&block_hits[2u * HIT_SUMS + block], hits);
        let more = halves_of(vec2<u32>(hits, 0u));
        atomicAdd(&block_hits[2u * (block / SUM_BLOCKS)], more.x);
        atomicAdd(&block_hits[2u * (block / SUM_BLOCKS) + 1u], more.y);
    }
}
