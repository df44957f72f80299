//! Trees: every query is answered as on the CPU, and no kernel does anything that a GPU might do otherwise.

use broadsweep::Tree;

use super::numbers::{Like, Numbers};
use super::tree_queries::{QueriedFrom, boxes, filters};
use super::{Filters, assert_clean, cpu, device, is_long};

#[test]
#[ignore = "long"]
fn trees_answer_as_on_the_cpu_and_are_clean() {
    for (subgroup, n, is_filtered) in [(8, 1100, false), (32, 1100, true), (64, 9, false), (16, 130, true)] {
        let (interpreter, gpu) = device(subgroup, None);
        let boxes = boxes(n.max(70));
        let boxes = &boxes[..n.max(70)];
        let filters = if is_filtered { filters(boxes.len()) } else { Filters::default() };
        let context = format!("a tree of {} with subgroups of {subgroup}", boxes.len());
        for from in [QueriedFrom::Host, QueriedFrom::Device] {
            let found = from.answer(&mut Tree::new(&gpu).unwrap(), boxes, &filters).unwrap();
            let expected = from.answer(&mut cpu::Tree::new(), boxes, &filters).unwrap();
            assert!(found == expected, "{context}, queried from its {from:?}");
        }
        assert_clean(&interpreter.report(), &context);
    }
}

#[test]
fn trees_of_any_numbers_answer_as_on_the_cpu_and_are_clean() {
    for like in if is_long() { &Like::ALL[..] } else { &[Like::Infinite] } {
        let (interpreter, gpu) = device(8, None);
        let boxes = Numbers::new(1).boxes(40, *like);
        let from = QueriedFrom::Numbers(*like);
        let found = from.answer(&mut Tree::new(&gpu).unwrap(), &boxes, &filters(40)).unwrap();
        let expected = from.answer(&mut cpu::Tree::new(), &boxes, &filters(40)).unwrap();
        assert!(found == expected, "numbers that are {like:?}");
        assert_clean(&interpreter.report(), &format!("numbers that are {like:?}"));
    }
}
