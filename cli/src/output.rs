//! Where results go, whole or not at all, and where messages go.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::temporary::Temporary;
use crate::text;

/// Links that are followed before they are taken for a circle; as many as Linux follows.
const MOST_LINKS: usize = 40;

/// Prints `text`, of any number of lines, on standard output.
pub fn print(text: &str) -> Result<()> {
    let text = text::printable_lines(text);
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).context("cannot write to standard output")
}

/// Prints a report: on standard output, unless results go there, which it would spoil.
pub fn print_report<'a>(report: &str, results: impl IntoIterator<Item = &'a Output>) -> Result<()> {
    if !results.into_iter().any(Output::is_stdout) {
        return print(report);
    }
    let report = text::printable_lines(report);
    io::stderr().write_all(report.as_bytes()).context("cannot write to standard error")
}

/// Prints a line on standard error. Where standard error is closed or full, there is nobody left to tell.
pub fn say(message: &str) {
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let _ = writeln!(io::stderr(), "{}", text::printable(&line));
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
        Self::open(path).with_context(|| format!("cannot write {}", text::path(path)))
    }

    fn open(path: &Path) -> Result<Self> {
        if ["-", "/dev/stdout"].iter().any(|name| path.as_os_str() == *name) {
            ensure!(!is_stdout_closed(), "standard output is closed");
            return Ok(Self::Stdout);
        }
        if fs::metadata(path).is_ok_and(|metadata| !metadata.is_dir() && !metadata.is_file()) {
            return Ok(Self::Special(path.to_owned()));
        }
        // A link stays a link: what it leads to is replaced, or made.
        let path = resolved(path)?;
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => bail!("it is a directory; give a file"),
            // A file descriptor that the shell opened.
            Ok(_) if path.starts_with("/dev/fd") => return Ok(Self::Special(path)),
            // Renaming would replace a file that may not be written to.
            Ok(_) => drop(OpenOptions::new().write(true).open(&path)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let directory = directory(&path);
                ensure!(directory.is_dir(), "there is no directory {}; create it first", text::path(directory));
            }
            Err(error) => return Err(error.into()),
        }
        Temporary::create_in(directory(&path))?;
        Ok(Self::File(path))
    }

    /// Tells whether this is standard output, where a report would spoil the array.
    pub fn is_stdout(&self) -> bool {
        matches!(self, Self::Stdout)
    }

    /// Tells whether this is the same file as `path`.
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
                (file.map_err(Into::into).and_then(|file| buffered(file, fill)), text::path(path))
            }
            Self::File(path) => (replace(path, fill), text::path(path)),
        };
        // An error of `fill` need not concern the output file.
        written.map_err(|error| match error.is::<io::Error>() {
            true => error.context(format!("cannot write {place}")),
            false => error,
        })
    }

    /// Returns a directory where there is room for something of the size of the result.
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
    let mut temporary = Temporary::create_in(directory(path))?;
    let file = temporary.file();
    let value = buffered(&mut *file, fill)?;
    if let Ok(metadata) = fs::metadata(path) {
        file.set_permissions(metadata.permissions())?;
    }
    file.sync_all()?;
    temporary.become_result(path, directory(path))?;
    // The new name survives a power cut only once the directory is on the disk too. Not every file system
    // lets a directory be synchronised, and the file is whole either way.
    if cfg!(unix) {
        let _ = File::open(directory(path)).and_then(|directory| directory.sync_all());
    }
    Ok(value)
}

/// Returns where `path` leads to, the same for every way to write it; also of a file that is to come, and of one that a
/// link leads to.
fn resolved(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::canonicalize(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            resolved => return resolved,
        }
        let Ok(target) = fs::read_link(&path) else {
            let parent = fs::canonicalize(directory(&path)).ok();
            return Ok(parent.zip(path.file_name()).map(|(parent, name)| parent.join(name)).unwrap_or(path));
        };
        path = directory(&path).join(target);
    }
    Err(io::Error::other("too many symbolic links"))
}

fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent.as_os_str() != "" => parent,
        _ => Path::new("."),
    }
}

/// Tells whether the process was started without standard output. Rust opens `/dev/null` in its place before `main`, to
/// read and to write; where results are thrown away on purpose, a shell opens it to write alone.
#[cfg(unix)]
fn is_stdout_closed() -> bool {
    use std::os::unix::fs::MetadataExt;

    let is_null = match (fs::metadata("/dev/fd/1"), fs::metadata("/dev/null")) {
        (Ok(own), Ok(null)) => own.rdev() == null.rdev() && !own.is_file(),
        _ => return false,
    };
    let mode = rustix::fs::fcntl_getfl(io::stdout()).map(|flags| flags & rustix::fs::OFlags::RWMODE);
    is_null && mode == Ok(rustix::fs::OFlags::RDWR)
}

#[cfg(not(unix))]
fn is_stdout_closed() -> bool {
    false
}
