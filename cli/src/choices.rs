//! The values of the options of `broadsweep pairs`, by name.

use broadsweep::filter::GroupRule;
use broadsweep::{CellSize, PairOrder, SweepAxis};

#[derive(Clone, Copy, clap::ValueEnum)]
pub enum RuleName {
    /// group_a & mask_b or group_b & mask_a is not 0: MuJoCo, ODE
    Any,
    /// Both are not 0: rapier, Bullet
    Both,
}

impl RuleName {
    pub fn rule(self) -> GroupRule {
        match self {
            Self::Any => GroupRule::Any,
            Self::Both => GroupRule::Both,
        }
    }
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
pub enum Axis {
    /// The one of the others that separates the boxes best
    Auto,
    /// The principal axis of the centroids
    Principal,
    X,
    Y,
    Z,
}

impl Axis {
    pub fn sweep_axis(self) -> SweepAxis {
        match self {
            Self::Auto => SweepAxis::Auto,
            Self::Principal => SweepAxis::Principal,
            Self::X => SweepAxis::X,
            Self::Y => SweepAxis::Y,
            Self::Z => SweepAxis::Z,
        }
    }
}

#[derive(Clone, Copy, clap::ValueEnum)]
pub enum Order {
    /// Ascending: the same file for every engine and option
    Canonical,
    /// As the sweep finds them
    Sweep,
}

impl Order {
    pub fn pair_order(self) -> PairOrder {
        match self {
            Self::Canonical => PairOrder::Canonical,
            Self::Sweep => PairOrder::Sweep,
        }
    }
}

pub fn parse_cell_size(text: &str) -> Result<CellSize, String> {
    match text {
        "auto" => Ok(CellSize::Auto),
        "usscd" => Ok(CellSize::Usscd),
        _ => match text.parse() {
            Ok(edge) if edge > 0.0 && edge < f32::INFINITY => Ok(CellSize::Fixed(edge)),
            _ => Err("it must be auto, usscd or a positive, finite number".to_owned()),
        },
    }
}
