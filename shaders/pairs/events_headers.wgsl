// events_headers: how long the lists of events are, for consumers on the GPU.
//
// Reads   step_params, step_counts
// Writes  header and arguments of the lists of pairs that are created, lost, and persist
// One invocation.

@group(0) @binding(0) var<uniform> step_params: StepParams;
@group(0) @binding(1) var<storage, read> step_counts: StepCounts;
@group(0) @binding(2) var<storage, read_write> created_header: PairHeader;
@group(0) @binding(3) var<storage, read_write> lost_header: PairHeader;
@group(0) @binding(4) var<storage, read_write> persisting_header: PairHeader;
@group(0) @binding(5) var<storage, read_write> created_arguments: PairArguments;
@group(0) @binding(6) var<storage, read_write> lost_arguments: PairArguments;
@group(0) @binding(7) var<storage, read_write> persisting_arguments: PairArguments;

fn header_of(count: u32) -> PairHeader {
    let unused = array<u32, 3>(0u, 0u, 0u);
    return PairHeader(count, 0u, step_params.capacity, step_counts.verdict, count, unused);
}

@compute @workgroup_size(1)
fn events_headers() {
    created_header = header_of(step_counts.created);
    created_arguments = arguments_of(step_counts.created, step_params.vertices_per_pair);
    lost_header = header_of(step_counts.lost);
    lost_arguments = arguments_of(step_counts.lost, step_params.vertices_per_pair);
    persisting_header = header_of(step_counts.persisting);
    persisting_arguments = arguments_of(step_counts.persisting, step_params.vertices_per_pair);
}
