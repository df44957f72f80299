//! Avian's broad phase on broadsweep's CPU engine, in one file: copy it into a game, or depend on this package.
//!
//! Avian keeps the *enlarged* box of each collider in a tree for each kind of body, as a *proxy*, and lists the proxies
//! that *moved* since the last step: those that left their enlarged box or are new. A broad phase adds to the contact
//! graph the pairs of a moved proxy and any other whose boxes overlap, if Avian's rules accept them; the narrow phase
//! removes pairs whose boxes no longer overlap. Both broad phases find the same pairs, and pass them to hooks in the
//! same order of the two colliders.
//!
//! Here, proxies that rest are in one [`cpu::Tree`], and all others, which are *loose*, in a second one. A step updates
//! the boxes of moved proxies, refits the second tree, and queries both with the moved proxies. If most loose proxies
//! moved, [`cpu::BroadPhase`] searches them instead, with filters: two proxies that did not move count as two that
//! sleep.
//!
//! A game that restores [`ColliderTrees`] from a snapshot has to reset [`BroadPhaseCache`].

use std::marker::PhantomData;

use avian3d::collider_tree::{
    ColliderTreeProxy, ColliderTreeProxyFlags as Flags, ColliderTreeProxyKey as Key, ColliderTreeType, ColliderTrees,
    MovedProxies, ProxyId,
};
use avian3d::collision::CollisionDiagnostics;
use avian3d::collision::contact_types::ContactEdgeFlags;
use avian3d::data_structures::pair_key::PairKey;
use avian3d::dynamics::solver::joint_graph::JointGraph;
use avian3d::prelude::*;
use bevy::ecs::entity::EntityHashSet;
use bevy::ecs::system::{StaticSystemParam, SystemParam, SystemParamItem};
use bevy::platform::time::Instant;
use bevy::prelude::*;
use broadsweep::filter::GroupRule;
use broadsweep::{Aabb, Error, Filters, Options, cpu};
use rayon::prelude::*;

/// The steps after which a proxy that has not moved belongs in the tree of those that rest. Proxies of static bodies
/// belong there at once.
const RESTING_STEPS: u64 = 64;

/// The steps between two decisions whether the tree of resting proxies is worth a build. With fewer, builds take more
/// time than they save.
const DECISION_STEPS: u64 = 16;

/// The growth of the loose tree beyond which it is built again: queries then take longer than a build.
const GROWTH: f64 = 1.5;

/// The most loose proxies that are all tested against each other, without the threads of rayon's pool: to wake them
/// takes longer.
const ALONE: usize = 256;

/// The moved proxies that one task queries. A tree answers them in their order, and does not sort them.
const MOVED_PER_TASK: usize = 256;

/// The pairs of a search that are worth a task of their own.
const PAIRS_PER_TASK: usize = 1 << 10;

/// The result of a search.
type Found<T> = std::result::Result<T, Error>;

/// Finds Avian's pairs with broadsweep, in place of [`BvhBroadPhasePlugin`], with the same hooks.
///
/// ```ignore
/// app.add_plugins(
///     PhysicsPlugins::default()
///         .build()
///         .disable::<BvhBroadPhasePlugin>()
///         .add(BroadsweepBroadPhasePlugin::<()>::default()),
/// );
/// ```
pub struct BroadsweepBroadPhasePlugin<H: CollisionHooks = ()>(PhantomData<H>);

impl<H: CollisionHooks> Default for BroadsweepBroadPhasePlugin<H> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<H: CollisionHooks + 'static> Plugin for BroadsweepBroadPhasePlugin<H>
where
    for<'w, 's> SystemParamItem<'w, 's, H>: CollisionHooks,
{
    fn build(&self, app: &mut App) {
        app.init_resource::<BroadPhaseCache>().add_observer(note_detached).add_systems(
            PhysicsSchedule,
            (
                begin_step.in_set(PhysicsStepSystems::First),
                collect_pairs::<H>.in_set(BroadPhaseSystems::CollectCollisions),
            ),
        );
    }

    fn finish(&self, app: &mut App) {
        if app.is_plugin_added::<BvhBroadPhasePlugin<H>>() {
            warn!("Avian's own broad phase runs too: disable::<BvhBroadPhasePlugin>() in PhysicsPlugins");
        }
    }
}

/// The boxes of all proxies and their trees, from step to step. The pairs do not depend on it.
///
/// Reset it after each change of [`ColliderTrees`] that Avian does not make, such as a rollback to a snapshot:
/// `world.insert_resource(BroadPhaseCache::default())`. The next step then reads all boxes.
#[derive(Resource, Default)]
pub struct BroadPhaseCache {
    search: Option<Search>,
    /// Colliders that lost their body since the last search.
    detached: EntityHashSet,
    /// True if the last step found its pairs.
    is_current: bool,
}

/// Resets the search after a step whose broad phase did not run, for example by a run condition: Avian still clears its
/// list of moved proxies.
fn begin_step(mut cache: ResMut<BroadPhaseCache>) {
    if !std::mem::take(&mut cache.is_current) {
        cache.search = None;
    }
}

/// Notes a collider that loses its body. Avian adds it to another tree, and does not change its key component.
fn note_detached(removal: On<Remove, ColliderOf>, keys: Query<&Key>, mut cache: ResMut<BroadPhaseCache>) {
    // Avian leaves colliders without a proxy as they are, such as disabled ones.
    if keys.get(removal.entity).is_ok_and(|&key| key != Key::PLACEHOLDER) {
        cache.detached.insert(removal.entity);
    }
}

/// The parts of the world that a search reads.
#[derive(SystemParam)]
struct Proxies<'w, 's> {
    trees: Res<'w, ColliderTrees>,
    moved: Res<'w, MovedProxies>,
    /// Proxies that came during the last step, which Avian does not list as moved.
    changed: Query<'w, 's, &'static Key, Changed<Key>>,
    joints: Res<'w, JointGraph>,
}

fn collect_pairs<H: CollisionHooks>(
    proxies: Proxies,
    hooks: StaticSystemParam<H>,
    mut cache: ResMut<BroadPhaseCache>,
    mut graph: ResMut<ContactGraph>,
    mut diagnostics: ResMut<CollisionDiagnostics>,
    mut commands: Commands,
) -> Result
where
    for<'w, 's> SystemParamItem<'w, 's, H>: CollisionHooks,
{
    let start = Instant::now();
    let hooks = hooks.into_inner();
    let BroadPhaseCache { search, detached, is_current } = &mut *cache;
    let unlisted = proxies.unlisted(search.is_none(), detached);
    detached.clear();
    let search = match search {
        Some(search) => search,
        none => none.insert(Search::new()?),
    };
    let mut meetings = search.find_new(&proxies, &unlisted, &graph)?;
    meetings.retain(|meeting| {
        let Meeting { first, second, .. } = meeting;
        !joint_disables(&proxies.joints, first, second)
            && (!first.flags.union(second.flags).contains(Flags::CUSTOM_FILTER)
                || hooks.filter_pairs(first.collider, second.collider, &mut commands))
    });
    for meeting in &meetings {
        add_to_graph(&mut graph, meeting.first, meeting.second);
    }
    *is_current = true;
    diagnostics.broad_phase += start.elapsed();
    Ok(())
}

impl Proxies<'_, '_> {
    /// Returns the keys of proxies whose boxes may differ from the cached ones, besides those that Avian lists as
    /// moved.
    fn unlisted(&self, is_first_step: bool, detached: &EntityHashSet) -> Vec<Key> {
        if is_first_step {
            return ColliderTreeType::ALL.into_iter().flat_map(|kind| self.of_type(kind)).map(|(key, _)| key).collect();
        }
        let mut keys: Vec<Key> = self.changed.iter().copied().collect();
        if !detached.is_empty() {
            let standalone = self.of_type(ColliderTreeType::Standalone);
            keys.extend(standalone.filter(|(_, proxy)| detached.contains(&proxy.collider)).map(|(key, _)| key));
        }
        keys.retain(|&key| self.trees.get_proxy(key).is_some());
        keys
    }

    fn of_type(&self, kind: ColliderTreeType) -> impl Iterator<Item = (Key, &ColliderTreeProxy)> {
        let proxies = self.trees.tree_for_type(kind).proxies.iter();
        proxies.map(move |(index, proxy)| (Key::new(ProxyId::new(index as u32), kind), proxy))
    }
}

/// Returns whether a joint between the two bodies disables their collisions.
fn joint_disables(joints: &JointGraph, first: &ColliderTreeProxy, second: &ColliderTreeProxy) -> bool {
    let (Some(body1), Some(body2)) = (first.body, second.body) else { return false };
    joints.joints_between(body1, body2).any(|edge| edge.collision_disabled)
}

/// Adds a pair to the contact graph as Avian does. A pair that is there already stays as it is.
fn add_to_graph(graph: &mut ContactGraph, first: &ColliderTreeProxy, second: &ColliderTreeProxy) {
    let flags = first.flags.union(second.flags);
    let mut edge = ContactEdge::new(first.collider, second.collider);
    (edge.body1, edge.body2) = (first.body, second.body);
    edge.flags.set(ContactEdgeFlags::CONTACT_EVENTS, flags.contains(Flags::CONTACT_EVENTS));
    graph.add_edge_with(edge, |pair| {
        (pair.body1, pair.body2) = (first.body, second.body);
        pair.flags.set(ContactPairFlags::MODIFY_CONTACTS, flags.contains(Flags::MODIFY_CONTACTS));
        let generates = !flags.intersects(Flags::BODY_DISABLED.union(Flags::SENSOR));
        pair.flags.set(ContactPairFlags::GENERATE_CONSTRAINTS, generates);
    });
}

/// Two proxies whose boxes overlap. The first one moved, and its query finds the second: the order that hooks see.
#[derive(Clone)]
struct Meeting<'a> {
    /// The order of meetings: the place of the first in the list of moved proxies, and the key of the second.
    order: (u32, (u8, u32)),
    first: &'a ColliderTreeProxy,
    second: &'a ColliderTreeProxy,
}

/// The state of a proxy, by its key.
#[derive(Clone, Copy)]
struct Slot {
    /// The last step in which the proxy moved. Steps begin at 1.
    moved: u64,
    /// The place in the list of moved proxies of that step.
    place: u32,
    /// The place among loose proxies, or [`NOT_LOOSE`](Self::NOT_LOOSE): the proxy rests, or was never there.
    loose: u32,
}

impl Slot {
    const NOT_LOOSE: u32 = u32::MAX;
    const NEW: Self = Self { moved: 0, place: 0, loose: Self::NOT_LOOSE };

    fn is_loose(self) -> bool {
        self.loose != Self::NOT_LOOSE
    }
}

/// The slots of all proxies, by type and id.
#[derive(Default)]
struct Slots([Vec<Slot>; 4]);

impl Slots {
    fn of(&self, key: Key) -> Slot {
        self.0[key.tree_type() as usize].get(key.id().index()).copied().unwrap_or(Slot::NEW)
    }

    fn of_mut(&mut self, key: Key) -> &mut Slot {
        let (slots, index) = (&mut self.0[key.tree_type() as usize], key.id().index());
        if index >= slots.len() {
            slots.resize(index + 1, Slot::NEW);
        }
        &mut slots[index]
    }
}

/// Proxies and a tree of their boxes.
struct Group {
    /// A proxy may be gone, or have become loose: such keys are skipped.
    keys: Vec<Key>,
    boxes: Vec<Aabb>,
    tree: cpu::Tree,
    /// True if proxies joined the group after its tree was built.
    has_joined: bool,
}

impl Group {
    fn new() -> Found<Self> {
        let mut tree = cpu::Tree::new();
        tree.build(&[])?;
        Ok(Self { keys: Vec::new(), boxes: Vec::new(), tree, has_joined: false })
    }

    /// Fits the tree to the boxes.
    fn update(&mut self) -> Found<()> {
        if self.has_joined || self.tree.refit(&self.boxes)?.growth > GROWTH {
            self.tree.build(&self.boxes)?;
            self.has_joined = false;
        }
        Ok(())
    }
}

/// The state from step to step.
struct Search {
    step: u64,
    slots: Slots,
    loose: Group,
    resting: Group,
    /// Searches loose proxies if most of them moved.
    engine: cpu::BroadPhase,
}

impl Search {
    fn new() -> Found<Self> {
        let engine = cpu::BroadPhase::new(Options::default().with_all_pairs_up_to(Some(ALONE as u32)))?;
        Ok(Self { step: 0, slots: Slots::default(), loose: Group::new()?, resting: Group::new()?, engine })
    }

    /// Finds the pairs of this step that the contact graph does not have, by all rules except joints and hooks, in a
    /// fixed order.
    fn find_new<'a>(
        &mut self,
        proxies: &'a Proxies,
        unlisted: &[Key],
        graph: &ContactGraph,
    ) -> Found<Vec<Meeting<'a>>> {
        let (trees, moved) = (&*proxies.trees, proxies.moved.proxies());
        self.step += 1;
        self.mark(trees, moved, unlisted);
        if moved.is_empty() {
            return Ok(Vec::new());
        }
        let is_small = self.loose.keys.len() <= ALONE;
        let is_swept = is_small || moved.len() > self.loose.keys.len() / 2;
        let mut search = || {
            let mut meetings = if is_swept { self.sweep(trees, graph)? } else { Vec::new() };
            if !is_swept {
                self.loose.update()?;
            }
            meetings.append(&mut self.query(moved, !is_swept, trees, graph)?);
            meetings.sort_unstable_by_key(|meeting| meeting.order);
            if self.step.is_multiple_of(DECISION_STEPS) {
                self.rebuild_if_it_pays(trees)?;
            }
            Ok(meetings)
        };
        // For much work, enter rayon's pool once, and not in each part.
        if is_small || moved.len() <= MOVED_PER_TASK { search() } else { rayon::join(search, || ()).0 }
    }

    /// Notes which proxies moved, and with which boxes. Those that moved or came are loose.
    fn mark(&mut self, trees: &ColliderTrees, moved: &[Key], unlisted: &[Key]) {
        let Self { step, slots, loose, .. } = self;
        let mut set_box = |key: Key, slot: &mut Slot| match loose.boxes.get_mut(slot.loose as usize) {
            Some(aabb) => *aabb = box_of(trees, key),
            None => {
                slot.loose = loose.keys.len() as u32;
                loose.keys.push(key);
                loose.boxes.push(box_of(trees, key));
                loose.has_joined = true;
            }
        };
        for (place, &key) in (0..).zip(moved) {
            let slot = slots.of_mut(key);
            (slot.moved, slot.place) = (*step, place);
            set_box(key, slot);
        }
        for &key in unlisted {
            set_box(key, slots.of_mut(key));
        }
    }

    /// Finds the new pairs of two loose proxies, by a search of all of them.
    fn sweep<'a>(&mut self, trees: &'a ColliderTrees, graph: &ContactGraph) -> Found<Vec<Meeting<'a>>> {
        let Self { step, slots, loose, engine, .. } = self;
        engine.set_filters(filters_of(&loose.keys, trees, slots, *step))?;
        let pairs = &engine.find_pairs(&loose.boxes)?.pairs;
        let rules = Rules { trees, slots, step: *step, graph };
        let meetings = pairs.par_iter().with_min_len(PAIRS_PER_TASK).flat_map_iter(|pair| {
            let [a, b] = [pair.a, pair.b].map(|index| loose.keys[index as usize]);
            [rules.meeting(a, b), rules.meeting(b, a)].into_iter().flatten()
        });
        Ok(meetings.collect())
    }

    /// Finds the new pairs of a moved proxy and one that rests, and if requested, one that is loose.
    fn query<'a>(
        &self,
        moved: &[Key],
        also_loose: bool,
        trees: &'a ColliderTrees,
        graph: &ContactGraph,
    ) -> Found<Vec<Meeting<'a>>> {
        let rules = Rules { trees, slots: &self.slots, step: self.step, graph };
        let groups = [(&self.resting, false), (&self.loose, true)];
        let parts = moved.par_chunks(MOVED_PER_TASK).map(|keys| {
            let boxes: Vec<Aabb> = keys.iter().map(|&key| box_of(trees, key)).collect();
            let mut meetings = Vec::new();
            for &(group, is_loose) in &groups[..1 + usize::from(also_loose)] {
                for (&key, list) in keys.iter().zip(&group.tree.overlaps(&boxes)?) {
                    let others = list.iter().map(|&index| group.keys[index as usize]);
                    let current = others.filter(|&other| is_loose == self.slots.of(other).is_loose());
                    meetings.extend(current.filter_map(|other| rules.meeting(key, other)));
                }
            }
            Ok(meetings)
        });
        Ok(parts.collect::<Found<Vec<_>>>()?.concat())
    }

    /// Puts loose proxies that rest into the tree of those, if there are enough of them.
    fn rebuild_if_it_pays(&mut self, trees: &ColliderTrees) -> Found<()> {
        let Self { step, slots, loose, resting, .. } = self;
        let is_there = |key: Key| trees.get_proxy(key).is_some();
        let rests = |key: Key, slot: Slot| is_static(key) || slot.moved + RESTING_STEPS <= *step;
        let count: usize = trees.iter_trees().map(|tree| tree.proxies.len()).sum();
        let there = loose.keys.iter().filter(|&&key| is_there(key)).count();
        let stay = loose.keys.iter().filter(|&&key| is_there(key) && !rests(key, slots.of(key))).count();
        // Proxies that went, or became loose, after they were put into the tree.
        let outdated = (resting.keys.len() + there).saturating_sub(count);
        if loose.keys.len() - stay + outdated <= count / 8 {
            return Ok(());
        }
        resting.keys.retain(|&key| is_there(key) && !slots.of(key).is_loose());
        for key in std::mem::take(&mut loose.keys) {
            let slot = slots.of_mut(key);
            slot.loose = Slot::NOT_LOOSE;
            if is_there(key) && rests(key, *slot) {
                resting.keys.push(key);
            } else if is_there(key) {
                slot.loose = loose.keys.len() as u32;
                loose.keys.push(key);
            }
        }
        for group in [loose, resting] {
            group.boxes.clear();
            group.boxes.extend(group.keys.iter().map(|&key| box_of(trees, key)));
            group.tree.build(&group.boxes)?;
            group.has_joined = false;
        }
        Ok(())
    }
}

/// Returns the rules that filters express: layers, bodies, static bodies, and that one of two proxies moved. A removed
/// proxy has no layers, so it pairs with nothing.
fn filters_of(keys: &[Key], trees: &ColliderTrees, slots: &Slots, step: u64) -> Filters {
    let proxies: Vec<_> = keys.iter().map(|&key| (trees.get_proxy(key), slots.of(key).moved == step)).collect();
    let proxies = || proxies.iter().copied();
    let fixed = |(key, (proxy, moved)): (&Key, (Option<&ColliderTreeProxy>, bool))| {
        is_static(*key) && !(moved && proxy.is_some_and(ColliderTreeProxy::is_sensor))
    };
    Filters::default()
        .with_rule(GroupRule::Both)
        .with_group(proxies().map(|(proxy, _)| proxy.map_or(0, |proxy| proxy.layers.memberships.0)).collect())
        .with_mask(proxies().map(|(proxy, _)| proxy.map_or(0, |proxy| proxy.layers.filters.0)).collect())
        // Colliders without a body have the same number: they never meet.
        .with_body(
            proxies().map(|(proxy, _)| proxy.and_then(|it| it.body).map_or(u32::MAX, Entity::index_u32)).collect(),
        )
        .with_fixed(keys.iter().zip(proxies()).map(fixed).collect())
        .with_sleeping(proxies().map(|(_, moved)| !moved).collect())
}

/// The rules of Avian's broad phase.
struct Rules<'a, 'b> {
    trees: &'a ColliderTrees,
    slots: &'b Slots,
    step: u64,
    graph: &'b ContactGraph,
}

impl<'a> Rules<'a, '_> {
    /// Returns the meeting of two proxies whose boxes overlap, if the query of the first finds the second, and if they
    /// may be a new pair.
    fn meeting(&self, first: Key, second: Key) -> Option<Meeting<'a>> {
        let [slot, other_slot] = [first, second].map(|key| self.slots.of(key));
        let moved = |slot: Slot| slot.moved == self.step;
        let (Some(a), Some(b)) = (self.trees.get_proxy(first), self.trees.get_proxy(second)) else { return None };
        let is_left_to_other = moved(other_slot) && order_of(second) < order_of(first);
        let are_static = is_static(first) && is_static(second);
        let finds = moved(slot) && (a.is_sensor() || !(is_left_to_other || are_static));
        // Colliders without a body never meet.
        let may_be_pair = finds && a.layers.interacts_with(b.layers) && a.body != b.body;
        let key = PairKey::new(a.collider.index_u32(), b.collider.index_u32());
        let is_new = may_be_pair && !self.graph.contains_key(&key) && self.overlap(first, second);
        is_new.then(|| Meeting { order: (slot.place, order_of(second)), first: a, second: b })
    }

    /// Returns whether the boxes overlap by Avian's test, in which an inverted box overlaps each box that contains all
    /// of it.
    fn overlap(&self, first: Key, second: Key) -> bool {
        let [a, b] = [first, second].map(|key| self.trees.tree_for_type(key.tree_type()).get_proxy_aabb(key.id()));
        a.zip(b).is_some_and(|(a, b)| a.intersect_aabb(&b))
    }
}

fn is_static(key: Key) -> bool {
    key.tree_type() == ColliderTreeType::Static
}

/// Avian's order of proxies: by the kind of body, then by id.
fn order_of(key: Key) -> (u8, u32) {
    (key.tree_type() as u8, key.id().id())
}

/// Returns the enlarged box of a proxy; one without a box overlaps nothing. If a negative [`CollisionMargin`] inverted
/// the box, its faces are exchanged, and [`Rules::overlap`] decides.
fn box_of(trees: &ColliderTrees, key: Key) -> Aabb {
    let Some(aabb) = trees.tree_for_type(key.tree_type()).get_proxy_aabb(key.id()) else {
        return Aabb::new([f32::NAN; 3], [f32::NAN; 3]);
    };
    let mut aabb = Aabb::from((aabb.min, aabb.max));
    for (lower, upper) in aabb.min.iter_mut().zip(&mut aabb.max).filter(|(lower, upper)| lower > upper) {
        std::mem::swap(lower, upper);
    }
    aabb
}
