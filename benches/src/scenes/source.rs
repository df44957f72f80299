//! Boxes by name: a kind and a number, or a file.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use super::npy::{self, FileError};
use super::{Kind, UnknownKind};
use broadsweep::Aabb;

/// Where boxes come from, as it is typed: `KIND:N`, such as `clusters:1000000`, or the name of a `.npy` file.
///
/// What has a colon is a kind and a number, unless it ends in `.npy` or `.npz` or has a `/` or `\` in it; all else is a
/// file.
///
/// ```
/// use laboratory::scenes::{Kind, Source};
///
/// let source: Source = "clusters:1000".parse()?;
/// assert_eq!(source.boxes(1)?, Kind::Clusters.generate(1000, 1));
/// assert!("clouds:1000".parse::<Source>().is_err());
/// assert_eq!("scene.npy".parse::<Source>()?, Source::File("scene.npy".into()));
/// # Ok::<(), laboratory::scenes::SourceError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// So many boxes of a kind.
    Kind {
        /// What they are like.
        kind: Kind,
        /// How many.
        n: u32,
    },
    /// A file that [`npy::read_boxes`] reads.
    File(PathBuf),
}

impl Source {
    /// The boxes: those of [`Kind::generate`] with this seed, or those of the file.
    ///
    /// # Errors
    /// If the file cannot be read, or there is no memory for so many boxes.
    pub fn boxes(&self, seed: u64) -> Result<Vec<Aabb>, SourceError> {
        match self {
            Self::Kind { kind, n } => {
                let n = *n as usize;
                // The generators abort where there is no memory; this asks first.
                Vec::<Aabb>::new().try_reserve_exact(n).map_err(|_| SourceError::OutOfMemory { count: n })?;
                Ok(kind.generate(n, seed))
            }
            Self::File(path) => Ok(npy::read_boxes(path)?),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind { kind, n } => f.pad(&format!("{kind}:{n}")),
            Self::File(path) => f.pad(&path.to_string_lossy()),
        }
    }
}

impl FromStr for Source {
    type Err = SourceError;

    fn from_str(text: &str) -> Result<Self, SourceError> {
        match text.split_once(':') {
            Some((kind, count))
                if ![".npy", ".npz"].iter().any(|end| text.ends_with(end)) && !text.contains(['/', '\\']) =>
            {
                Ok(Self::Kind {
                    kind: kind.parse()?,
                    n: count.parse().map_err(|_| SourceError::Count { count: count.to_owned() })?,
                })
            }
            _ => Ok(Self::File(text.into())),
        }
    }
}

/// Why a [`Source`] is none, or has no boxes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// What stands before the colon.
    #[error(transparent)]
    UnknownKind(#[from] UnknownKind),
    /// What stands behind the colon.
    #[error("{count:?} is no number of boxes; write KIND:N, such as uniform:1000000")]
    Count {
        /// What was asked for.
        count: String,
    },
    /// The file.
    #[error(transparent)]
    File(#[from] FileError),
    /// The system has no memory for so many boxes.
    #[error("{count} boxes need {} bytes of memory, which could not be had", *count as u64 * 24)]
    OutOfMemory {
        /// Boxes asked for.
        count: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_parses_back_from_what_it_prints() {
        for text in [
            "uniform:0",
            "free-fall:4294967295",
            "a.npy",
            "-",
            "C:\\a:b",
            "/tmp/uniform:5",
            "uniform:5.npy",
            "uniform:5.npz",
            "",
        ] {
            let source: Source = text.parse().unwrap();
            assert_eq!(source.to_string(), text);
            assert_eq!(matches!(source, Source::Kind { .. }), text.starts_with(['u', 'f']) && !text.contains(".np"));
        }
    }

    #[test]
    fn what_is_neither_is_refused_with_what_there_is() {
        for (text, expected) in [
            ("cloud:5", "there is no scene called \"cloud\"; there are uniform, "),
            (":5", "there is no scene called \"\""),
            ("uniform:", "\"\" is no number of boxes"),
            ("uniform:-1", "\"-1\" is no number of boxes"),
            ("uniform:4294967296", "\"4294967296\" is no number of boxes"),
            ("uniform:1:2", "\"1:2\" is no number of boxes"),
        ] {
            let message = text.parse::<Source>().unwrap_err().to_string();
            assert!(message.starts_with(expected), "{message}");
        }
    }
}
