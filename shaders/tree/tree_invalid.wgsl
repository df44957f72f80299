// How many of each 256 boxes are invalid, and behind that whether any is. Shared by the kernels that meet them.

fn count_invalid(i: u32) {
    atomicAdd(&invalid[i / 256u], 1u);
    atomicStore(&invalid[div_ceil(tree.box_count, 256u)], 1u);
}
