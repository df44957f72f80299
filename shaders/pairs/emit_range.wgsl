// emit_range: finds the blocks that have pairs in a further window of a list, and sizes the dispatches for these blocks
// only.
//
// Reads   params, window
//         block_hits  [HIT_SUMS] sums, then [giant_blocks + sweep_blocks] pairs of each block (hit_sums.wgsl)
// Writes  counts      first_block
//         dispatches  of emit_sweep and emit_again
//
// One workgroup. For the first window of a search, the kernel is not dispatched: divide_path dispatches all blocks.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<uniform> window: Window;
@group(0) @binding(2) var<storage, read_write> counts: Counts;
@group(0) @binding(3) var<storage, read> block_hits: array<u32>;
@group(0) @binding(4) var<storage, read_write> dispatches: Dispatches;

// A group of SUM_BLOCKS blocks that has the searched pair: its first block, and the pair count before the group.
struct BlockGroup {
    first: u32,
    pairs_before: vec2<u32>,
}

var<workgroup> block_count: u32;
var<workgroup> found_group: BlockGroup;
var<workgroup> found_block: u32;

const_assert SUM_BLOCKS == 256u;

@compute @workgroup_size(256)
fn emit_range(@builtin(local_invocation_index) local: u32) {
    if local == 0u {
        block_count = counts.giant_blocks + counts.sweep_blocks;
    }
    let blocks = workgroupUniformLoad(&block_count);
    let first_pair = vec2<u32>(window.first_low, window.first_high);
    var last_pair = add64(first_pair, vec2<u32>(max(window.capacity, 1u) - 1u, 0u));
    if less64(last_pair, first_pair) {
        last_pair = vec2<u32>(0xffffffffu);
    }
    let first = block_with(first_pair, blocks, local);
    let last = block_with(last_pair, blocks, local);
    if local == 0u {
        let end = min(last + 1u, blocks);
        let giants = counts.giant_blocks;
        let are_all_retained = counts.sweep_tiles <= params.tile_capacity;
        let again_end = select(end, min(end, giants), are_all_retained);
        let again = select(again_end - min(first, again_end), 0u, counts.refused == 1u);
        counts.first_block = first;
        // One workgroup writes the header, even without blocks.
        dispatches.emit_sweep = dispatch_size(max(max(end, giants) - max(first, giants), 1u));
        dispatches.emit_again = dispatch_size(again);
    }
}

fn contains(first: vec2<u32>, count: vec2<u32>, number: vec2<u32>) -> bool {
    return !less64(number, first) & less64(number, add64(first, count));
}

// Returns the block that has pair `number` of the list, or `blocks` if there is no such pair. Every invocation of the
// workgroup must call it.
fn block_with(number: vec2<u32>, blocks: u32, local: u32) -> u32 {
    if local == 0u {
        found_group = BlockGroup(blocks, vec2<u32>(0u));
        found_block = blocks;
    }
    // Each invocation processes consecutive groups.
    let groups = div_ceil(blocks, SUM_BLOCKS);
    let each = div_ceil(groups, 256u);
    let first = local * each;
    let end = min(first + each, groups);
    var own = vec2<u32>(0u);
    for (var group = first; group < end; group += 1u) {
        own = add64(own, pairs_of_group(group));
    }
    // The barriers of the scan separate the writes above from the writes below.
    var before = scan_workgroup48(local, own).before;
    for (var group = first; group < end; group += 1u) {
        let count = pairs_of_group(group);
        if contains(before, count, number) {
            found_group = BlockGroup(group * SUM_BLOCKS, before);
        }
        before = add64(before, count);
    }
    let group = workgroupUniformLoad(&found_group);
    let block = group.first + local;
    var hits = vec2<u32>(0u);
    if block < blocks {
        hits.x = block_hits[2u * HIT_SUMS + block];
    }
    before = add64(group.pairs_before, scan_workgroup48(local, hits).before);
    if contains(before, hits, number) {
        found_block = block;
    }
    return workgroupUniformLoad(&found_block);
}

fn pairs_of_group(group: u32) -> vec2<u32> {
    return from_halves(vec2<u32>(block_hits[2u * group], block_hits[2u * group + 1u]));
}
