// Sorts the four lists of samples of frame_choose in workgroup memory, by 256 invocations. Source: Batcher 1968,
// Sorting networks and their applications; several steps of it in registers between two barriers, as in Satish, Harris
// and Garland 2009, Designing efficient sorting algorithms for manycore GPUs.

// Invocations that sort a list, eight samples each.
const LIST_LANES: u32 = 256u / 4u;

// Returns the place of sample i in its list. The padding avoids bank conflicts at all strides of the sort.
fn slot(i: u32) -> u32 {
    return i + i / 8u;
}

// Eight samples, consecutive or at a constant stride.
struct Eight {
    low: vec4<f32>,
    high: vec4<f32>,
}

fn load_eight(list: u32, first: u32, stride: u32) -> Eight {
    return Eight(
        vec4<f32>(
            samples[list][slot(first)],
            samples[list][slot(first + stride)],
            samples[list][slot(first + 2u * stride)],
            samples[list][slot(first + 3u * stride)],
        ),
        vec4<f32>(
            samples[list][slot(first + 4u * stride)],
            samples[list][slot(first + 5u * stride)],
            samples[list][slot(first + 6u * stride)],
            samples[list][slot(first + 7u * stride)],
        ),
    );
}

fn store_eight(list: u32, first: u32, stride: u32, own: Eight) {
    samples[list][slot(first)] = own.low.x;
    samples[list][slot(first + stride)] = own.low.y;
    samples[list][slot(first + 2u * stride)] = own.low.z;
    samples[list][slot(first + 3u * stride)] = own.low.w;
    samples[list][slot(first + 4u * stride)] = own.high.x;
    samples[list][slot(first + 5u * stride)] = own.high.y;
    samples[list][slot(first + 6u * stride)] = own.high.z;
    samples[list][slot(first + 7u * stride)] = own.high.w;
}

// Sorts each sample with the sample four places further.
fn by_four(own: Eight) -> Eight {
    return Eight(min(own.low, own.high), max(own.low, own.high));
}

// Sorts each sample with the sample two places further.
fn by_two(own: Eight) -> Eight {
    let a = vec4<f32>(own.low.xy, own.high.xy);
    let b = vec4<f32>(own.low.zw, own.high.zw);
    let least = min(a, b);
    let most = max(a, b);
    return Eight(vec4<f32>(least.xy, most.xy), vec4<f32>(least.zw, most.zw));
}

// Sorts each sample with the next sample.
fn by_one(own: Eight) -> Eight {
    let a = vec4<f32>(own.low.xz, own.high.xz);
    let b = vec4<f32>(own.low.yw, own.high.yw);
    let least = min(a, b);
    let most = max(a, b);
    return Eight(
        vec4<f32>(least.x, most.x, least.y, most.y),
        vec4<f32>(least.z, most.z, least.w, most.w),
    );
}

// Sorts eight samples: ascending if `sign` is 1, descending if it is -1.
fn sorted_eight(own: Eight, sign: f32) -> Eight {
    let sides = vec4<f32>(1.0, 1.0, -1.0, -1.0);
    let twos = by_one(Eight(sides * own.low, sides * own.high));
    let fours = by_one(by_two(Eight(sides * twos.low, -sides * twos.high)));
    let all_eight = by_one(by_two(by_four(Eight(sign * fours.low, -sign * fours.high))));
    return Eight(sign * all_eight.low, sign * all_eight.high);
}

// Sorts all four lists at once by Batcher's bitonic network. Unused samples are FLOAT_MAX and come last. Between two
// barriers, an invocation executes three steps of the network on eight samples. If fewer steps remain, some are
// repeated, which has no effect.
fn sort_samples(local: u32) {
    let list = local / LIST_LANES;
    let lane = local % LIST_LANES;
    workgroupBarrier();
    let run_sign = select(-1.0, 1.0, lane % 2u == 0u);
    store_eight(list, 8u * lane, 1u, sorted_eight(load_eight(list, 8u * lane, 1u), run_sign));
    for (var run = 16u; run <= SAMPLES; run *= 2u) {
        for (var stride = run / 8u; stride > 0u; stride = select(max(stride / 8u, 1u), 0u, stride == 1u)) {
            workgroupBarrier();
            let first = (lane / stride) * stride * 8u + lane % stride;
            let sign = select(-1.0, 1.0, (first & run) == 0u);
            let own = load_eight(list, first, stride);
            let merged = by_one(by_two(by_four(Eight(sign * own.low, sign * own.high))));
            store_eight(list, first, stride, Eight(sign * merged.low, sign * merged.high));
        }
    }
    workgroupBarrier();
}
