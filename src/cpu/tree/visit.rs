//! The visitors of the tree, one for each kind of query.

use std::cmp::Ordering;

use super::node::{Node, Real, Sight, WIDTH};
use super::walk::Visitor;
use crate::base::exact::RELATIVE_ERROR;
use crate::queries::{Entry, Path, Region, reserve};
use crate::{Aabb, Error};

/// The most answers that are sorted by insertion. A longer ranking is sorted at the end. Until then, its later half is
/// dropped each time it has twice the requested count.
const FEW: usize = 64;

/// The first answers of a query, ordered by key, then by index.
#[derive(Debug)]
pub struct Ranking<K> {
    /// The answers so far. After [`finish`](Self::finish), they are sorted, and at most `most`.
    pub first: Vec<(K, u32)>,
    /// The rounded keys of the answers, in the same order.
    approximate: Vec<f64>,
    most: usize,
    /// The rounded key of the last of the `most` requested answers; `None` until it is known.
    last: Option<f64>,
}

impl<K> Ranking<K> {
    /// Reserves capacity for this many answers.
    pub fn new(most: usize) -> Self {
        Self { first: Vec::new(), approximate: Vec::new(), most, last: None }
    }

    /// Removes all answers, and retains the memory.
    pub fn clear(&mut self) {
        self.first.clear();
        self.approximate.clear();
        self.last = None;
    }

    /// Returns the count of requested answers.
    pub fn most(&self) -> usize {
        self.most
    }

    /// Returns whether no answer is requested.
    pub fn wants_none(&self) -> bool {
        self.most == 0
    }

    /// Returns the rounded key of the last of the `most` requested answers; `None` until it is known.
    pub fn last(&self) -> Option<f64> {
        self.last
    }

    /// Inserts an answer if it is among the first. Returns the rounded [last](Self::last) key.
    #[inline]
    fn insert(&mut self, key: K, approximate: f64, id: u32, compare: impl Fn(&K, &K) -> Ordering) -> Option<f64> {
        if self.most > FEW {
            self.first.push((key, id));
            self.approximate.push(approximate);
            if self.first.len() / 2 == self.most {
                self.drop_half(&compare);
            }
            return self.last;
        }
        let error = RELATIVE_ERROR * approximate;
        let (mut before, mut undecided_count) = (0, 0);
        for &other in &self.approximate {
            before += usize::from(other < approximate - error);
            undecided_count += usize::from((other - approximate).abs() <= 2.0 * error);
        }
        if undecided_count > 0 {
            let is_before = |(other, index): &(K, u32)| compare(&key, other).then(id.cmp(index)).is_lt();
            before = self.first.iter().rposition(|other| !is_before(other)).map_or(0, |at| at + 1);
        }
        if before < self.most {
            self.first.truncate(self.most - 1);
            self.first.insert(before, (key, id));
            self.approximate.truncate(self.most - 1);
            self.approximate.insert(before, approximate);
        }
        self.last = self.approximate.get(self.most - 1).copied();
        self.last
    }

    #[cold]
    fn drop_half(&mut self, compare: impl Fn(&K, &K) -> Ordering) {
        let order = then_index(compare);
        self.first.select_nth_unstable_by(self.most, &order);
        self.first.truncate(self.most);
        // The retained answers are not sorted. The limit is the largest key among them.
        self.approximate.select_nth_unstable_by(self.most - 1, f64::total_cmp);
        self.approximate.truncate(self.most);
        self.last = self.approximate.last().copied();
    }

    /// Appends an answer. [`order`](Self::order) sorts it later.
    #[inline]
    pub fn push(&mut self, key: K, id: u32) {
        self.first.push((key, id));
    }

    /// Sorts the answers that were [pushed](Self::push), and drops answers beyond the requested count.
    pub fn order(&mut self, compare: impl Fn(&K, &K) -> Ordering, approximate: impl Fn(&K) -> f64) {
        let order = then_index(compare);
        if self.first.len() / 2 >= self.most {
            self.first.select_nth_unstable_by(self.most, &order);
            self.first.truncate(self.most);
        }
        self.first.sort_unstable_by(order);
        self.first.truncate(self.most);
        self.last =
            if self.first.len() < self.most { None } else { self.first.last().map(|(key, _)| approximate(key)) };
    }

    /// Sorts the answers.
    pub fn finish(&mut self, compare: impl Fn(&K, &K) -> Ordering) {
        if self.most > FEW {
            self.first.sort_unstable_by(then_index(compare));
            self.first.truncate(self.most);
            if self.first.len() == self.most {
                self.last = Some(*self.approximate.select_nth_unstable_by(self.most - 1, f64::total_cmp).1);
            }
        }
    }
}

/// Returns the order of answers: by `compare`, then by index.
fn then_index<K>(compare: impl Fn(&K, &K) -> Ordering) -> impl Fn(&(K, u32), &(K, u32)) -> Ordering {
    move |a, b| compare(&a.0, &b.0).then(a.1.cmp(&b.1))
}

/// A visitor that finds the first boxes by a key.
pub struct First<'a, F, K, L, R, C> {
    /// No box beyond this limit is among the first.
    pub limit: F,
    pub ranking: &'a mut Ranking<K>,
    /// Returns a bit per child of a node within the limit, and the approximate key of each child.
    pub look: L,
    /// Returns the key of a box that the query meets, and the rounded key.
    pub key: R,
    /// Compares two keys without rounding.
    pub compare: C,
}

impl<F, K, L, R, C> Visitor for First<'_, F, K, L, R, C>
where
    F: Real,
    L: Fn(&Node, F) -> (u32, [F; WIDTH]),
    R: Fn(&Aabb) -> Option<(K, f64)>,
    C: Fn(&K, &K) -> Ordering,
{
    type Known = F;
    const IS_ORDERED: bool = true;

    #[inline(always)]
    fn look(&self, node: &Node, _: Self::Known) -> (u32, [F; WIDTH]) {
        (self.look)(node, self.limit)
    }

    #[inline(always)]
    fn is_beyond(&self, near: F) -> bool {
        near > self.limit
    }

    #[inline(always)]
    fn take(&mut self, id: u32, aabb: &Aabb) {
        if let Some((key, approximate)) = (self.key)(aabb)
            && let Some(last) = self.ranking.insert(key, approximate, id, &self.compare)
        {
            self.limit = F::limit(last);
        }
    }
}

/// Returns whether a hit comes before `best`: by `t`, then by index.
#[inline(always)]
pub fn is_before(path: &Path, (entry, id): (&Entry, u32), best: &Option<(Entry, u32)>) -> bool {
    best.as_ref().is_none_or(|(best, index)| path.compare_entries(entry, best).then(id.cmp(index)).is_lt())
}

/// A visitor that finds the first box that a path hits. If `IS_ANY`, it finds any box, without its index.
pub struct OneHit<F: Real, const IS_ANY: bool> {
    /// A copy, so that the compiler knows that nothing else refers to it, and omits branches.
    pub path: Path,
    pub sight: Sight<F>,
    pub limit: F,
    pub best: Option<(Entry, u32)>,
}

impl<F: Real, const IS_ANY: bool> Visitor for OneHit<F, IS_ANY> {
    type Known = F;
    const IS_ORDERED: bool = true;

    #[inline(always)]
    fn look(&self, node: &Node, _: Self::Known) -> (u32, [F; WIDTH]) {
        self.sight.through(node, self.limit)
    }

    #[inline(always)]
    fn is_beyond(&self, near: F) -> bool {
        near > self.limit
    }

    #[inline(always)]
    fn take(&mut self, id: u32, aabb: &Aabb) {
        // `IS_ANY` needs no index. So omit its load, which would miss all caches.
        let id = if IS_ANY { 0 } else { id };
        if let Some(entry) = self.path.enter(aabb)
            && is_before(&self.path, (&entry, id), &self.best)
        {
            self.limit = F::limit(entry.approximate);
            self.best = Some((entry, id));
        }
    }

    #[inline(always)]
    fn is_done(&self) -> bool {
        IS_ANY && self.best.is_some()
    }
}

/// A visitor that finds all boxes that a path hits.
pub struct AllHits<'a, F: Real, T> {
    pub path: Path,
    pub sight: Sight<F>,
    pub limit: F,
    /// Is called with each hit, and returns whether to continue.
    pub hit: &'a mut T,
    pub is_done: bool,
}

impl<F: Real, T: FnMut(&Entry, u32) -> bool> Visitor for AllHits<'_, F, T> {
    type Known = F;
    const IS_ORDERED: bool = false;

    #[inline(always)]
    fn look(&self, node: &Node, _: Self::Known) -> (u32, [F; WIDTH]) {
        self.sight.through(node, self.limit)
    }

    #[inline(always)]
    fn take(&mut self, id: u32, aabb: &Aabb) {
        if let Some(entry) = self.path.enter(aabb) {
            self.is_done |= !(self.hit)(&entry, id);
        }
    }

    fn is_done(&self) -> bool {
        self.is_done
    }
}

/// A visitor that finds all boxes that touch a shape.
pub struct Touching<'a, R> {
    pub region: R,
    pub bounds: Aabb,
    pub out: &'a mut Vec<u32>,
    pub result: Result<(), Error>,
}

impl<R: Region> Visitor for Touching<'_, R> {
    type Known = f32;
    const IS_ORDERED: bool = false;

    #[inline(always)]
    fn look(&self, node: &Node, _: Self::Known) -> (u32, [f32; WIDTH]) {
        let mut bits = node.touching(&self.bounds);
        if R::PRUNES {
            for child in 0..WIDTH {
                let is_wanted = bits >> child & 1 == 1;
                bits ^= u32::from(is_wanted && !self.region.touches(&node.get(child))) << child;
            }
        }
        (bits, [0.0; WIDTH])
    }

    #[inline(always)]
    fn take(&mut self, id: u32, aabb: &Aabb) {
        let touches = R::PRUNES || self.region.touches(aabb);
        if aabb.is_valid() && touches {
            self.result = push(self.out, id);
        }
    }

    fn is_done(&self) -> bool {
        self.result.is_err()
    }
}

/// A visitor that passes only boxes that the filters of a query accept.
pub struct Met<'a, V, M> {
    pub visitor: &'a mut V,
    pub meets: M,
}

impl<V: Visitor, M: Fn(u32) -> bool> Visitor for Met<'_, V, M> {
    type Known = V::Known;
    const IS_ORDERED: bool = V::IS_ORDERED;

    #[inline(always)]
    fn look(&self, node: &Node, known: Self::Known) -> (u32, [Self::Known; WIDTH]) {
        self.visitor.look(node, known)
    }

    #[inline(always)]
    fn is_beyond(&self, near: Self::Known) -> bool {
        self.visitor.is_beyond(near)
    }

    #[inline(always)]
    fn take(&mut self, id: u32, aabb: &Aabb) {
        if (self.meets)(id) {
            self.visitor.take(id, aabb);
        }
    }

    #[inline(always)]
    fn is_done(&self) -> bool {
        self.visitor.is_done()
    }
}

/// Appends an answer. Exhausted memory is an error instead of an abort.
///
/// # Errors
/// [`Error::OutOfMemory`].
#[inline]
pub fn push<T>(list: &mut Vec<T>, value: T) -> Result<(), Error> {
    if list.len() == list.capacity() {
        reserve(list, 1)?;
    }
    list.push(value);
    Ok(())
}

/// Appends answers.
///
/// # Errors
/// [`Error::OutOfMemory`].
pub fn extend<T>(list: &mut Vec<T>, values: impl ExactSizeIterator<Item = T>) -> Result<(), Error> {
    reserve(list, values.len())?;
    list.extend(values);
    Ok(())
}
