//! naga writes every kernel for every back end of `wgpu`, whatever switches are on.

use broadsweep::internals::filters::lists::Switches;
use broadsweep::{Aabb, Filters, HalfSpace, Pair};
use compilers::{Kernel, Set, Target, for_each};

fn kernels() -> Vec<Kernel> {
    Kernel::all().unwrap_or_else(|error| panic!("{error}"))
}

fn sorted(names: &[impl AsRef<str>]) -> Vec<&str> {
    let mut names: Vec<_> = names.iter().map(AsRef::as_ref).collect();
    names.sort_unstable();
    names
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

/// Filters of every kind, so that the library asks for all switches.
fn all_filters() -> Filters {
    Filters {
        group: vec![1; 2],
        body: vec![0; 2],
        fixed: vec![true; 2],
        sleeping: vec![true; 2],
        second: vec![false, true],
        world: vec![0; 2],
        exclude: vec![Pair { a: 0, b: 1 }],
        half_spaces: vec![HalfSpace { index: 0, normal: [0.0, 0.0, 1.0], offset: 0.0 }],
        owner: Some(Aabb::new([0.0; 3], [1.0; 3])),
        ..Filters::default()
    }
}

/// Switches that follow from the device and not from filters.
const OF_DEVICES: [&str; 1] = ["UP_TO_64"];

/// The switches that queries have of their own.
const OF_QUERIES: [&str; 2] = ["IS_EXACT", "IS_SINGLE"];

/// The switches that changes on the device have of their own: what the values are, and whether a number of boxes is among them.
const OF_CHANGES: [&str; 3] = ["IS_FLAGS", "IS_MARGINS", "IS_STORED"];
/// The switches of the comparison of two steps: which box of the last one each box is.
const OF_EVENTS: [&str; 2] = ["HAS_GENERATIONS", "IS_RENAMED"];

#[test]
fn the_last_set_of_each_kernel_is_what_the_library_asks_for_with_all_filters() {
    let switches = Switches::of(&all_filters());
    let lists = [switches.names(), switches.bin_names(), switches.world_names(), switches.half_space_names()];
    let [all, bins, worlds, half_spaces] = lists.map(sorted);
    let rest = switches.rest_names();
    let rest = sorted(&rest);
    let mut asked = 0;
    for kernel in kernels() {
        let sets = kernel.sets();
        assert_eq!(sets[0].switches, [""; 0], "{}", kernel.label);
        let others = [&OF_DEVICES[..], &OF_QUERIES, &OF_EVENTS, &OF_CHANGES].concat();
        let of_filters = |name: &&String| !others.contains(&name.as_str());
        let last: Vec<_> = sets[sets.len() - 1].switches.iter().filter(of_filters).cloned().collect();
        let last = sorted(&last);
        let known = [&all, &bins, &worlds, &half_spaces, &rest];
        assert!(last.is_empty() || known.contains(&&last), "{}: {last:?}", kernel.label);
        asked += usize::from(last == all);
    }
    assert!(asked > 0, "no kernel has all switches");
}

#[test]
fn a_set_has_the_switch_that_all_filters_share_exactly_if_it_is_not_empty() {
    let switches = Switches::of(&Filters { body: vec![0; 2], ..Filters::default() });
    let kernels = kernels();
    let kernel = kernels.iter().find(|kernel| kernel.label == "sweep_test").expect("the sweep's test");
    let sets = kernel.sets();
    let is_it = |set: &&Set| sorted(&set.switches) == sorted(switches.names());
    assert_eq!(sets.iter().filter(is_it).count(), 1, "{sets:?}");
    assert!(sets.iter().skip(1).all(|set| set.switches.iter().any(|name| name == "IS_FILTERED")));
}
