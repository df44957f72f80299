// tree_bottom: copies boxes to their places among the leaves, counts invalid boxes, and builds the nodes of the lowest
// three levels.
//
// Reads   tree
//         cube      for the unit of surfaces
//         boxes     [box_count * 3] bits of f32, two at a time: the whole space if a box stands for a half-space
//         filter_layout, filters    a bit per box, set if it does; only with half-spaces
// Changes nodes     reads the ids of tree_places; writes behind all nodes the boxes, in the order of the leaves, and
//                   the nodes of these levels
//         invalid   [box_count / 256, rounded up, and one] from 0 to the count of invalid boxes of each 256, and at the
//                   end whether there are any
// Writes  bounds    [nodes of the third level, or 1] the bounds of each of them, the approximate surface of it and of
//                   all nodes under it, and the count of vast boxes under it (tree_node.wgsl)
//
// One workgroup per 64 leaves. The boxes of these leaves are in workgroup memory, so that scattered boxes are loaded
// only once. Source: as tree_top.

@group(0) @binding(0) var<uniform> tree: TreeShape;
@group(0) @binding(1) var<uniform> cube: Cube;
@group(0) @binding(2) var<storage, read> boxes: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read_write> nodes: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> invalid: array<atomic<u32>>;
@group(0) @binding(5) var<storage, read_write> bounds: array<vec4<u32>>;
@group(0) @binding(6) var<uniform> filter_layout: FilterLayout;
@group(0) @binding(7) var<storage, read> filters: array<u32>;

// Leaves per workgroup: the leaves under one node of the third level.
const LEAVES: u32 = BOTTOM_BOXES / 8u;
// Words of the boxes of a leaf, plus one to avoid bank conflicts.
const LEAF_U32_COUNT: u32 = 49u;

var<workgroup> box_words: array<u32, LEAVES * LEAF_U32_COUNT>;
// The nodes of the last level.
var<workgroup> built: array<Child, LEAVES>;

@compute @workgroup_size(256)
fn tree_bottom(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let own = group_index(group, groups);
    load_thirds(own * BOTTOM_BOXES, local);
    workgroupBarrier();
    for (var at = local; at < BOTTOM_BOXES; at += 256u) {
        empty_if_none(own * BOTTOM_BOXES, at);
    }
    workgroupBarrier();
    store_boxes(own, local);
    for (var level = 0u; level < min(BOTTOM_LEVELS, tree.level_count); level += 1u) {
        let node = own * (LEAVES >> (3u * level)) + local;
        let is_there = local < (LEAVES >> (3u * level)) && node < node_count(level);
        var found = no_child();
        if is_there {
            found = write_node(level, node);
        }
        workgroupBarrier();
        if is_there {
            built[local] = found;
        }
        workgroupBarrier();
        if is_there && level + 1u == min(BOTTOM_LEVELS, tree.level_count) {
            keep(node, found);
        }
    }
}

// Loads the boxes of these places: three invocations per box, two words per invocation.
fn load_thirds(first: u32, local: u32) {
    for (var k = local; k < 3u * BOTTOM_BOXES; k += 256u) {
        let at = k / 3u;
        let part = k % 3u;
        if first + at < tree.box_count {
            let loaded = boxes[3u * id_at(first + at) + part];
            let to = word_of(at) + 2u * part;
            box_words[to] = loaded.x;
            box_words[to + 1u] = loaded.y;
        }
    }
}

// Clears a missing box, a box that stands for a half-space, or an invalid box. Counts invalid boxes.
fn empty_if_none(first: u32, at: u32) {
    if first + at < tree.box_count {
        let loaded = loaded_box(at);
        let kind = kind_of(loaded.low, loaded.high);
        if kind == KIND_INVALID {
            count_invalid(id_at(first + at));
        } else if kind == KIND_FINITE || !is_half_space(id_at(first + at)) {
            return;
        }
    }
    for (var k = 0u; k < 3u; k += 1u) {
        box_words[word_of(at) + k] = INFINITY;
        box_words[word_of(at) + 3u + k] = MINUS_INFINITY;
    }
}

fn is_half_space(i: u32) -> bool {
    if filter_layout.half_space_bits == ABSENT {
        return false;
    }
    return ((filters[filter_layout.half_space_bits + i / 32u] >> (i % 32u)) & 1u) != 0u;
}

// Counts an invalid box of its block of 256, and sets the flag after the counts.
fn count_invalid(i: u32) {
    atomicAdd(&invalid[i / 256u], 1u);
    atomicStore(&invalid[div_ceil(tree.box_count, 256u)], 1u);
}

// Stores the boxes of a workgroup, four words at a time.
fn store_boxes(own: u32, local: u32) {
    let end = 12u * node_count(0u);
    for (var k = local; k < 12u * LEAVES; k += 256u) {
        let at = own * 12u * LEAVES + k;
        if at < end {
            let begin = LEAF_U32_COUNT * (k / 12u) + 4u * (k % 12u);
            nodes[tree.first_box + at] =
                vec4<u32>(box_words[begin], box_words[begin + 1u], box_words[begin + 2u], box_words[begin + 3u]);
        }
    }
}

// Returns the place at which the words of a box of the workgroup begin.
fn word_of(at: u32) -> u32 {
    return LEAF_U32_COUNT * (at / 8u) + 6u * (at % 8u);
}

fn loaded_box(at: u32) -> BoxBits {
    let begin = word_of(at);
    return BoxBits(
        vec3<u32>(box_words[begin], box_words[begin + 1u], box_words[begin + 2u]),
        vec3<u32>(box_words[begin + 3u], box_words[begin + 4u], box_words[begin + 5u]),
    );
}

// Returns a child by its index: a box, or a node of the level below.
fn child_at(level: u32, child: u32) -> Child {
    if level == 0u {
        let own = loaded_box(child % BOTTOM_BOXES);
        let kind = class_of(own.low, own.high);
        return Child(own, 0.0, select(0u, 1u, kind == 1u || kind == 2u));
    }
    if child >= node_count(level - 1u) {
        return no_child();
    }
    return built[child % (LEAVES >> (3u * (level - 1u)))];
}
