//! The engines that there are, by the names that they have on the command line.

use std::ffi::OsStr;
use std::time::Instant;

use anyhow::{Result, anyhow};
use broadsweep::baselines::mj_sap::{self, MjSap};
use broadsweep::baselines::{self, Baseline, Entry};
use broadsweep::{Gpu, SweepAxis};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Command};

use crate::advice;

/// Names what can find pairs.
#[derive(Clone, Copy, Debug)]
pub enum Engine {
    /// The GPU.
    Gpu,
    /// The same method on the CPU.
    Cpu,
    /// The double loop.
    Brute,
    /// An algorithm of the literature.
    Baseline(&'static Entry),
    /// Another library.
    #[cfg(feature = "peers")]
    Peer(&'static broadsweep::peers::Peer),
}

impl PartialEq for Engine {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Engine {
    /// Returns every engine, ours first.
    pub fn all() -> Vec<Self> {
        let mut all = vec![Self::Gpu, Self::Cpu, Self::Brute];
        all.extend(baselines::ALL.iter().map(Self::Baseline));
        #[cfg(feature = "peers")]
        all.extend(broadsweep::peers::ALL.iter().map(Self::Peer));
        all
    }

    /// Parses `--engine` and `--engines`.
    pub fn parser() -> impl TypedValueParser<Value = Self> {
        let values = Self::all().into_iter().map(|engine| PossibleValue::new(engine.name()).help(engine.description()));
        Names(PossibleValuesParser::new(values)).map(|name| {
            // What is no name of an engine has been refused.
            Self::all().into_iter().find(|engine| engine.name() == name).unwrap_or(Self::Cpu)
        })
    }

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gpu => "gpu",
            Self::Cpu => "cpu",
            Self::Brute => "brute",
            Self::Baseline(entry) => entry.name,
            #[cfg(feature = "peers")]
            Self::Peer(peer) => peer.entry.name,
        }
    }

    /// Describes the engine in a line.
    pub fn description(self) -> &'static str {
        match self {
            Self::Gpu => "the GPU",
            Self::Cpu => "the same method on the CPU",
            Self::Brute => "every box against every other: slow, and right by definition",
            Self::Baseline(entry) => entry.description,
            #[cfg(feature = "peers")]
            Self::Peer(peer) => peer.entry.description,
        }
    }

    /// Returns the name in a sentence.
    pub fn title(self) -> &'static str {
        match self {
            Self::Gpu => "the GPU engine",
            Self::Cpu => "the CPU engine",
            Self::Brute => "brute force",
            _ => self.name(),
        }
    }

    /// Tells whether its pairs are exactly the overlapping ones: other libraries have margins and rounding of their
    /// own.
    pub fn is_exact(self) -> bool {
        match self {
            Self::Gpu | Self::Cpu | Self::Brute | Self::Baseline(_) => true,
            #[cfg(feature = "peers")]
            Self::Peer(_) => false,
        }
    }

    /// Tells whether it takes filters: algorithms of the literature and other libraries have none, or others.
    pub fn takes_filters(self) -> bool {
        matches!(self, Self::Gpu | Self::Cpu | Self::Brute)
    }

    /// Returns the most boxes that it takes, where there is such a limit.
    pub fn most_boxes(self) -> Option<usize> {
        ["mj_sap", "mj_broadphase"].contains(&self.name()).then_some(mj_sap::MOST_BOXES)
    }

    /// Makes an algorithm of the literature or another library that has seen no boxes yet; `None` for our own engines.
    /// `axis` is for those that can choose one.
    pub fn baseline(self, axis: SweepAxis) -> Option<Box<dyn Baseline>> {
        match self {
            Self::Gpu | Self::Cpu | Self::Brute => None,
            Self::Baseline(entry) => Some(match (entry.name, axis) {
                (MJ_SAP, SweepAxis::Y) => Box::new(MjSap::new(mj_sap::Axis::Y, MjSap::MAX_PAIRS)),
                (MJ_SAP, SweepAxis::Z) => Box::new(MjSap::new(mj_sap::Axis::Z, MjSap::MAX_PAIRS)),
                _ => entry.make(),
            }),
            #[cfg(feature = "peers")]
            Self::Peer(peer) => Some(peer.entry.make()),
        }
    }
}

/// Parses names of engines. To whoever types another, a build without other libraries tells where they are.
#[derive(Clone)]
struct Names(PossibleValuesParser);

impl TypedValueParser for Names {
    type Value = String;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, value: &OsStr) -> Result<String, clap::Error> {
        self.0.parse_ref(command, argument, value).map_err(|mut wrong| {
            if cfg!(not(feature = "peers")) {
                let tip = "other libraries, such as parry, are in a build with `--features peers`";
                wrong.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
            }
            wrong
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        self.0.possible_values()
    }
}

/// Names the baseline whose axis can be chosen.
pub const MJ_SAP: &str = "mj_sap";

/// Opens the GPU whose name contains `adapter`, or the one that the system prefers.
pub fn headless(adapter: Option<&str>) -> Result<Gpu> {
    let gpu = match adapter {
        Some(name) => Gpu::headless_named(name),
        None => Gpu::headless(),
    };
    gpu.map_err(|error| anyhow!(advice::in_flags(&error)))
}

/// Does `work`, and returns its result and the seconds that it took.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed().as_secs_f64())
}
