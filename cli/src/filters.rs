//! How filters are described, and the filters of a part of a scene.

use broadsweep::{Filters, Pair};
use serde_json::{Value, json};

use crate::text;

/// Describes each filter that is there, in one line; `None` where there is none.
pub fn describe(filters: &Filters) -> Option<String> {
    let mut parts = Vec::new();
    let groups = match (filters.group.is_empty(), filters.mask.is_empty()) {
        (true, true) => None,
        (false, true) => Some("group"),
        (true, false) => Some("mask"),
        (false, false) => Some("group and mask"),
    };
    parts.extend(groups.map(|groups| format!("{groups} ({})", filters.rule.name())));
    for (name, is_there) in [("body", !filters.body.is_empty()), ("parent", !filters.parent.is_empty())] {
        parts.extend(is_there.then(|| name.to_owned()));
    }
    for (name, list) in [("fixed", &filters.fixed), ("sleeping", &filters.sleeping)] {
        parts.extend((!list.is_empty()).then(|| format!("{} {name}", text::count(truths(list)))));
    }
    let second = truths(&filters.second);
    parts.extend((!filters.second.is_empty()).then(|| format!("two sets, the second of {}", text::boxes(second))));
    if let Some(count) = world_count(filters) {
        let global = filters.world.iter().filter(|&&world| world == Filters::GLOBAL).count() as u64;
        let worlds = counted(count, "world");
        parts.push(if global == 0 { worlds } else { format!("{worlds} and {} in all of them", text::boxes(global)) });
    }
    parts.extend(largest_margin(filters).map(|margin| format!("margins up to {margin}")));
    parts.extend(sphere_count(filters).map(|count| counted(count, "sphere")));
    for (pairs, name) in [(&filters.exclude, "excluded pair"), (&filters.include, "included pair")] {
        parts.extend((!pairs.is_empty()).then(|| counted(pairs.len() as u64, name)));
    }
    let half_spaces = filters.half_spaces.len() as u64;
    parts.extend((half_spaces > 0).then(|| counted(half_spaces, "half-space")));
    parts.extend(filters.owner.map(|_| "an owner region".to_owned()));
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Describes filters as one object, or `null` where there are none. A filter that is not used is `false` or `null`, and
/// 0 where it is a list of pairs.
pub fn json(filters: &Filters) -> Value {
    if filters.is_empty() {
        return Value::Null;
    }
    let truths = |list: &[bool]| (!list.is_empty()).then(|| truths(list));
    json!({
        "rule": filters.rule.name(),
        "group": !filters.group.is_empty(),
        "mask": !filters.mask.is_empty(),
        "body": !filters.body.is_empty(),
        "parent": !filters.parent.is_empty(),
        "fixed": truths(&filters.fixed),
        "sleeping": truths(&filters.sleeping),
        "second": truths(&filters.second),
        "worlds": world_count(filters),
        "largest_margin": largest_margin(filters).and_then(text::shortest),
        "spheres": sphere_count(filters),
        "exclude": filters.exclude.len(),
        "include": filters.include.len(),
        "half_spaces": filters.half_spaces.len(),
        "owner": filters.owner.is_some(),
    })
}

/// Returns the filters of the first boxes of a scene.
pub fn of_first(filters: &Filters, box_count: usize) -> Filters {
    let pairs = |pairs: &[Pair]| pairs.iter().copied().filter(|p| (p.a.max(p.b) as usize) < box_count).collect();
    let mut half_spaces = filters.half_spaces.clone();
    half_spaces.retain(|half_space| (half_space.index as usize) < box_count);
    Filters::default()
        .with_rule(filters.rule)
        .with_group(first(&filters.group, box_count))
        .with_mask(first(&filters.mask, box_count))
        .with_body(first(&filters.body, box_count))
        .with_parent(first(&filters.parent, box_count))
        .with_fixed(first(&filters.fixed, box_count))
        .with_sleeping(first(&filters.sleeping, box_count))
        .with_second(first(&filters.second, box_count))
        .with_world(first(&filters.world, box_count))
        .with_margin(first(&filters.margin, box_count))
        .with_sphere(first(&filters.sphere, box_count))
        .with_exclude(pairs(&filters.exclude))
        .with_exclude_at_most(filters.exclude_at_most)
        .with_include(pairs(&filters.include))
        .with_half_spaces(half_spaces)
        .with_owner(filters.owner)
}

fn first<T: Copy>(list: &[T], count: usize) -> Vec<T> {
    list[..list.len().min(count)].to_vec()
}

fn truths(list: &[bool]) -> u64 {
    list.iter().filter(|&&is| is).count() as u64
}

/// Counts the worlds, without the one that meets all; `None` where there are no worlds.
fn world_count(filters: &Filters) -> Option<u64> {
    let mut worlds = filters.world.clone();
    worlds.sort_unstable();
    worlds.dedup();
    (!worlds.is_empty()).then(|| worlds.iter().filter(|&&world| world != Filters::GLOBAL).count() as u64)
}

fn largest_margin(filters: &Filters) -> Option<f32> {
    // The sum turns -0 into 0.
    filters.margin.iter().copied().reduce(f32::max).map(|margin| margin + 0.0)
}

/// Counts the boxes that have a sphere; `None` where there is no list of spheres.
fn sphere_count(filters: &Filters) -> Option<u64> {
    let spheres = filters.sphere.iter().filter(|[.., radius]| radius.is_finite()).count() as u64;
    (!filters.sphere.is_empty()).then_some(spheres)
}

fn counted(count: u64, name: &str) -> String {
    format!("{} {name}{}", text::count(count), if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use broadsweep::Aabb;
    use broadsweep::cpu::brute_force;
    use broadsweep::filter::{GroupRule, HalfSpace};
    use laboratory::scenes;

    use super::*;

    #[test]
    fn the_first_boxes_have_among_them_the_pairs_that_they_have_among_all() {
        let boxes = scenes::uniform(120, 1, Some(0.4));
        let count = boxes.len() as u32;
        let list = |modulus: u32| (0..count).map(|i| i * 7 % modulus).collect::<Vec<u32>>();
        let truths = |modulus: u32| (0..count).map(|i| i % modulus == 0).collect::<Vec<bool>>();
        // Pairs within the first half and across it, with descending indices.
        let pairs = |step: u32| (0..count - step).map(|i| Pair { a: i + step, b: i }).collect::<Vec<Pair>>();
        let half_space = |index| HalfSpace { index, normal: [0.3, 0.0, 1.0], offset: 0.5 };
        let none = Filters::default;
        let each = [
            none().with_group(list(4)),
            none().with_group(list(4)).with_mask(list(3)).with_rule(GroupRule::Both),
            none().with_mask(list(4)),
            none().with_body(list(5)),
            none().with_parent(list(11)),
            none().with_fixed(truths(2)),
            none().with_sleeping(truths(3)),
            none().with_second(truths(3)),
            none().with_world(list(3)),
            none().with_margin(list(2).iter().map(|&x| x as f32 * 0.1).collect()),
            none().with_sphere(list(9).iter().map(|&x| [0.1 * x as f32, 0.5, 0.5, 0.2]).collect()),
            none().with_exclude(pairs(3)),
            none().with_include(pairs(9)),
            none().with_half_spaces([3, 20, 70].map(half_space).to_vec()),
            none().with_owner(Some(Aabb::new([0.2; 3], [0.9; 3]))),
        ];
        let half = boxes.len() / 2;
        let unfiltered = brute_force::find_pairs(&boxes[..half], &none()).unwrap();
        for filters in each {
            let mut expected = brute_force::find_pairs(&boxes, &filters).unwrap();
            expected.retain(|pair| (pair.b as usize) < half);
            assert_ne!(expected, unfiltered, "{filters:?}");
            assert_eq!(brute_force::find_pairs(&boxes[..half], &of_first(&filters, half)).unwrap(), expected);
        }
    }
}
