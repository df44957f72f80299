//! Scenes by name, whatever they are read from.

use std::io::{self, BufRead, Read};
use std::path::Path;

use anyhow::{Result, anyhow};
use broadsweep::{Aabb, Filters};
use laboratory::scenes::{SceneName, npy};

use crate::npz;

/// Reads boxes and filters from a file, from standard input (`-`), or of a scene (`KIND:N`), which has none.
pub fn read(scene: &Path) -> Result<(Vec<Aabb>, Filters)> {
    if scene.as_os_str() == "-" {
        return read_stdin().map_err(|error| anyhow!("cannot read -: {error:#}"));
    }
    if has_extension(scene, "npz") {
        return npz::read(scene);
    }
    let source = match scene.to_str() {
        // A file that is there is that file, whatever its name.
        Some(text) if !scene.exists() && !has_extension(scene, "npy") => text.parse()?,
        _ => SceneName::File(scene.to_owned()),
    };
    Ok((source.boxes(1)?, Filters::default()))
}

/// Tells whether the name of a file ends in a point and `extension`, in upper or lower case.
pub fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|own| own.eq_ignore_ascii_case(extension))
}

/// Reads standard input, where an .npz is known by its first bytes.
fn read_stdin() -> Result<(Vec<Aabb>, Filters)> {
    let mut stdin = io::stdin().lock();
    if stdin.fill_buf()?.starts_with(b"PK") {
        let mut bytes = Vec::new();
        stdin.read_to_end(&mut bytes)?;
        return npz::read_bytes(bytes);
    }
    Ok((npy::read_boxes_from(stdin, None)?, Filters::default()))
}
