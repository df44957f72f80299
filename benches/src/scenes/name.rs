//! Boxes by name: a kind and a number, or a file.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use super::npy::{self, FileError, MOST_BOXES};
use super::{Kind, UnknownKind};
use broadsweep::Aabb;

/// The name of a scene, as it is typed: `KIND:N`, such as `clusters:1000000`, or the name of a `.npy` file.
///
/// A name with a colon is a kind and a number, unless it ends in `.npy` or `.npz` or has a `/` or `\` in it; every
/// other name is a file.
///
/// ```
/// use laboratory::scenes::{Kind, SceneName};
///
/// let name: SceneName = "clusters:1000".parse()?;
/// assert_eq!(name.boxes(1)?, Kind::Clusters.generate(1000, 1));
/// assert!("clouds:1000".parse::<SceneName>().is_err());
/// assert_eq!("scene.npy".parse::<SceneName>()?, SceneName::File("scene.npy".into()));
/// # Ok::<(), laboratory::scenes::SceneNameError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SceneName {
    /// A number of boxes of a kind.
    Kind {
        /// The kind.
        kind: Kind,
        /// The number of boxes.
        n: u32,
    },
    /// A file that [`npy::read_boxes`] reads.
    File(PathBuf),
}

impl SceneName {
    /// Creates the boxes of [`Kind::generate`] with this seed, or reads those of the file.
    ///
    /// # Errors
    /// If the file cannot be read, or there is no memory for the boxes.
    pub fn boxes(&self, seed: u64) -> Result<Vec<Aabb>, SceneNameError> {
        match self {
            Self::Kind { kind, n } => {
                let n = *n as usize;
                // The generators abort where there is no memory; this checks first.
                Vec::<Aabb>::new().try_reserve_exact(n).map_err(|_| SceneNameError::OutOfMemory { count: n })?;
                Ok(kind.generate(n, seed))
            }
            Self::File(path) => Ok(npy::read_boxes(path)?),
        }
    }
}

impl fmt::Display for SceneName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind { kind, n } => f.pad(&format!("{kind}:{n}")),
            Self::File(path) => f.pad(&path.to_string_lossy()),
        }
    }
}

impl FromStr for SceneName {
    type Err = SceneNameError;

    fn from_str(text: &str) -> Result<Self, SceneNameError> {
        match text.split_once(':') {
            Some((kind, count))
                if ![".npy", ".npz"].iter().any(|end| text.ends_with(end)) && !text.contains(['/', '\\']) =>
            {
                Ok(Self::Kind { kind: kind.parse()?, n: parse_count(count)? })
            }
            _ => Ok(Self::File(text.into())),
        }
    }
}

/// Parses the count of boxes in `KIND:N`.
///
/// # Errors
/// If it is no number, or more than a call of any engine takes.
pub fn parse_count(text: &str) -> Result<u32, SceneNameError> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let count = || text.to_owned();
    match text.parse::<u32>() {
        Ok(n) if is_number && u64::from(n) <= MOST_BOXES => Ok(n),
        _ if is_number => Err(SceneNameError::TooManyBoxes { count: count() }),
        _ => Err(SceneNameError::Count { count: count() }),
    }
}

/// The reason why a text is no [`SceneName`], or why the scene has no boxes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SceneNameError {
    /// The text before the colon is no kind.
    #[error(transparent)]
    UnknownKind(#[from] UnknownKind),
    /// The text behind the colon is no number.
    #[error("{count:?} is no number of boxes; write a whole number, such as 1000000")]
    Count {
        /// The text.
        count: String,
    },
    /// The number is above the limit of every engine.
    #[error("{count} boxes are too many: a call takes at most {MOST_BOXES}; give a smaller number")]
    TooManyBoxes {
        /// The number, which can be too long for any type.
        count: String,
    },
    /// The file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The system has no memory for this many boxes.
    #[error("{count} boxes need {} bytes of memory, which the system does not have", *count as u64 * 24)]
    OutOfMemory {
        /// Boxes requested.
        count: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_parses_back_from_what_it_prints() {
        for text in [
            "uniform:0",
            "free-fall:33554432",
            "a.npy",
            "-",
            "C:\\a:b",
            "/tmp/uniform:5",
            "uniform:5.npy",
            "uniform:5.npz",
            "",
        ] {
            let name: SceneName = text.parse().unwrap();
            assert_eq!(name.to_string(), text);
            assert_eq!(matches!(name, SceneName::Kind { .. }), text.starts_with(['u', 'f']) && !text.contains(".np"));
        }
    }

    #[test]
    fn what_is_neither_is_refused_with_what_there_is() {
        for (text, expected) in [
            ("cloud:5", "there is no scene called \"cloud\"; there are uniform, "),
            (":5", "there is no scene called \"\""),
            ("uniform:", "\"\" is no number of boxes"),
            ("uniform:-1", "\"-1\" is no number of boxes"),
            ("uniform:+1", "\"+1\" is no number of boxes"),
            ("uniform:33554433", "33554433 boxes are too many: a call takes at most 33554432; give a smaller number"),
            (
                "uniform:5000000000",
                "5000000000 boxes are too many: a call takes at most 33554432; give a smaller number",
            ),
            ("uniform:99999999999999999999999", "99999999999999999999999 boxes are too many"),
            ("uniform:1:2", "\"1:2\" is no number of boxes"),
        ] {
            let message = text.parse::<SceneName>().unwrap_err().to_string();
            assert!(message.starts_with(expected), "{message}");
        }
    }
}
