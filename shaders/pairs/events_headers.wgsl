// events_headers: writes the lengths of the lists of events, for consumers on the GPU.
//
// Reads   step_params
//         event_marks  totals of events_list
// Writes  header and arguments of the lists of created, lost and persisting pairs
//
// One invocation.

@group(0) @binding(0) var<uniform> step_params: StepParams;
@group(0) @binding(1) var<storage, read> event_marks: array<u32>;
@group(0) @binding(2) var<storage, read_write> created_header: PairHeader;
@group(0) @binding(3) var<storage, read_write> lost_header: PairHeader;
@group(0) @binding(4) var<storage, read_write> persisting_header: PairHeader;
@group(0) @binding(5) var<storage, read_write> created_arguments: PairArguments;
@group(0) @binding(6) var<storage, read_write> lost_arguments: PairArguments;
@group(0) @binding(7) var<storage, read_write> persisting_arguments: PairArguments;

fn header_of(count: u32) -> PairHeader {
    let unused = array<u32, 3>(0u, 0u, 0u);
    return PairHeader(count, 0u, step_params.capacity, event_marks[3], count, unused);
}

@compute @workgroup_size(1)
fn events_headers() {
    created_header = header_of(event_marks[0]);
    created_arguments = arguments_of(event_marks[0], step_params.vertices_per_pair);
    lost_header = header_of(event_marks[2]);
    lost_arguments = arguments_of(event_marks[2], step_params.vertices_per_pair);
    persisting_header = header_of(event_marks[1]);
    persisting_arguments = arguments_of(event_marks[1], step_params.vertices_per_pair);
}
