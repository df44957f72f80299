// Computes the pair count before a block of tiles from the counts of count_block. Shared by the kernels that write
// pairs, which bind block_hits. Source: as grid/sort_places.wgsl.

var<workgroup> added_hits: array<atomic<u32>, 2>;
var<workgroup> all_added: vec2<u32>;

// Returns the pair count of a block.
fn hits_of(block: u32) -> u32 {
    return block_hits[2u * HIT_SUMS + block];
}

// Returns the pair count of all blocks before this block. There are at most `2 * MOST_BLOCKS` blocks. Every invocation
// of the workgroup must call it. The compiler knows the result as uniform.
fn pairs_before(block: u32, local: u32) -> vec2<u32> {
    if local < 2u {
        atomicStore(&added_hits[local], 0u);
    }
    workgroupBarrier();
    let sums = block / SUM_BLOCKS;
    var mine = vec2<u32>(0u);
    for (var sum = local; sum < sums; sum += 256u) {
        mine = add64(mine, from_halves(vec2<u32>(block_hits[2u * sum], block_hits[2u * sum + 1u])));
    }
    for (var nth = sums * SUM_BLOCKS + local; nth < block; nth += 256u) {
        mine = add64(mine, vec2<u32>(hits_of(nth), 0u));
    }
    if (mine.x | mine.y) != 0u {
        let more = halves_of(mine);
        atomicAdd(&added_hits[0], more.x);
        atomicAdd(&added_hits[1], more.y);
    }
    workgroupBarrier();
    if local == 0u {
        all_added = from_halves(vec2<u32>(atomicLoad(&added_hits[0]), atomicLoad(&added_hits[1])));
    }
    return workgroupUniformLoad(&all_added);
}
