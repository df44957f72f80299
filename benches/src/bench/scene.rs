//! The scenes that are measured: kinds, in all sizes or in one, and files.

use crate::scenes::{Kind, SceneName, npy};
use anyhow::{Result, anyhow, bail};
use broadsweep::Aabb;

/// A scene as it is typed: `KIND` in all sizes, `KIND:N` in one, or a file.
#[derive(Clone, PartialEq)]
pub enum Scene {
    /// A kind in all sizes.
    Kind(Kind),
    /// A kind in one size, or a file.
    Named(SceneName),
}

impl Scene {
    /// Reads what was typed.
    ///
    /// # Errors
    /// If there is no such kind, or the file is of a sort that is not measured.
    pub fn parse(text: &str) -> Result<Self> {
        if let Ok(kind) = text.parse() {
            return Ok(Self::Kind(kind));
        }
        match text.parse()? {
            SceneName::File(path) if !path.exists() && !text.contains(['.', '/', '\\']) => {
                // More likely a kind than a file; the message lists them.
                Err(text.parse::<Kind>().map_or_else(Into::into, |_| anyhow!("{text}")))
            }
            SceneName::File(path) if path.extension().is_some_and(|extension| extension == "npz") => {
                bail!(
                    "{text} may have filters, which most engines of the benchmark do not take; give the boxes as .npy"
                )
            }
            name => Ok(Self::Named(name)),
        }
    }

    /// Returns the scene as it is typed.
    pub fn name(&self) -> String {
        match self {
            Self::Kind(kind) => kind.to_string(),
            Self::Named(name) => name.to_string(),
        }
    }

    fn kind(&self) -> Option<Kind> {
        match self {
            Self::Kind(kind) | Self::Named(SceneName::Kind { kind, .. }) => Some(*kind),
            Self::Named(SceneName::File(_)) => None,
        }
    }

    /// Returns whether the steps of the scene differ.
    pub fn moves(&self) -> bool {
        self.kind().is_some_and(Kind::moves)
    }

    /// Returns the name without the number of boxes, which is a column of its own.
    pub fn title(&self) -> String {
        self.kind().map_or_else(|| self.name(), |kind| kind.to_string())
    }

    /// Creates the boxes that come `step` steps after the usual ones.
    pub fn boxes(&self, n: u32, seed: u64, step: u32) -> Result<Vec<Aabb>> {
        match self {
            // True if there is the memory was found out with the usual boxes.
            Self::Kind(kind) | Self::Named(SceneName::Kind { kind, .. }) if step > 0 => {
                Ok(kind.generate_step(n as usize, seed, kind.usual_step() + step))
            }
            Self::Kind(kind) => Ok(SceneName::Kind { kind: *kind, n }.boxes(seed)?),
            Self::Named(name) => Ok(name.boxes(seed)?),
        }
    }

    /// Returns whether this is the scene of that title, in a size that it is measured in.
    pub fn is(&self, title: &str, boxes: u64, sizes: &[u32]) -> bool {
        let has_size = match self {
            Self::Kind(_) => sizes.iter().any(|n| u64::from(*n) == boxes),
            Self::Named(SceneName::Kind { n, .. }) => u64::from(*n) == boxes,
            Self::Named(SceneName::File(_)) => true,
        };
        has_size && self.title() == title
    }

    /// Finds out, before any long work, whether a file has boxes. A pipe or a device can be read only once.
    pub fn check(&self) -> Result<()> {
        match self {
            Self::Named(SceneName::File(path)) if !path.exists() || path.is_file() => {
                npy::read_boxes(path)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns the numbers of boxes; an estimate where a file has to be read first.
    pub fn sizes(&self, sizes: &[u32]) -> Vec<u32> {
        match self {
            Self::Kind(_) => sizes.to_vec(),
            Self::Named(SceneName::Kind { n, .. }) => vec![*n],
            Self::Named(SceneName::File(path)) => {
                let bytes = std::fs::metadata(path).map_or(0, |file| file.len());
                vec![u32::try_from(bytes / size_of::<Aabb>() as u64).unwrap_or(u32::MAX)]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scene_is_a_kind_a_kind_and_a_number_or_a_file() {
        assert!(matches!(Scene::parse("city").unwrap(), Scene::Kind(Kind::City)));
        assert!(matches!(Scene::parse("city:50").unwrap(), Scene::Named(SceneName::Kind { n: 50, .. })));
        assert!(matches!(Scene::parse("city.npy").unwrap(), Scene::Named(SceneName::File(_))));
        assert!(Scene::parse("cloud").err().unwrap().to_string().contains("there is no scene called \"cloud\""));
        assert!(Scene::parse("cloud:5").is_err());
        assert!(Scene::parse("city.npz").err().unwrap().to_string().contains("give the boxes as .npy"));
    }
}
