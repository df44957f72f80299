// sweep_test: the exact test of every candidate of the sweep.
//
// Reads   boxes       [box_count * 3] bits of f32, two at a time
//         counts, entries, steps, extents, path_bases: the path (see sweep_walk.wgsl)
// Writes  found       [tile_capacity] (where, how many) for each tile; behind them [survivor_capacity] pairs (a, b)
//                     with a < b, or NO_PAIR, in the order of the path within a tile, as far as there is room
//         block_hits  [sweep_blocks] pairs found by each workgroup; the last element counts the survivors that have
//                     a place
// Every invocation looks at RUN_QUADS quads, whatever entries, cells or rows they belong to. What survives is tested
// exactly. Where in `found` a tile lies depends on which workgroup came first; what lies there, and the order in
// which emit_sweep takes it, does not.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<uniform> counts: Counts;
@group(0) @binding(2) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> entries: array<u32>;
@group(0) @binding(4) var<storage, read> steps: array<Step>;
@group(0) @binding(5) var<storage, read> extents: array<vec4<u32>>;
@group(0) @binding(6) var<storage, read> path_bases: array<vec2<u32>>;
@group(0) @binding(7) var<storage, read_write> found: array<vec2<u32>>;
@group(0) @binding(8) var<storage, read_write> block_hits: array<atomic<u32>>;

var<workgroup> hits: atomic<u32>;
var<workgroup> place: u32;

// Room for the survivors of a tile.
fn take_room(tile: u32, count: u32) -> u32 {
    if tile >= params.tile_capacity {
        return NOT_KEPT;
    }
    // Looked at first, so that the counter cannot wrap.
    let next = &block_hits[2u * HIT_BLOCKS];
    var at = NOT_KEPT;
    if count <= params.survivor_capacity && atomicLoad(next) <= params.survivor_capacity - count {
        at = atomicAdd(next, count);
        if at > params.survivor_capacity - count {
            at = NOT_KEPT;
        }
    }
    found[tile] = vec2<u32>(at, count);
    return at;
}

@compute @workgroup_size(256)
fn sweep_test(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let block = group_index(group, groups);
    let first = block * counts.sweep_tiles_per_block;
    let end = min(first + counts.sweep_tiles_per_block, counts.sweep_tiles);
    var mine = 0u;
    for (var tile = first; tile < end; tile += 1u) {
        let seen = survey(add64(mul64(tile, TILE_QUADS), vec2<u32>(local * RUN_QUADS, 0u)));
        let scan = scan_workgroup(local, vec4<u32>(countOneBits(seen.word), 0u, 0u, 0u));
        if local == 0u {
            place = take_room(tile, scan.total.x);
        }
        workgroupBarrier();
        let is_kept = place != NOT_KEPT;
        var at = params.tile_capacity + place + scan.before.x;
        var word = seen.word;
        while word != 0u {
            let pair = pair_at(ranks_of(seen, firstTrailingBit(word)));
            mine += select(1u, 0u, pair.x == NO_PAIR);
            if is_kept {
                found[at] = pair;
            }
            at += 1u;
            word &= word - 1u;
        }
    }
    if mine > 0u {
        atomicAdd(&hits, mine);
    }
    workgroupBarrier();
    if local == 0u && block < counts.sweep_blocks {
        atomicStore(&block_hits[block], atomicLoad(&hits));
    }
}
