//! Unwritten memory of a workgroup.

use broadsweep::internals::gpu::buffers::Buffer;
use broadsweep::internals::gpu::kernel::{Kernel, Pass, Source};

use super::*;

/// Two workgroups: the second must not read values of the first.
fn faults(label: &'static str, own: &'static str) -> Vec<Fault> {
    let (interpreter, gpu) = device(8, None);
    let source = Source { label, own, shared: &[] };
    let words = Buffer::<u32>::storage(&gpu, "words", 8).unwrap();
    let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    let mut pass = Pass::begin(&gpu, &mut encoder);
    Kernel::new(&gpu, &source).dispatch(&mut pass, 2, &[("words", words.all())]);
    pass.finish().unwrap();
    drop(pass);
    gpu.queue().submit([encoder.finish()]);
    interpreter.report().findings.keys().map(|finding| finding.fault).collect()
}

#[test]
fn workgroup_memory_is_unwritten_until_the_kernel_writes_it() {
    let kernels = [
        (
            "adds",
            "@group(0) @binding(0) var<storage, read_write> words: array<u32>;
            var<workgroup> sum: atomic<u32>;
            @compute @workgroup_size(4)
            fn adds(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
                atomicAdd(&sum, 1u);
                workgroupBarrier();
                words[group.x * 4u + local] = 1u;
            }",
        ),
        (
            "reads",
            "@group(0) @binding(0) var<storage, read_write> words: array<u32>;
            var<workgroup> shares: array<u32, 4>;
            @compute @workgroup_size(4)
            fn reads(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
                if group.x == 0u {
                    shares[local] = 1u;
                }
                words[group.x * 4u + local] = shares[local];
            }",
        ),
    ];
    for (label, own) in kernels {
        assert_eq!(faults(label, own), [Fault::Unwritten], "{label}");
    }
}
