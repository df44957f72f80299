//! Checks that the numbers with which the tests of stages compare arithmetic show every change of it: 64-bit counts,
//! doubles, sums of products.

use broadsweep::internals::gpu::buffers::Buffer;
use broadsweep::internals::gpu::kernel::{Kernel, Pass, Source};
use interpreter::Mutation;

use super::needless::{IN_DOUBLES, IN_SUMS, is_of};
use super::*;

/// Calls what `exact::counts_of_64_bits_carry_at_every_edge` calls.
const OWN: &str = "
struct Results {
    sum: vec2<u32>,
    difference: vec2<u32>,
    product: vec2<u32>,
    shifted: vec2<u32>,
    less: u32,
    quotient: u32,
    groups: array<u32, 3>,
    unused: u32,
}

@group(0) @binding(0) var<storage, read> operands: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> results: array<Results>;

@compute @workgroup_size(64)
fn exact_arithmetic(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let i = group.x * 64u + local;
    let a = operands[i].xy;
    let b = operands[i].zw;
    results[i] = Results(
        add64(a, b),
        sub64(a, b),
        mul64(a.x, b.x),
        shift_right64(a, b.x % 31u + 1u),
        select(0u, 1u, less64(a, b)),
        div_ceil(a.x, max(b.x, 1u)),
        dispatch_size(a.x),
        0u,
    );
}";

/// Runs a kernel with operands and results beside all changes of its logic. Returns the changes that no result shows,
/// and the count of all changes.
fn not_seen(source: &Source, operands: &[[u32; 4]]) -> (Vec<String>, usize) {
    let module = source.module().unwrap();
    let describe = |mutation: &Mutation| mutation.describe(&module, &source.text());
    let mutants = Mutation::logic(&module).into_iter().filter(|mutation| mutation.is_valid(&module));
    let mutants: Vec<Mutation> = mutants.collect();
    let (interpreter, gpu) = device(8, None);
    interpreter.compare(mutants.iter().map(|&mutation| (source.label.to_owned(), mutation)));
    let input = Buffer::<[u32; 4]>::storage(&gpu, "operands", operands.len() as u64).unwrap();
    input.write(&gpu, operands);
    // The most words that a kernel writes for one operand.
    let results = Buffer::<[u32; 14]>::storage(&gpu, "results", operands.len() as u64).unwrap();
    let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    let mut pass = Pass::begin(&gpu, &mut encoder);
    let groups = operands.len() as u32 / 64;
    Kernel::new(&gpu, source).dispatch(&mut pass, groups, &[("operands", input.all()), ("results", results.all())]);
    pass.finish().unwrap();
    drop(pass);
    gpu.queue().submit([encoder.finish()]);
    let seen = interpreter.compared();
    let not_seen = mutants.iter().zip(&seen).filter(|(_, seen)| !seen.is_caught());
    (not_seen.map(|(mutation, _)| describe(mutation)).collect(), mutants.len())
}

#[test]
fn every_change_of_the_arithmetic_of_64_bits_shows_in_the_numbers_that_it_is_compared_with() {
    let half = [0u32, 1, 2, 30, 31, 0xffff, 0x1_0000, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe, 0xffff_ffff];
    let values: Vec<[u32; 2]> = half.iter().flat_map(|&high| half.map(|low| [low, high])).collect();
    let pair = |&[a, b]: &[u32; 2]| values.iter().map(move |&[c, d]| [a, b, c, d]);
    // A whole number of workgroups.
    let mut operands: Vec<_> = values.iter().flat_map(pair).collect();
    operands.resize(operands.len().next_multiple_of(64), [0; 4]);
    let source = Source {
        label: "exact_arithmetic",
        own: OWN,
        shared: &[include_str!("../../../../shaders/shared/common.wgsl")],
    };
    let (not_seen, count) = not_seen(&source, &operands);
    // One workgroup is one row, whatever the condition says.
    let [only] = not_seen.as_slice() else { panic!("{count} changes, not seen: {not_seen:#?}") };
    assert!(only.contains("0 becomes 1:") && only.contains("if x > 0u {"), "{only}");
    assert!(count > 50, "{count} changes");
}

/// Compares the changes that no result shows with the listed ones.
fn assert_needless(not_seen: &[String], listed: &[(&str, &str, &str)]) {
    assert_eq!(not_seen.len(), listed.len(), "{not_seen:#?}");
    for entry in listed {
        let count = not_seen.iter().filter(|text| is_of(text, entry)).count();
        assert_eq!(count, 1, "{entry:?} of {not_seen:#?}");
    }
}

#[test]
#[ignore = "long"]
fn every_change_of_the_arithmetic_of_doubles_shows_in_the_numbers_that_it_is_compared_with() {
    let operands: Vec<[u32; 4]> = doubles::operands(4096).into_iter().map(bytemuck::cast).collect();
    let (not_seen, count) = not_seen(&doubles::KERNEL, &operands);
    assert_needless(&not_seen, IN_DOUBLES);
    assert!(count > 300, "{count} changes");
}

#[test]
#[ignore = "long"]
fn every_change_of_sums_of_products_shows_in_the_numbers_that_they_are_compared_with() {
    let operands = sums::operands(4096).concat();
    let (not_seen, count) = not_seen(&sums::KERNEL, &operands);
    assert_needless(&not_seen, IN_SUMS);
    assert!(count > 200, "{count} changes");
}
