// epoch_scan: where the pairs of each tile go that stay, or boxes (IS_SEARCHED), how many there are, and what follows.
//
// Reads   epoch_params
// Changes kept_tiles    [tiles] counts, to sums over the tiles before
//         between_tiles the same; IS_KEPT alone
//         epoch         IS_FRESH: fresh, of the pairs that were found. IS_REST: rest and apart, of the pairs of boxes that escaped
//                       before; and the epoch ends where there is no room. IS_APART: the pairs of these that overlap.
//                       IS_KEPT: those of the pairs that are kept, and of all
// Writes  epoch_sizes   of the lists, and of what comes of them; not IS_SEARCHED
//         grown_count   IS_SEARCHED: the number of boxes that are searched, while an epoch goes on
// One workgroup.
// Source: as that of emit_place.

override IS_SEARCHED: bool = false;
override IS_FRESH: bool = false;
override IS_REST: bool = false;
override IS_APART: bool = false;
override IS_KEPT: bool = false;

@group(0) @binding(0) var<uniform> epoch_params: EpochParams;
@group(0) @binding(1) var<storage, read_write> kept_tiles: array<u32>;
@group(0) @binding(2) var<storage, read_write> epoch: Epoch;
@group(0) @binding(3) var<storage, read_write> epoch_sizes: EpochSizes;
@group(0) @binding(4) var<storage, read_write> grown_count: array<u32>;
@group(0) @binding(5) var<storage, read_write> between_tiles: array<u32>;

@compute @workgroup_size(256)
fn epoch_scan(@builtin(local_invocation_index) local: u32) {
    let is_part = epoch.mode == EPOCH_PART;
    var count = epoch.kept;
    if IS_SEARCHED {
        count = select(0u, epoch_params.slots, is_part);
    } else if IS_FRESH {
        count = select(0u, epoch.found, is_part);
    } else if IS_REST {
        count = select(0u, epoch.apart, is_part);
    } else if IS_APART {
        count = epoch.apart;
    }
    let tiles = div_ceil(count, EVENT_TILE);
    let is_same = IS_KEPT && has_same(epoch.mode, epoch.moved);
    let run = div_ceil(tiles, 256u);
    let first = local * run;
    let end = select(min(first + run, tiles), 0u, is_same);
    var mine = vec2<u32>(0u);
    for (var tile = first; tile < end; tile += 1u) {
        mine += counts_of(tile);
    }
    let scan = scan_workgroup2(local, mine);
    var running = scan.before;
    for (var tile = first; tile < end; tile += 1u) {
        let own = counts_of(tile);
        kept_tiles[tile] = running.x;
        if IS_KEPT {
            between_tiles[tile] = running.y;
        }
        running += own;
    }
    // All have read of `epoch` what they need.
    storageBarrier();
    if local == 0u {
        note(tiles, select(scan.total.x, epoch.result - epoch.result_apart, is_same), is_part);
    }
}

// Returns how many of a tile stay, and how many of the other list come between them.
fn counts_of(tile: u32) -> vec2<u32> {
    var counts = vec2<u32>(kept_tiles[tile], 0u);
    if IS_KEPT {
        counts.y = between_tiles[tile];
    }
    return counts;
}

// Tells whether the pairs that are kept overlap as they did in the last step: then the sums of that step are still there.
fn has_same(mode: u32, moved: u32) -> bool {
    return mode == EPOCH_STAY && moved == 0u;
}

// Notes how many pairs stay, of so many tiles.
fn note(tiles: u32, total: u32, is_part: bool) {
    if IS_SEARCHED {
        if is_part {
            grown_count[0] = total;
        }
        return;
    }
    epoch.tiles = tiles;
    let size = dispatch_size(tiles);
    if IS_FRESH {
        epoch.fresh = total;
        epoch_sizes.list_fresh = size;
    } else if IS_REST {
        let capacity = epoch_params.capacity;
        let fresh = epoch.fresh;
        var all = 0u;
        if is_part {
            if total <= capacity - min(fresh, capacity) {
                all = total + fresh;
                epoch.rest = total;
                epoch.apart = all;
            } else {
                end_epoch();
            }
        }
        epoch_sizes.list_rest = dispatch_size(select(0u, tiles, all != 0u));
        epoch_sizes.merge = dispatch_size(div_ceil(all, EVENT_TILE));
        epoch_sizes.test_apart = dispatch_size(div_ceil(epoch.apart, EVENT_TILE));
        let is_same = has_same(epoch.mode, epoch.moved);
        let tiles_of_kept = select(div_ceil(epoch.kept, EVENT_TILE), 0u, is_same);
        epoch_sizes.test_kept = dispatch_size(tiles_of_kept);
        epoch_sizes.count = dispatch_size(div_ceil(tiles_of_kept, 256u));
    } else if IS_APART {
        epoch.result += total;
        epoch.result -= epoch.result_apart;
        epoch.result_apart = total;
        epoch_sizes.list_apart = size;
        epoch_sizes.join = dispatch_size(div_ceil(total, 256u));
        epoch_sizes.between = dispatch_size(select(div_ceil(total, 256u), 0u, has_same(epoch.mode, epoch.moved)));
    } else if IS_KEPT {
        epoch.result = total + epoch.result_apart;
        epoch_sizes.place = size;
    }
}
