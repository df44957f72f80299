//! Where results go: whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use tempfile::NamedTempFile;

/// `text` on standard output.
pub fn print(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).context("cannot write to standard output")
}

/// A place that an array can be written to.
#[derive(PartialEq)]
pub enum Output {
    /// Standard output.
    Stdout,
    /// A device or a pipe, written to as it is: there is nothing to replace.
    Special(PathBuf),
    /// A file, perhaps of an older result.
    File(PathBuf),
}

impl Output {
    /// Finds out, before any long work, whether `path` can be written. `-` is standard output.
    pub fn check(path: &Path) -> Result<Self> {
        Self::open(path).with_context(|| format!("cannot write {}", path.display()))
    }

    fn open(path: &Path) -> Result<Self> {
        if path == "-" || path == "/dev/stdout" {
            return Ok(Self::Stdout);
        }
        // A link stays a link: what it leads to is replaced.
        let path = resolved(path).unwrap_or_else(|| path.to_owned());
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => bail!("it is a directory"),
            Ok(metadata) if !metadata.is_file() || path.starts_with("/dev") => {
                return Ok(Self::Special(path));
            }
            // Renaming would replace a file that may not be written to.
            Ok(_) => drop(OpenOptions::new().write(true).open(&path)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let directory = directory(&path);
                ensure!(directory.is_dir(), "there is no directory {}", directory.display());
            }
            Err(error) => return Err(error.into()),
        }
        temporary(&path)?;
        Ok(Self::File(path))
    }

    /// Whether this is standard output, where a report would spoil the array.
    pub fn is_stdout(&self) -> bool {
        matches!(self, Self::Stdout)
    }

    /// Whether this is the same file as `path`.
    pub fn is_file(&self, path: &Path) -> bool {
        match self {
            Self::File(own) => fs::canonicalize(path).is_ok_and(|other| *own == other),
            Self::Stdout | Self::Special(_) => false,
        }
    }

    /// Writes what `fill` gives. A file gets its name once all of it is on the disk.
    pub fn write<T>(&self, fill: impl FnOnce(&mut dyn Write) -> Result<T>) -> Result<T> {
        let (written, place) = match self {
            Self::Stdout => (buffered(io::stdout().lock(), fill), "to standard output".to_owned()),
            Self::Special(path) => {
                let file = OpenOptions::new().write(true).open(path);
                (file.map_err(Into::into).and_then(|file| buffered(file, fill)), path.display().to_string())
            }
            Self::File(path) => (replace(path, fill), path.display().to_string()),
        };
        // What `fill` failed at may have nothing to do with the place.
        written.map_err(|error| match error.is::<io::Error>() {
            true => error.context(format!("cannot write {place}")),
            false => error,
        })
    }

    /// Where there is room for something of the size of the result.
    pub fn directory(&self) -> PathBuf {
        match self {
            Self::File(path) => directory(path).to_owned(),
            Self::Stdout | Self::Special(_) => std::env::temp_dir(),
        }
    }
}

fn buffered<T>(to: impl Write, fill: impl FnOnce(&mut dyn Write) -> Result<T>) -> Result<T> {
    let mut writer = BufWriter::with_capacity(1 << 20, to);
    let value = fill(&mut writer)?;
    writer.flush()?;
    Ok(value)
}

fn replace<T>(path: &Path, fill: impl FnOnce(&mut dyn Write) -> Result<T>) -> Result<T> {
    let mut file = temporary(path)?;
    let value = buffered(file.as_file_mut(), fill)?;
    if let Ok(metadata) = fs::metadata(path) {
        file.as_file().set_permissions(metadata.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    // The new name survives a power cut only once the directory is on the disk too. Not every file system
    // lets a directory be synchronised, and the file is whole either way.
    if cfg!(unix) {
        let _ = File::open(directory(path)).and_then(|directory| directory.sync_all());
    }
    Ok(value)
}

/// An unnamed-to-be file beside `path`, which goes when it is dropped.
fn temporary(path: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".broadsweep-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Less what the umask takes away, as for any new file; the default would be private to its owner.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(directory(path))
}

/// Where `path` leads to, the same for every way to write it; of a file that is to come, too.
fn resolved(path: &Path) -> Option<PathBuf> {
    let of_new = || Some(fs::canonicalize(directory(path)).ok()?.join(path.file_name()?));
    fs::canonicalize(path).ok().or_else(of_new)
}

fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != "" => parent,
        _ => Path::new("."),
    }
}
