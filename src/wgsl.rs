//! WGSL declarations of the structures in buffers, to prepend to a kernel of the caller.
//!
//! A structure of two `vec3<f32>` has a stride of 32 bytes in WGSL, and a box has 24. These declarations have the
//! layouts of the types of the same names in this crate.
//!
//! ```
//! use broadsweep::wgsl;
//!
//! // Counts the pairs of each box. Reads the result of `Recorder::record`, and is dispatched by its arguments.
//! let source = [wgsl::PAIR, wgsl::PAIR_HEADER, "
//! @group(0) @binding(0) var<storage, read> header: PairHeader;
//! @group(0) @binding(1) var<storage, read> pairs: array<Pair>;
//! @group(0) @binding(2) var<storage, read_write> counts: array<atomic<u32>>;
//!
//! @compute @workgroup_size(256)
//! fn count(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
//!     let i = id.y * groups.x * 256u + id.x;
//!     if i < header.written {
//!         atomicAdd(&counts[pairs[i].a], 1u);
//!         atomicAdd(&counts[pairs[i].b], 1u);
//!     }
//! }"].concat();
//! # broadsweep::wgpu::naga::front::wgsl::parse_str(&source).unwrap();
//! ```

/// `Aabb`, a box of 24 bytes: the layout of [`Aabb`](crate::Aabb). `vec3<f32>(aabb.min[0], aabb.min[1], aabb.min[2])`
/// is its lower corner.
pub const AABB: &str = "\
struct Aabb {
    min: array<f32, 3>,
    max: array<f32, 3>,
}
";

/// `Pair`, two box indices: the layout of [`Pair`](crate::Pair). In a list of one set, `a < b`. In a list of two sets,
/// `a` is an index in the first set and `b` an index in the second.
pub const PAIR: &str = "\
struct Pair {
    a: u32,
    b: u32,
}
";

/// `PairHeader`, which accompanies a list of pairs: the layout of [`PairHeader`](crate::PairHeader).
pub const PAIR_HEADER: &str = "\
struct PairHeader {
    count: u32,
    count_high: u32,
    capacity: u32,
    overflow: u32,
    written: u32,
    unused: array<u32, 3>,
}
";

/// `PairArguments`, the arguments of indirect calls: the layout of [`PairArguments`](crate::PairArguments).
pub const PAIR_ARGUMENTS: &str = "\
struct PairArguments {
    dispatch: array<u32, 3>,
    unused: u32,
    draw: array<u32, 4>,
    draw_list: array<u32, 4>,
}
";

/// `Ray`, a query of 28 bytes: the layout of [`Ray`](crate::Ray). `limit` is the largest `t`.
pub const RAY: &str = "\
struct Ray {
    origin: array<f32, 3>,
    direction: array<f32, 3>,
    limit: f32,
}
";

/// `Hit`, an answer to a path: the layout of [`Hit`](crate::Hit). A miss has index `0xffffffffu`.
pub const HIT: &str = "\
struct Hit {
    index: u32,
    t: f32,
}
";

/// `Near`, an answer of nearest boxes: the layout of [`Near`](crate::query::Near).
pub const NEAR: &str = "\
struct Near {
    index: u32,
    squared_distance: f32,
}
";

/// `QueryFilter`, the filters of one query: the layout of [`QueryFilter`](crate::query::QueryFilter).
pub const QUERY_FILTER: &str = "\
struct QueryFilter {
    group: u32,
    mask: u32,
    body: u32,
    world: u32,
    ignore: u32,
}
";

/// `QueryHeader`, which accompanies answers: the layout of [`QueryHeader`](crate::QueryHeader).
pub const QUERY_HEADER: &str = "\
struct QueryHeader {
    count: u32,
    count_high: u32,
    capacity: u32,
    overflow: u32,
    written: u32,
    unfinished: u32,
    invalid: u32,
    unused: u32,
}
";
