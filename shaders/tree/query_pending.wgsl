// query_pending: counts the pending queries after a dispatch, and sets the size of the next dispatch. For recorded
// rounds: the count of pending queries is unknown at the time of recording.
//
// Reads   query
// Changes states    [query_count] the state of each query (rows.wgsl, lists.wgsl); after the last round that ranks or
//                   counts, the count of a pending query becomes 0
//         rounds    reads pending queries of earlier rounds; adds this round's, over workgroups
// Writes  status    [query_count] by rounds that rank or count: STATUS_*
//
// One invocation per query. It does nothing if no query was pending after the previous round.

@group(0) @binding(0) var<uniform> query: QueryParams;
@group(0) @binding(1) var<storage, read_write> states: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> status: array<u32>;
@group(0) @binding(3) var<storage, read_write> rounds: array<atomic<u32>>;

// Words of a Round, and the places of its counts.
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
