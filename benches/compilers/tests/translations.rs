//! naga writes every kernel for every back end of `wgpu`, whatever switches are on.

use compilers::{Kernel, Set, Target, for_each};

fn kernels() -> Vec<Kernel> {
    Kernel::all().unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn naga_writes_every_kernel_with_every_set_of_switches_for_every_back_end() {
    let outcome = for_each(
        &kernels(),
        |_| true,
        |kernel| {
            Target::ALL.iter().try_for_each(|&target| {
                let text = kernel.translate(target)?;
                if text.is_empty() { Err(format!("{} for {target} is empty", kernel.name())) } else { Ok(()) }
            })
        },
    );
    let modules = outcome.unwrap_or_else(|rejected| panic!("{rejected}")).len();
    println!("{modules} modules, each for {} targets", Target::ALL.len());
    assert!(modules > kernels().len(), "no kernel has switches");
}

#[test]
fn the_kernels_that_test_pairs_have_a_pipeline_with_filters_and_one_without() {
    let kernels = kernels();
    let is_filtered = |set: &Set| set.switches.iter().any(|name| name == "IS_FILTERED");
    let tests = kernels.iter().filter(|kernel| kernel.sets().iter().any(is_filtered));
    let labels: Vec<_> = tests.map(|kernel| kernel.label).collect();
    assert_eq!(labels, ["bin_count", "sweep_test", "giants_test", "emit_again", "small_test"]);
    assert!(kernels.iter().all(|kernel| kernel.sets()[0].switches.is_empty()));
}
