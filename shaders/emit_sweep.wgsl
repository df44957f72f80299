// emit_sweep: writes the pairs that sweep_test found, those numbers of them that lie in the window.
//
// Reads   params, window, counts
//         found          [tile_capacity] (where, how many), [survivor_capacity] pairs and gaps, of sweep_test
//         boxes, entries, steps, extents, path_bases: to find again what had no room
//         block_offsets  [sweep_blocks] pairs before each workgroup, of emit_scan
// Writes  pairs          [window.capacity] (a, b), a < b, in the order of the path
// Any window, as often as asked: together they are the whole list, each pair once.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<uniform> window: Window;
@group(0) @binding(2) var<uniform> counts: Counts;
@group(0) @binding(3) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(4) var<storage, read> entries: array<u32>;
@group(0) @binding(5) var<storage, read> steps: array<Step>;
@group(0) @binding(6) var<storage, read> extents: array<vec4<u32>>;
@group(0) @binding(7) var<storage, read> path_bases: array<vec2<u32>>;
@group(0) @binding(8) var<storage, read> found: array<vec2<u32>>;
@group(0) @binding(9) var<storage, read> block_offsets: array<vec2<u32>>;
@group(0) @binding(10) var<storage, read_write> pairs: array<vec2<u32>>;

// Survivors that an invocation takes at a time.
const RUN: u32 = 4u;

@compute @workgroup_size(256)
fn emit_sweep(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let block = group_index(group, groups);
    if block >= counts.sweep_blocks {
        return;
    }
    var next = block_offsets[block];
    if !meets_window(next, sub64(block_offsets[block + 1u], next).x) {
        return;
    }
    let first = block * counts.sweep_tiles_per_block;
    let end = min(first + counts.sweep_tiles_per_block, counts.sweep_tiles);
    for (var tile = first; tile < end; tile += 1u) {
        var kept = vec2<u32>(NOT_KEPT, 0u);
        if tile < params.tile_capacity {
            kept = found[tile];
        }
        if kept.x == NOT_KEPT {
            next = find_again(tile, local, next);
        } else {
            next = copy_kept(params.tile_capacity + kept.x, kept.y, local, next);
        }
    }
}

// Writes the pairs among survivors [start, start + count); returns the number of the pair after them.
fn copy_kept(start: u32, count: u32, local: u32, number: vec2<u32>) -> vec2<u32> {
    var next = number;
    for (var done = 0u; done < count; done += 256u * RUN) {
        var own: array<vec2<u32>, RUN>;
        var hits = 0u;
        for (var k = 0u; k < RUN; k += 1u) {
            let i = done + local * RUN + k;
            own[k] = vec2<u32>(NO_PAIR);
            if i < count {
                own[k] = found[start + i];
            }
            hits += select(1u, 0u, own[k].x == NO_PAIR);
        }
        let scan = scan_workgroup(local, vec4<u32>(hits, 0u, 0u, 0u));
        var at = add64(next, vec2<u32>(scan.before.x, 0u));
        for (var k = 0u; k < RUN; k += 1u) {
            if own[k].x != NO_PAIR {
                write_pair(at, own[k]);
                at = add64(at, vec2<u32>(1u, 0u));
            }
        }
        next = add64(next, vec2<u32>(scan.total.x, 0u));
    }
    return next;
}

// The same for a tile whose survivors were not kept.
fn find_again(tile: u32, local: u32, number: vec2<u32>) -> vec2<u32> {
    let seen = survey(add64(mul64(tile, TILE_QUADS), vec2<u32>(local * RUN_QUADS, 0u)));
    var hits = 0u;
    for (var word = seen.word; word != 0u; word &= word - 1u) {
        let bit = firstTrailingBit(word);
        hits |= select(1u << bit, 0u, pair_at(ranks_of(seen, bit)).x == NO_PAIR);
    }
    let scan = scan_workgroup(local, vec4<u32>(countOneBits(hits), 0u, 0u, 0u));
    var at = add64(number, vec2<u32>(scan.before.x, 0u));
    for (; hits != 0u; hits &= hits - 1u) {
        write_pair(at, pair_at(ranks_of(seen, firstTrailingBit(hits))));
        at = add64(at, vec2<u32>(1u, 0u));
    }
    return add64(number, vec2<u32>(scan.total.x, 0u));
}
