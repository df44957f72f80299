// The nodes of several levels in one workgroup. Shared by the kernels that make them so, which have room in `made` for what is known of the
// nodes of the level that was made last.

// Makes a node of a level where there is one, and returns what is known of it. Every invocation of the workgroup has to call; `local` is where
// the node of each lies in `made`.
fn make(level: u32, node: u32, local: u32, is_there: bool) -> Child {
    var found = Child(nothing(), 0.0);
    if is_there {
        found = write_node(level, node);
    }
    workgroupBarrier();
    if is_there {
        made[local] = found;
    }
    workgroupBarrier();
    return found;
}

// Returns a child of a level above: a node of the level that was made last, by its number and where it lies in `made`.
fn made_below(level: u32, child: u32, at: u32) -> Child {
    if child < node_count(level - 1u) {
        return made[at];
    }
    return Child(nothing(), 0.0);
}
