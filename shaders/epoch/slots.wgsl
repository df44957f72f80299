// The pairs of a search whose boxes lie one behind the other. Shared by the kernels that read them, which bind `searched_ids`: the slot
// of each box, ascending, so that canonical order is the same by slot.

// Returns a pair by the slots of its boxes.
fn pair_of_slots(pair: vec2<u32>) -> vec2<u32> {
    if IS_PACKED {
        return vec2<u32>(searched_ids[pair.x], searched_ids[pair.y]);
    }
    return pair;
}
