// Which pairs of a list stay. Shared by the kernels that choose pairs, which bind `stays` and `kept_tiles`.

// A bit for each pair of the tile.
var<workgroup> tile_bits: array<atomic<u32>, 32>;

// Writes which of an invocation's EVENT_RUN pairs stay, and how many of the tile's. All invocations call it, once.
fn note_stays(tile: u32, local: u32, count: u32, bits: u32) {
    if local < 32u {
        atomicStore(&tile_bits[local], 0u);
    }
    workgroupBarrier();
    if bits != 0u {
        atomicOr(&tile_bits[local / 8u], bits << (EVENT_RUN * (local % 8u)));
    }
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
