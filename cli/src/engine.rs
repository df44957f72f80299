//! The engines that there are, by the names that they have on the command line.

use std::ffi::OsStr;

use anyhow::{Result, anyhow};
use broadsweep::Gpu;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Command};
use laboratory::engine::Engine;

use crate::advice;

/// Parses `--engine` and `--engines`.
pub fn parser() -> impl TypedValueParser<Value = Engine> {
    let values = Engine::all().into_iter().map(|engine| PossibleValue::new(engine.name()).help(engine.description()));
    Names(PossibleValuesParser::new(values)).map(|name| {
        // Unknown engines were refused earlier.
        Engine::all().into_iter().find(|engine| engine.name() == name).unwrap_or(Engine::Cpu)
    })
}

/// A parser of engine names. Where another name is typed, a build without other libraries tells where they are.
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

/// Opens the GPU whose name contains `adapter`, or the one that the system prefers.
pub fn headless(adapter: Option<&str>) -> Result<Gpu> {
    let gpu = match adapter {
        Some(name) => Gpu::headless_named(name),
        None => Gpu::headless(),
    };
    gpu.map_err(|error| anyhow!(advice::in_flags(&error)))
}
