//! Compares a broad phase with Avian's own, on the same state, in every step.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::time::Duration;

use avian3d::collision::CollisionDiagnostics;
use avian3d::collision::contact_types::ContactEdge;
use avian3d::prelude::*;
use bevy::ecs::system::SystemParamItem;
use bevy::prelude::*;

/// Runs Avian's broad phase on a copy of the contact graph before the broad phase in use, and compares the pairs of
/// both in every step: colliders and their order, bodies, and flags. Hooks are called by both.
pub struct CheckPlugin<H: CollisionHooks = ()>(PhantomData<H>);

impl<H: CollisionHooks> Default for CheckPlugin<H> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<H: CollisionHooks + 'static> Plugin for CheckPlugin<H>
where
    for<'w, 's> SystemParamItem<'w, 's, H>: CollisionHooks,
{
    fn build(&self, app: &mut App) {
        // Avian's system is private: the plugin adds it to an app of its own, whose schedule then runs in this one.
        let mut other = App::new();
        other.add_plugins(BvhBroadPhasePlugin::<H>::default());
        let schedule = other.world_mut().resource_mut::<Schedules>().remove(PhysicsSchedule).unwrap_or_default();
        app.insert_resource(AvianSearch { schedule, pairs: Pairs::new(), time: Duration::ZERO })
            .init_resource::<CheckReport>()
            .add_systems(
                PhysicsSchedule,
                (
                    search_with_avian
                        .after(avian3d::collider_tree::ColliderTreeSystems::UpdateAabbs)
                        .before(BroadPhaseSystems::CollectCollisions)
                        .in_set(PhysicsStepSystems::BroadPhase)
                        .ambiguous_with_all(),
                    compare.in_set(BroadPhaseSystems::Last).ambiguous_with_all(),
                ),
            );
    }
}

/// The results of the comparison of all steps.
#[derive(Resource, Clone, Debug, Default)]
pub struct CheckReport {
    /// The steps that were compared.
    pub steps: usize,
    /// The pairs in the contact graph, in all steps together.
    pub pairs: usize,
    /// The pairs that were added to it, in all steps together.
    pub added: usize,
    /// The steps with other pairs than Avian's.
    pub steps_that_differ: usize,
    /// The difference in the first of these steps.
    pub first_difference: Option<String>,
    /// The time of Avian's broad phase in each step.
    pub avian: Vec<Duration>,
    /// The time of the broad phase that was compared with it in each step.
    pub other: Vec<Duration>,
}

/// By colliders in their order: bodies, and the flags of edge and pair.
type Pairs = HashMap<(Entity, Entity), (Option<Entity>, Option<Entity>, u32, u32)>;

#[derive(Resource)]
struct AvianSearch {
    schedule: Schedule,
    pairs: Pairs,
    time: Duration,
}

fn search_with_avian(world: &mut World) {
    world.resource_scope(|world, mut avian: Mut<AvianSearch>| {
        let before = world.resource::<ContactGraph>().clone();
        let count = before.active_pairs().len();
        let time = world.resource::<CollisionDiagnostics>().broad_phase;
        avian.schedule.run(world);
        let graph = std::mem::replace(&mut *world.resource_mut::<ContactGraph>(), before);
        avian.pairs = pairs_of(&graph);
        let mut diagnostics = world.resource_mut::<CollisionDiagnostics>();
        avian.time = std::mem::replace(&mut diagnostics.broad_phase, time).saturating_sub(time);
        let mut report = world.resource_mut::<CheckReport>();
        report.added += graph.active_pairs().len() - count;
    });
}

fn compare(
    graph: Res<ContactGraph>,
    avian: Res<AvianSearch>,
    diagnostics: Res<CollisionDiagnostics>,
    mut report: ResMut<CheckReport>,
) {
    let pairs = pairs_of(&graph);
    report.steps += 1;
    report.pairs += pairs.len();
    report.avian.push(avian.time);
    report.other.push(diagnostics.broad_phase);
    if pairs == avian.pairs {
        return;
    }
    report.steps_that_differ += 1;
    let missing = avian.pairs.iter().find(|(key, values)| pairs.get(*key) != Some(values));
    let excess = pairs.iter().find(|(key, values)| avian.pairs.get(*key) != Some(values));
    let (step, ours, theirs) = (report.steps, pairs.len(), avian.pairs.len());
    report.first_difference.get_or_insert_with(|| {
        format!("step {step}: {ours} pairs, Avian {theirs}; Avian alone has {missing:?}, only here is {excess:?}")
    });
}

fn pairs_of(graph: &ContactGraph) -> Pairs {
    let all = graph.iter_active().chain(graph.iter_sleeping());
    all.map(|pair| {
        let edge = graph.get_edge_by_id(pair.contact_id).map_or(0, |edge: &ContactEdge| edge.flags.bits());
        ((pair.collider1, pair.collider2), (pair.body1, pair.body2, edge.into(), pair.flags.bits().into()))
    })
    .collect()
}
