//! All kernels in their flow, on scenes of every kind.

use super::*;

#[test]
#[ignore = "long"]
fn every_kind_of_scene_is_exact_and_clean_with_subgroups_of_every_size() {
    for (j, subgroup) in SUBGROUPS.into_iter().enumerate() {
        let device = device(subgroup, None);
        for (i, kind) in Kind::ALL.into_iter().enumerate() {
            let boxes = kind.generate(400, 3);
            device.0.set_order([Order::Forward, Order::Backward, Order::Random(7)][(i + j) % 3]);
            for (k, filters) in [Filters::default(), filters(boxes.len())].into_iter().enumerate() {
                // Each kind with filters and without, each in half of the sizes.
                if !is_long() && (i + j + k) % 2 == 1 {
                    continue;
                }
                let context = format!("{} at {subgroup}, filtered: {}", kind.name(), k == 1);
                check(&device, SWEEP, &boxes, &filters, &context);
            }
        }
    }
}

#[test]
fn any_order_of_workgroups_and_invocations_gives_the_same_lists() {
    let (interpreter, gpu) = device(32, None);
    let orders = [Order::Forward, Order::Backward, Order::Mixed, Order::Random(1), Order::Random(2)];
    // Several workgroups of each kernel; thousands of giants; rows of pairs that are long.
    for (kind, n) in [(Kind::Uniform, 4000), (Kind::ThousandGiants, 1500), (Kind::Identical, 400)] {
        let boxes = kind.generate(n, 3);
        for (order, filters) in [
            (PairOrder::Sweep, Filters::default()),
            (PairOrder::Sweep, filters(n)),
            (PairOrder::Canonical, Filters::default()),
        ] {
            let lists = orders.map(|of_groups| {
                interpreter.set_order(of_groups);
                let mut broad_phase = BroadPhase::new(&gpu, SWEEP.with_order(order)).unwrap();
                broad_phase.set_filters(filters.clone()).unwrap();
                broad_phase.find_pairs(&boxes).unwrap().pairs.to_vec()
            });
            let context = format!("{} in {order:?}", kind.name());
            assert_clean(&interpreter.report(), &context);
            assert!(!lists[0].is_empty() && lists.iter().all(|list| *list == lists[0]), "{context}");
        }
    }
}

#[test]
fn every_variant_of_the_sort_is_clean() {
    for variant in SortVariant::ALL {
        let device = device(32, Some(variant));
        for kind in [Kind::Uniform, Kind::Clusters] {
            let context = format!("{variant:?}: {}", kind.name());
            check(&device, SWEEP, &kind.generate(5000, 1), &Filters::default(), &context);
        }
    }
}

#[test]
fn subgroups_that_the_sort_with_ballots_is_not_for_get_another_sort() {
    for subgroup in [4, 128] {
        let device = device(subgroup, None);
        let boxes = Kind::Uniform.generate(3000, 1);
        check(&device, SWEEP, &boxes, &Filters::default(), &format!("subgroups of {subgroup}"));
        let mut broad_phase = BroadPhase::new(&device.1, SWEEP).unwrap();
        broad_phase.find_pairs(&boxes).unwrap();
        let ran = device.0.report().ran;
        assert!(ran.contains("sort_scatter") && !ran.contains("sort_ballot"), "{subgroup}: {ran:?}");
        assert!(device.1.clone().with_sort(Some(SortVariant::Subgroup)).is_err());
    }
}

#[test]
fn few_boxes_are_exact_and_clean() {
    let device = device(32, None);
    for kind in Kind::ALL {
        for n in [2, 300] {
            let boxes = kind.generate(n, 5);
            for filters in [Filters::default(), filters(boxes.len())] {
                let options = SWEEP.with_all_pairs_up_to(Some(u32::MAX));
                check(&device, options, &boxes, &filters, &format!("{} of {n}", kind.name()));
            }
        }
    }
}

#[test]
fn boxes_in_many_cells_are_exact_and_clean() {
    let device = device(32, None);
    let boxes = boxes_in_many_cells(1500);
    // With these cells, and with merged cells, since the capacity is too small for all entries.
    let edge = boxes[1].max[0] - boxes[1].min[0];
    for cell_size in [CellSize::Auto, CellSize::Fixed(edge / 8.0)] {
        let options = SWEEP.with_cell_size(cell_size);
        check(&device, options, &boxes, &Filters::default(), &format!("in many cells, {cell_size:?}"));
    }
}

#[test]
fn margins_without_half_spaces_and_half_spaces_without_margins_are_exact_and_clean() {
    let device = device(8, None);
    let boxes = Kind::Uniform.generate(500, 1);
    let Filters { margin, half_spaces, .. } = filters(boxes.len());
    for filters in [Filters::default().with_margin(margin), Filters::default().with_half_spaces(half_spaces)] {
        for options in [SWEEP, SWEEP.with_all_pairs_up_to(Some(u32::MAX))] {
            check(&device, options, &boxes, &filters, "margins or half-spaces");
        }
    }
}

#[test]
fn spheres_are_exact_and_clean() {
    let device = device(8, None);
    let boxes = Kind::Clusters.generate(400, 1);
    let all = filters(boxes.len()).with_sphere(spheres(&boxes));
    let alone = Filters::default().with_sphere(spheres(&boxes)).with_half_spaces(all.half_spaces.clone());
    for filters in [alone, all] {
        for options in [SWEEP, SWEEP.with_all_pairs_up_to(Some(u32::MAX))] {
            check(&device, options, &boxes, &filters, "spheres");
        }
    }
}

#[test]
fn owner_regions_are_exact_and_clean() {
    let device = device(8, None);
    let mut boxes = Kind::Touching.generate(500, 1);
    boxes[3] = Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]);
    boxes[4] = Aabb::new([f32::INFINITY; 3], [f32::INFINITY; 3]);
    for aabb in [boxes[4], boxes[100], boxes[250]] {
        let regions = [
            Aabb::new([f32::NEG_INFINITY, aabb.min[1], f32::NEG_INFINITY], [f32::INFINITY; 3]),
            Aabb::new([f32::NEG_INFINITY; 3], [aabb.min[0], f32::INFINITY, aabb.min[2]]),
        ];
        for owner in regions.map(Some) {
            for options in [SWEEP, SWEEP.with_all_pairs_up_to(Some(u32::MAX))] {
                check(&device, options, &boxes, &Filters::default().with_owner(owner), "an owner region");
            }
        }
    }
}

#[test]
#[ignore = "long"]
fn lists_in_many_pieces_are_exact_and_clean() {
    let device = device(32, None);
    for order in [PairOrder::Sweep, PairOrder::Canonical] {
        let boxes = Kind::Identical.generate(700, 1);
        let options = SWEEP.with_order(order);
        let options = options.with_memory_budget(Some(least_budget(boxes.len(), options)));
        check(&device, options, &boxes, &Filters::default(), "in pieces");
    }
}

#[test]
fn recorded_steps_are_exact_and_clean() {
    for (subgroup, options) in [(8, SWEEP), (32, SWEEP.with_all_pairs_up_to(Some(u32::MAX)))] {
        let (interpreter, gpu) = device(subgroup, None);
        // More pairs than a workgroup compares, and enough to show two boxes that are declared to be one.
        let boxes = Kind::Clusters.generate(1100, 2);
        for filters in [Filters::default(), filters(boxes.len())] {
            let context = format!("steps at {subgroup}");
            interpreter.set_order(Order::Random(subgroup as u64));
            let found = steps::record(&gpu, options, &boxes, &filters, steps::Kind::Compared).unwrap();
            assert_clean(&interpreter.report(), &context);
            assert!(found == steps::expected(&boxes, &filters, steps::Kind::Compared), "{context}");
        }
    }
}

#[test]
fn points_whose_pairs_are_recorded_are_exact_and_clean() {
    for subgroup in [4, 64] {
        let (interpreter, gpu) = device(subgroup, None);
        for boxes in [Kind::Uniform.generate(300, 2), Kind::Identical.generate(100, 2)] {
            for options in [SWEEP, SWEEP.with_all_pairs_up_to(Some(u32::MAX))] {
                let found = points::record(&gpu, options, &boxes).unwrap();
                assert_clean(&interpreter.report(), &format!("points at {subgroup}"));
                assert!(found == points::expected(&boxes), "points at {subgroup}");
            }
        }
    }
}

#[test]
fn steps_whose_filters_come_from_the_device_are_exact_and_clean() {
    for subgroup in [4, 64] {
        let (interpreter, gpu) = device(subgroup, None);
        let boxes = Kind::Uniform.generate(400, 2);
        let cut = steps::with_half_spaces(boxes.clone(), Filters::default());
        for (boxes, filters) in [(boxes.clone(), Filters::default()), (boxes, filters(400)), cut] {
            let context = format!("steps at {subgroup}");
            let found = steps::record(&gpu, SWEEP, &boxes, &filters, steps::Kind::Filtered).unwrap();
            assert_clean(&interpreter.report(), &context);
            assert!(found == steps::expected(&boxes, &filters, steps::Kind::Filtered), "{context}");
        }
    }
}
