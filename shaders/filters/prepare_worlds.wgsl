// prepare_worlds: copies the worlds of boxes from an external buffer, as numbers.
//
// Reads   change      the start of the list, the range of boxes that change, and the count of worlds with numbers
//         new_values  [change.count] the world of each
//         world_ids   [change.world_count] (id, number), ascending by id: worlds that have a number, which is below
//                     world_count
// Changes words       the list: the number of each box's world, or WORLD_GLOBAL
//
// An invocation per box.

@group(0) @binding(0) var<uniform> change: FilterChange;
@group(0) @binding(1) var<storage, read> new_values: array<u32>;
@group(0) @binding(2) var<storage, read> world_ids: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read_write> words: array<u32>;

@compute @workgroup_size(256)
fn prepare_worlds(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let k = group_index(group, groups) * 256u + local;
    if k < change.count {
        words[change.place + change.first + k] = number_of(new_values[k]);
    }
}

// Returns the number of a world; two worlds never have the same number. The host has assigned the numbers below
// world_count to ids. Another id is its own number if it is at least world_count. An unassigned id below world_count
// would collide, so it gets another number. The count of such ids equals the count of assigned ids that are at least
// world_count, and no world has these assigned ids as its number. So the k-th unassigned id below world_count gets the
// k-th of these assigned ids as its number. The number of GLOBAL is WORLD_GLOBAL.
fn number_of(id: u32) -> u32 {
    let place = ids_before(id);
    var number = id;
    if place < change.world_count && world_ids[place].x == id {
        number = world_ids[place].y;
    } else if id < change.world_count {
        number = world_ids[ids_before(change.world_count) + id - place].x;
    }
    return number;
}

// Returns the count of assigned ids below `id`.
fn ids_before(id: u32) -> u32 {
    var first = 0u;
    var end = change.world_count;
    while first < end {
        let middle = first + (end - first) / 2u;
        if world_ids[middle].x < id {
            first = middle + 1u;
        } else {
            end = middle;
        }
    }
    return first;
}
