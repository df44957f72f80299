// Reads boxes at places among the leaves (node.wgsl). Shared by the kernels that read boxes of a tree.

// Returns the box at a place, or a box with reversed infinite bounds.
fn box_at(place: u32) -> BoxBits {
    let at = tree.first_box + 3u * (place / 2u) + place % 2u;
    let a = nodes[at];
    let b = nodes[at + 1u];
    let is_odd = vec3<bool>(place % 2u == 1u);
    return BoxBits(select(a.xyz, vec3<u32>(a.zw, b.x), is_odd), select(vec3<u32>(a.w, b.xy), b.yzw, is_odd));
}

// Returns the id of the box at a place.
fn id_at(place: u32) -> u32 {
    return nodes[tree.first_id + place / 4u][place % 4u];
}
