// Which items of a list stay: pairs, or boxes. Shared by the kernels that choose some, which bind `stays` and `kept_tiles`.

// A bit for each item of the tile.
var<workgroup> tile_bits: array<atomic<u32>, 32>;

// Forgets the bits of the tile. All invocations call it, once, before they set theirs.
fn clear_stays(local: u32) {
    if local < 32u {
        atomicStore(&tile_bits[local], 0u);
    }
    workgroupBarrier();
}

// Writes the bits of the tile, of a list of `count` items, and how many are set. All invocations call it, once, behind theirs.
fn write_stays(tile: u32, local: u32, count: u32) {
    workgroupBarrier();
    if tile * EVENT_TILE < count {
        if local < 32u {
            stays[tile * 32u + local] = atomicLoad(&tile_bits[local]);
        }
        if local == 0u {
            var total = 0u;
            for (var k = 0u; k < 32u; k += 1u) {
                total += countOneBits(atomicLoad(&tile_bits[k]));
            }
            kept_tiles[tile] = total;
        }
    }
}

// Writes which of an invocation's EVENT_RUN items in a row stay, and how many of the tile's. All invocations call it, once.
fn note_stays(tile: u32, local: u32, count: u32, bits: u32) {
    clear_stays(local);
    if bits != 0u {
        atomicOr(&tile_bits[local / 8u], bits << (EVENT_RUN * (local % 8u)));
    }
    write_stays(tile, local, count);
}
