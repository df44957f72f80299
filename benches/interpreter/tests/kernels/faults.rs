//! Small kernels with one mistake each, and the same kernels without it.

use std::collections::BTreeSet;

use broadsweep::wgpu;

use super::*;

/// Words of the buffer, and the count of words that are written before.
const WORDS: u64 = 64;
const WRITTEN: u64 = 32;

/// Runs a kernel of 16 invocations, in subgroups of 8, and returns its faults.
fn faults(body: &str, groups: u32) -> BTreeSet<Fault> {
    let text = format!(
        "@group(0) @binding(0) var<storage, read_write> words: array<u32>;
        @group(0) @binding(1) var<storage, read_write> counters: array<atomic<u32>>;
        var<workgroup> shared_words: array<u32, 16>;
        @compute @workgroup_size(16)
        fn main(@builtin(local_invocation_index) local: u32, @builtin(workgroup_id) group: vec3<u32>) {{ {body} }}"
    );
    let interpreter = Interpreter::new(8, wgpu::DeviceType::DiscreteGpu);
    interpreter.limit(1000, u64::MAX, u64::MAX);
    let (device, queue) = interpreter.device();
    let source = wgpu::ShaderSource::Wgsl(text.into());
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor { label: None, source });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: None,
        layout: None,
        module: &module,
        entry_point: Some("main"),
        compilation_options: wgpu::PipelineCompilationOptions::default(),
        cache: None,
    });
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
    let buffer = || {
        let descriptor = wgpu::BufferDescriptor { label: None, size: 4 * WORDS, usage, mapped_at_creation: false };
        let buffer = device.create_buffer(&descriptor);
        queue.write_buffer(&buffer, 0, &vec![0; 4 * WRITTEN as usize]);
        buffer
    };
    let buffers = [buffer(), buffer()];
    let entries: Vec<_> = (0..)
        .zip(&buffers)
        .map(|(binding, buffer)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() })
        .collect();
    let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: None, entries: &[] });
    let group =
        device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout: &layout, entries: &entries });
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
    pass.set_pipeline(&pipeline);
    pass.set_bind_group(0, &group, &[]);
    pass.dispatch_workgroups(groups, 1, 1);
    drop(pass);
    queue.submit([encoder.finish()]);
    interpreter.report().findings.into_keys().map(|finding| finding.fault).collect()
}

/// Checks that exactly this fault is found, and none without the mistake.
fn check_fault(fault: Fault, wrong: &str, right: &str, groups: u32) {
    assert_eq!(faults(wrong, groups), BTreeSet::from([fault]), "{wrong}");
    assert_eq!(faults(right, groups), BTreeSet::new(), "{right}");
}

#[test]
fn a_race_within_a_workgroup_takes_a_barrier() {
    let kernel =
        |barrier: &str| format!("shared_words[local] = local; {barrier} words[local] = shared_words[15u - local];");
    check_fault(Fault::Race, &kernel(""), &kernel("workgroupBarrier();"), 1);
    // Each kind of barrier orders its own memory.
    check_fault(Fault::Race, &kernel("storageBarrier();"), &kernel("workgroupBarrier();"), 1);
    let kernel =
        |barrier: &str| format!("words[local] = local; {barrier} let x = words[15u - local]; words[16u + local] = x;");
    check_fault(Fault::Race, &kernel("workgroupBarrier();"), &kernel("storageBarrier();"), 1);
}

#[test]
fn no_barrier_orders_workgroups() {
    check_fault(Fault::Race, "words[local] = local;", "words[16u * group.x + local] = local;", 2);
}

#[test]
fn atomics_race_where_their_order_shows() {
    check_fault(Fault::Race, "words[local] = atomicAdd(&counters[0], 1u);", "atomicAdd(&counters[0], 1u);", 1);
    check_fault(
        Fault::Race,
        "atomicAdd(&counters[0], 1u); atomicMax(&counters[0], 7u);",
        "atomicAdd(&counters[0], 1u); atomicMax(&counters[1], 7u);",
        1,
    );
    let kernel =
        |barrier: &str| format!("atomicAdd(&counters[0], 1u); {barrier} words[local] = atomicLoad(&counters[0]);");
    check_fault(Fault::Race, &kernel(""), &kernel("storageBarrier();"), 1);
}

#[test]
fn memory_that_nobody_wrote_is_not_read() {
    check_fault(Fault::Unwritten, "words[local] = words[local + 32u];", "words[local] = words[local + 16u];", 1);
}

#[test]
fn accesses_stay_within_their_buffer() {
    check_fault(Fault::OutOfBounds, "words[local + 49u] = 1u;", "words[local + 48u] = 1u;", 1);
}

#[test]
fn all_invocations_reach_a_barrier() {
    check_fault(
        Fault::Divergence,
        "if local < 8u { workgroupBarrier(); } words[local] = local;",
        "workgroupBarrier(); if local < 8u { words[local] = local; }",
        1,
    );
}

#[test]
fn a_shuffle_takes_its_value_from_an_active_invocation() {
    let kernel = |condition: &str| format!("if {condition} {{ words[local] = subgroupShuffleXor(local, 1u); }}");
    check_fault(Fault::Inactive, &kernel("local % 2u == 0u"), &kernel("local % 4u < 2u"), 1);
}

#[test]
fn a_loop_that_does_not_end_is_ended() {
    let kernel = |step: &str| format!("var i = local; while i < 16u {{ i += {step}; }} words[local] = i;");
    check_fault(Fault::Endless, &kernel("0u"), &kernel("1u"), 1);
}
