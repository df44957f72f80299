// epoch_count: how many pairs of a step come before each 32 that are kept, within their tile.
//
// Reads   epoch          kept
//         flips          [kept] of epoch_test
//         between        of epoch_between
// Changes stays          [kept] a bit for each pair that overlaps, to those of this step
// Writes  ranks          [tiles * 32] of each 32: the pairs that stay before them, the pairs of the other list before them, those that
//                        come between them, 0
//         kept_tiles     [tiles] how many stay of each tile
//         between_tiles  [tiles] how many of the other list come between those of each tile
// An invocation per tile of EVENT_TILE pairs.

@group(0) @binding(0) var<storage, read> epoch: Epoch;
@group(0) @binding(1) var<storage, read> flips: array<u32>;
@group(0) @binding(2) var<storage, read> between: array<u32>;
@group(0) @binding(3) var<storage, read_write> stays: array<u32>;
@group(0) @binding(4) var<storage, read_write> ranks: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> kept_tiles: array<u32>;
@group(0) @binding(6) var<storage, read_write> between_tiles: array<u32>;

@compute @workgroup_size(256)
fn epoch_count(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let tile = group_index(group, groups) * 256u + local;
    if tile >= div_ceil(epoch.kept, EVENT_TILE) {
        return;
    }
    var running = vec2<u32>(0u);
    for (var word = tile * 32u; word < tile * 32u + 32u; word += 1u) {
        let stay = stays[word] ^ flips[word];
        stays[word] = stay;
        let own = vec2<u32>(countOneBits(stay), between[word]);
        ranks[word] = vec4<u32>(running, own.y, 0u);
        running += own;
    }
    kept_tiles[tile] = running.x;
    between_tiles[tile] = running.y;
}
