// query_pending: how many queries a dispatch has left to the next, and how many workgroups go on with them. For dispatches that are
// recorded one after the other, before it is known which are needed.
//
// Reads   query
// Changes states    [query_count] what the queries have left (rows.wgsl, lists.wgsl): of those that are left by the last round that
//                   ranks or counts, the count becomes 0
//         rounds    of the rounds before, how many queries were left; of this one, the sums over workgroups
// Writes  status    [query_count] by rounds that rank or count: STATUS_*
// An invocation for each query. Where the round before has left none, there is nothing to do.

@group(0) @binding(0) var<uniform> query: QueryParams;
@group(0) @binding(1) var<storage, read_write> states: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> status: array<u32>;
@group(0) @binding(3) var<storage, read_write> rounds: array<atomic<u32>>;

// Words of a Round, and where what it counts lies among them.
const ROUND_U32_COUNT: u32 = 8u;
const ROUND_PENDING: u32 = 3u;
const ROUND_INVALID: u32 = 4u;

var<workgroup> pending_before: u32;
var<workgroup> pending_of_group: atomic<u32>;
var<workgroup> invalid_of_group: atomic<u32>;

@compute @workgroup_size(256)
fn query_pending(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    if local == 0u {
        pending_before = 1u;
        if query.round % query.round_count > 0u {
            pending_before = atomicLoad(&rounds[(query.round - 1u) * ROUND_U32_COUNT + ROUND_PENDING]);
        }
        atomicStore(&pending_of_group, 0u);
        atomicStore(&invalid_of_group, 0u);
    }
    if workgroupUniformLoad(&pending_before) == 0u {
        return;
    }
    let i = group_index(group, groups) * 256u + local;
    if i < query.query_count {
        let state = states[i];
        let is_invalid = state.z == INVALID_QUERY;
        let is_left = state.z != NOWHERE && !is_invalid;
        if is_left {
            atomicAdd(&pending_of_group, 1u);
        }
        if is_invalid {
            atomicAdd(&invalid_of_group, 1u);
        }
        if query.round < query.round_count {
            status[i] = select(select(STATUS_ANSWERED, STATUS_INVALID, is_invalid), STATUS_UNFINISHED, is_left);
        }
        if is_left && query.round + 1u == query.round_count {
            states[i] = vec4<u32>(0u, 0u, state.zw);
        }
    }
    workgroupBarrier();
    if local == 0u {
        let own = query.round * ROUND_U32_COUNT;
        let pending = atomicLoad(&pending_of_group);
        if pending > 0u {
            let is_shared = (query.flags & QUERY_SHARED) != 0u;
            let size = dispatch_size(div_ceil(query.query_count, select(WALKERS, WALKERS / SHARERS, is_shared)));
            for (var k = 0u; k < 3u; k += 1u) {
                atomicMax(&rounds[own + k], size[k]);
            }
            atomicAdd(&rounds[own + ROUND_PENDING], pending);
        }
        let invalid = atomicLoad(&invalid_of_group);
        if invalid > 0u {
            atomicAdd(&rounds[own + ROUND_INVALID], invalid);
        }
    }
}
