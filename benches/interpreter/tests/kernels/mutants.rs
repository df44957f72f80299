//! The interpreter notices wrong kernels: each barrier is left out, each atomic is replaced by plain accesses, and
//! neighbouring stores are exchanged.

use std::collections::{BTreeSet, HashSet};

use interpreter::{Compared, Mutation};

use super::*;

/// Runs mutants beside their kernels. Returns the observations of each. A mutant runs in at most its count of
/// `most_cases`, and in no further case once it is caught.
fn compared(mutants: &[(String, Mutation)], most_cases: &[usize]) -> Vec<Compared> {
    let mut seen = vec![Compared::default(); mutants.len()];
    let mut ran_in = vec![0; mutants.len()];
    for case in cases() {
        let is_open = |&k: &usize| !seen[k].is_caught() && ran_in[k] < most_cases[k];
        let open: Vec<usize> = (0..mutants.len()).filter(is_open).collect();
        if open.is_empty() {
            break;
        }
        let (interpreter, gpu) = device(8, Some(case.variant));
        interpreter.compare(open.iter().map(|&k| mutants[k].clone()));
        case.find(&gpu).unwrap();
        for (k, compared) in open.into_iter().zip(interpreter.compared()) {
            ran_in[k] += usize::from(compared.dispatches > 0);
            seen[k].dispatches += compared.dispatches;
            seen[k].differs |= compared.differs;
            seen[k].findings.extend(compared.findings);
        }
    }
    seen
}

/// Lists mutants of all kernels.
fn mutants(of: impl Fn(&naga::Module) -> Vec<Mutation>) -> Vec<(String, Mutation)> {
    let of_kernel = |source: &'static broadsweep::internals::gpu::kernel::Source| {
        of(&source.module().unwrap()).into_iter().map(|mutation| (source.label.to_owned(), mutation))
    };
    kernels::sources().flat_map(of_kernel).collect()
}

fn describe((kernel, mutation): &(String, Mutation)) -> String {
    let source = kernels::sources().find(|source| source.label == kernel).unwrap();
    mutation.describe(&source.module().unwrap(), &source.text())
}

/// Between two barriers, one invocation alone accesses the stored words.
const ALONE: &str = "needless: between two barriers, one invocation alone touches the word";
/// Two stores to two elements, or by two pointers.
const ELEMENTS: &str = "needless: two places wherever both are stored, and values that were loaded before";
/// The first store does not change the value of the second.
const NOT_TAKEN: &str = "no case makes the first store change what the second one reads";

/// Words and variables that one invocation alone accesses.
const OWN: &str = "needless: two places of one invocation, and neither value rests on the other";

/// A lower root makes a round shape touch later, but by less than an `f32` can show.
const NO_ROOT: &str = "no case of this kernel has a root that changes a time; those of query_first have";

/// Words of a sum that carry into the next one.
const NO_CARRY: &str = "no case of this kernel has a sum of spheres that carries; those of query_touch have";

/// The section of a sort has one tile in every case: another one takes more than four million keys.
const ONE_TILE: &str = "no case has a section of two tiles";

/// A block of the sweep has at most 16 tiles in every case: more take more than eight billion candidates.
const SIXTEEN_TILES: &str = "no case has a block of more than 16 tiles";

/// All groups of tiles are added up by one invocation in every case: two groups take more than 65,536 pairs.
const ONE_GROUP: &str = "no case has two groups of tiles of pairs";

/// A tree of every case is sorted in one section: two take more boxes than a tile of the sort.
const ONE_SECTION: &str = "no case has a tree of two sections";

/// The interpreter knows the last writer of a word, and the storing invocation is the first to add.
const HIDDEN: &str = "the invocation that stores adds first, and those that add later race with nobody";

/// Barriers that can be left out unnoticed: kernel, line of the source, and reason.
const BARRIERS_NOT_MISSED: &[(&str, &str, &str)] = &[
    ("sweep_test", "workgroupBarrier(); // before the sections of the next tiles are looked up", SIXTEEN_TILES),
    ("order_sort", "workgroupBarrier(); // before elements are counted in the same words", HIDDEN),
    ("sort_scatter", "workgroupBarrier(); // before the next tile counts in the same words", ONE_TILE),
    ("sort_ballot", "workgroupBarrier(); // before the next tile counts in the same words", ONE_TILE),
];

/// Atomics that can be replaced unnoticed: kernel, line of the source, and reason.
const ATOMICS_NOT_MISSED: &[(&str, &str, &str)] = &[
    ("bin_count", "atomicStore(&giants[local], 0u);", ALONE),
    ("bin_count", "atomicStore(&invalid, 0u);", ALONE),
    ("bin_scatter", "atomicStore(&has_many, 0u);", ALONE),
    ("sort_count", "atomicStore(&histogram[bin], 0u);", ALONE),
    ("tree_keys", "atomicStore(&histogram[bin], 0u);", ALONE),
    ("tree_keys", "atomicAdd(&digit_sums[section / SECTION_GROUP * radix + digit], count);", ONE_SECTION),
    ("tree_cube", "atomicStore(&ordinary_count, 0u);", ALONE),
    ("tree_cube", "atomicStore(&finite_count, 0u);", ALONE),
    ("query_pending", "atomicStore(&pending_of_group, 0u);", ALONE),
    ("query_pending", "atomicStore(&invalid_of_group, 0u);", ALONE),
    ("query_cross", "atomicStore(&found_together[shared_query], 0u);", ALONE),
    ("query_cross", "atomicStore(&left_together[shared_query], NOWHERE);", ALONE),
    ("query_touch", "atomicStore(&found_together[shared_query], 0u);", ALONE),
    ("query_touch", "atomicStore(&left_together[shared_query], NOWHERE);", ALONE),
    ("query_sphere", "atomicStore(&found_together[shared_query], 0u);", ALONE),
    ("query_sphere", "atomicStore(&left_together[shared_query], NOWHERE);", ALONE),
    ("small_test", "atomicStore(&group_hits[local], 0u);", ALONE),
    ("bin_count", "atomicStore(&block_counts[(groups + block) * BIN_COUNTS + k], count);", ALONE),
    ("bin_scatter", "atomicStore(&block_sums[local], 0u);", ALONE),
    ("rank_ends", "atomicStore(&path_bases[2u * at], base.x);", ALONE),
    ("rank_ends", "atomicStore(&path_bases[2u * at + 1u], base.y);", ALONE),
    ("rank_ends", "atomicStore(&section_candidates[local], 0u);", ALONE),
    ("sweep_test", "atomicStore(&hits_in_block, 0u);", ALONE),
    ("sweep_test", "atomicStore(&block_hits[2u * HIT_SUMS + block], hits);", ALONE),
    ("giants_test", "atomicStore(&hits_in_block, 0u);", ALONE),
    ("giants_test", "atomicStore(&block_hits[2u * HIT_SUMS + block], hits);", ALONE),
    ("emit_sweep", "atomicStore(&added_hits[local], 0u);", ALONE),
    ("emit_again", "atomicStore(&added_hits[local], 0u);", ALONE),
    ("order_sort", "atomicStore(&long_count, 0u);", ALONE),
    ("order_sort", "atomicStore(&window_bits[i], 0u);", ALONE),
    ("order_sort", "atomicStore(&before_window, 0u);", ALONE),
    ("order_sort", "atomicStore(&next_window, high);", ALONE),
    ("events_find", "atomicStore(&tile_bits[local], 0u);", ALONE),
    ("events_find", "atomicStore(&tile_counts[local], 0u);", ALONE),
    ("events_find", "atomicStore(&near_found[local], 0u);", ALONE),
    ("events_find", "atomicStore(&event_marks[bits_at(which, word)], atomicLoad(&tile_bits[local]));", ALONE),
    ("events_list", "atomicStore(&event_sums[local], 0u);", ALONE),
    ("events_list", "atomicAdd(&event_sums[3u + k], count);", ONE_GROUP),
    ("query_place", "atomicStore(&blocks[place], words[0]);", ALONE),
    ("query_place", "atomicStore(&blocks[place + 1u], words[1]);", ALONE),
    ("query_place", "atomicStore(&blocks[place + 2u], words[2]);", ALONE),
];

/// Stores that can be exchanged unnoticed, though the source does not show at once why: as above, with the line of the
/// first.
const STORES_NOT_MISSED: &[(&str, &str, &str)] = &[
    ("prepare_count", "result.is_beyond = is_beyond;", OWN),
    ("prepare_boxes", "prepared[i * 3u] = low.xy;", ELEMENTS),
    ("prepare_boxes", "prepared[i * 3u + 1u] = vec2<u32>(low.z, high.x);", ELEMENTS),
    ("prepare_points", "boxes[i * 3u] = min.xy;", ELEMENTS),
    ("prepare_points", "boxes[i * 3u + 1u] = vec2<u32>(min.z, max.x);", ELEMENTS),
    ("frame_choose", "a[p] = c * ap - s * aq;", ELEMENTS),
    ("frame_choose", "a[q] = s * ap + c * aq;", ELEMENTS),
    ("frame_choose", "v[p] = c * vp - s * vq;", ELEMENTS),
    ("frame_choose", "cell = min(max(cell, oblique), CELL_MAX);", NOT_TAKEN),
    ("frame_choose", "ids.bits = shortened(ids.bits, most_bits);", NOT_TAKEN),
    ("frame_choose", "world_bits = min(bits_for(f32(worlds)), MAX_WORLD_BITS);", NOT_TAKEN),
    ("bin_scatter", "entry_offsets[local] = count_a;", ELEMENTS),
    ("bin_scatter", "entry_offsets[local + 256u] = count_b;", ELEMENTS),
    ("bin_scatter", "entry_offsets[local + 512u] = count_c;", ELEMENTS),
    ("sort_scatter", "totals[2u * local] = digits.totals.x;", ELEMENTS),
    ("sort_scatter", "places[2u * local] = lower + digits.before.x;", ELEMENTS),
    ("rank_ends", "atomicStore(&path_bases[2u * at], base.x);", ELEMENTS),
    ("sort_ballot", "tile_words[positions.x] = words.x;", ELEMENTS),
    ("sort_ballot", "tile_words[positions.y] = words.y;", ELEMENTS),
    ("sort_ballot", "tile_words[positions.z] = words.z;", ELEMENTS),
    ("sort_ballot", "tile_words[2u * lane.local] = shifts.x;", ELEMENTS),
    ("sweep_test", "runs[at] = run.hits;", ELEMENTS),
    ("sweep_test", "proven |= (comparison.is_proven & proven_bits) << at;", ELEMENTS),
    ("sweep_test", "*a = Term(", ELEMENTS),
    ("giants_test", "*a = Term(", ELEMENTS),
    ("emit_again", "proven |= (comparison.is_proven & proven_bits) << at;", ELEMENTS),
    ("emit_again", "*a = Term(", ELEMENTS),
    ("small_test", "*a = Term(", ELEMENTS),
    ("order_sort", "nearby[local] = near.x;", ELEMENTS),
    ("order_sort", "nearby[local + 256u] = near.y;", ELEMENTS),
    ("order_sort", "nearby[local + 512u] = near.z;", ELEMENTS),
    ("order_sort", "in_order[2u * place] = row;", ELEMENTS),
    ("query_place", "atomicStore(&blocks[place], words[0]);", ELEMENTS),
    ("query_place", "atomicStore(&blocks[place + 1u], words[1]);", ELEMENTS),
    ("tree_bottom", "box_words[to] = loaded.x;", ELEMENTS),
    (
        "tree_bottom",
        "nodes[at] = vec4<u32>(bitcast<vec3<u32>>(steps.origin * steps.size), sizes | (vast << 24u));",
        OWN,
    ),
    ("tree_bottom", "nodes[at + 1u] = words.x;", OWN),
    ("tree_bottom", "nodes[at + 2u] = words.y;", OWN),
    ("tree_bottom", "bounds[2u * node] = vec4<u32>(found.own.low, found.own.high.x);", OWN),
    ("tree_top", "nodes[at] = vec4<u32>(bitcast<vec3<u32>>(steps.origin * steps.size), sizes | (vast << 24u));", OWN),
    ("tree_top", "bounds[2u * node] = vec4<u32>(found.own.low, found.own.high.x);", OWN),
    ("tree_top", "nodes[at + 1u] = words.x;", OWN),
    ("tree_top", "nodes[at + 2u] = words.y;", OWN),
    ("query_capsule", "queries[to + 6u] = number * MOST_PARTS_OF_ONE;", OWN),
    ("query_capsule", "queries[to] = own.x;", OWN),
    ("query_capsule", "queries[to + 1u] = own.y;", OWN),
    ("query_capsule", "queries[to + 2u] = own.z;", OWN),
    ("query_capsule", "numbers[FROM + k] = a;", OWN),
    ("query_turned", "queries[to + 6u] = number * MOST_PARTS_OF_ONE;", OWN),
    ("query_turned", "queries[to] = own.x;", OWN),
    ("query_turned", "queries[to + 1u] = own.y;", OWN),
    ("query_turned", "queries[to + 2u] = own.z;", OWN),
    ("query_first", "path_limit = queries[next + 3u];", OWN),
    ("query_first", "*a = Term(", OWN),
    ("query_first", "row_count = min(row_count + 1u, query.most);", OWN),
    ("query_hits", "path_limit = queries[next + 3u];", OWN),
    ("query_hits", "*a = Term(", OWN),
    ("query_near", "radius = queries[at + 3u];", OWN),
    ("query_near", "at = below;", OWN),
    ("query_near", "row_count = min(row_count + 1u, query.most);", OWN),
    ("query_near", "rows[row_first] = rows[row_first + count - 1u];", ELEMENTS),
    ("query_squares", "radius = queries[at + 3u];", OWN),
    ("query_cross", "path_limit = queries[next + 3u];", OWN),
    ("query_cross", "*a = Term(", OWN),
    ("query_cross", "offsets[number].z = resumed_at;", OWN),
    ("query_cross", "offsets[number].x = found;", OWN),
    ("query_touch", "*a = Term(", OWN),
    ("query_touch", "offsets[number].z = resumed_at;", OWN),
    ("query_touch", "offsets[number].x = found;", OWN),
    ("query_sphere", "radius = queries[at + 3u];", OWN),
    ("query_sphere", "offsets[number].z = resumed_at;", OWN),
    ("query_sphere", "offsets[number].x = found;", OWN),
    ("query_times", "path_limit = queries[next + 3u];", OWN),
    ("query_times", "*a = Term(", OWN),
    ("query_moving", "queries[to + BOX_CAST_U32_COUNT + k] = one[k];", ELEMENTS),
    ("query_first", "round_radius = queries[first + 6u];", OWN),
    ("query_hits", "round_radius = queries[first + 6u];", OWN),
    ("query_cross", "round_radius = queries[first + 6u];", OWN),
    ("query_first", "var total = partial;", NO_CARRY),
    ("query_first", "total.x += *carry;", NO_CARRY),
    ("query_first", "total.y += from_x;", NO_CARRY),
    ("query_first", "total.z += from_y;", NO_CARRY),
    ("query_first", "total.w += from_z;", NO_CARRY),
    ("query_cross", "var total = partial;", NO_CARRY),
    ("query_cross", "total.x += *carry;", NO_CARRY),
    ("query_cross", "total.y += from_x;", NO_CARRY),
    ("query_cross", "total.z += from_y;", NO_CARRY),
    ("query_cross", "total.w += from_z;", NO_CARRY),
    ("query_cross", "var rest = shl64(digits.rest, 2u);", NO_ROOT),
    ("query_times", "round_radius = queries[first + 6u];", OWN),
    ("query_times", "var rest = shl64(digits.rest, 2u);", NO_ROOT),
];

/// Finds the entry of a mutant among the known unnoticed ones.
fn entry_of(mutant: &(String, Mutation), known: &[(&str, &str, &str)]) -> Option<usize> {
    let text = describe(mutant);
    let line = text.lines().nth(2).unwrap_or_default().trim();
    known.iter().position(|&(kernel, of, _)| kernel == mutant.0 && of == line)
}

/// Fails unless exactly the mutants in `known` are unnoticed, and none of `unseen` is caught. Those in `known` run in
/// one case, with BROADSWEEP_LONG=1 in all cases.
fn assert_missed(
    mutants: &[(String, Mutation)],
    unseen: &[(String, Mutation)],
    is_missed: impl Fn(&(String, Mutation), &Compared) -> bool,
    known: &[(&str, &str, &str)],
) {
    let entries: Vec<Option<usize>> = mutants.iter().map(|mutant| entry_of(mutant, known)).collect();
    let most_cases = |entry: &Option<usize>| if entry.is_some() && !is_long() { 1 } else { usize::MAX };
    let most_cases: Vec<usize> = entries.iter().map(most_cases).chain(unseen.iter().map(|_| 1)).collect();
    let seen = compared(&[mutants, unseen].concat(), &most_cases);
    let (seen, seen_of_unseen) = seen.split_at(mutants.len());
    for ((kernel, mutation), seen) in unseen.iter().zip(seen_of_unseen) {
        assert!(seen.dispatches > 0, "no case runs {kernel}");
        assert!(!seen.is_caught(), "a change that cannot be seen is seen: {}", describe(&(kernel.clone(), *mutation)));
    }
    let (mut not_missed, mut wrong) = (HashSet::new(), 0);
    for ((mutant, entry), seen) in mutants.iter().zip(entries).zip(seen) {
        assert!(seen.dispatches > 0, "no case runs {}", mutant.0);
        if !is_missed(mutant, seen) {
            if entry.is_none() {
                wrong += 1;
                println!("{} is not missed and not listed: {}", mutant.0, describe(mutant));
            }
            not_missed.extend(entry);
        }
    }
    for (k, (kernel, line, _)) in known.iter().enumerate().filter(|(k, _)| !not_missed.contains(k)) {
        wrong += 1;
        println!("{kernel} has none that is not missed: entry {k}: {line}");
    }
    println!("{} of {} missed", mutants.len() - known.len(), mutants.len());
    assert!(wrong == 0, "{wrong} of {} are not as they are listed", mutants.len());
}

#[test]
#[ignore = "long"]
fn every_kernel_runs_in_a_case() {
    let mut left: BTreeSet<String> = kernels::sources().map(|source| source.label.to_owned()).collect();
    for case in cases() {
        if left.is_empty() {
            break;
        }
        let (interpreter, gpu) = device(8, Some(case.variant));
        case.find(&gpu).unwrap();
        left = &left - &interpreter.report().ran;
    }
    assert!(left.is_empty(), "no case runs {left:?}");
}

#[test]
fn every_barrier_of_a_scan_is_missed_when_it_is_gone() {
    let mut of_a_scan = mutants(Mutation::barriers);
    of_a_scan.retain(|(kernel, _)| kernel == "rank_ends");
    assert!(!of_a_scan.is_empty());
    assert_missed(&of_a_scan, &[], |_, seen| !seen.findings.is_empty(), &[]);
}

#[test]
#[ignore = "long"]
fn every_barrier_is_missed_when_it_is_gone() {
    assert_missed(&mutants(Mutation::barriers), &[], |_, seen| !seen.findings.is_empty(), BARRIERS_NOT_MISSED);
}

#[test]
#[ignore = "long"]
fn every_atomic_is_missed_when_it_is_none() {
    let is_race = |_: &_, seen: &Compared| seen.findings.iter().any(|finding| finding.fault == Fault::Race);
    assert_missed(&mutants(Mutation::atomics), &[], is_race, ATOMICS_NOT_MISSED);
}

#[test]
#[ignore = "long"]
fn the_order_of_stores_is_missed_where_it_can_be_seen() {
    let is_apart = |(kernel, mutation): &(String, Mutation)| {
        let source = kernels::sources().find(|source| source.label == kernel).unwrap();
        mutation.is_of_stores_apart(&source.module().unwrap())
    };
    let (apart, others): (Vec<_>, Vec<_>) = mutants(Mutation::stores).into_iter().partition(is_apart);
    println!("{} swaps of stores to different places", apart.len());
    let apart: Vec<_> = apart.into_iter().step_by(if is_long() { 1 } else { 16 }).collect();
    // The source shows that these stores are apart. This test looks for a misread source, in one case: it does not
    // reach code that only other cases run.
    assert_missed(&others, &apart, |_, seen| seen.is_caught(), STORES_NOT_MISSED);
}
