//! Files on their way to become results: without a name until they are whole, where the system has such files.
//!
//! On Linux, `O_TMPFILE` makes a file that no directory lists and that is gone with the process, however that ends, and
//! `linkat` gives it its name. Since `linkat` replaces nothing, an older result is replaced by linking under a second
//! name and renaming that at once: between those two system calls, and never else, a process that is killed leaves a
//! file.
//!
//! Where the system or the file system has no such files, they have a name from the beginning; signals that end the
//! process remove them first (`SIGKILL` cannot be caught). The benchmark handles its signals itself.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use tempfile::NamedTempFile;

/// A file that becomes a result, or that nothing is left of.
pub enum Temporary {
    /// A file without a name.
    #[cfg(target_os = "linux")]
    Unnamed(File),
    /// A file with a name of its own.
    Named(NamedTempFile),
}

impl Temporary {
    /// Creates an empty file in a directory.
    pub fn create_in(directory: &Path) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        if let Some(file) = unnamed::create_in(directory) {
            return Ok(Self::Unnamed(file));
        }
        Ok(Self::Named(create_named_in(directory)?))
    }

    /// Returns the file, to be written.
    pub fn file(&mut self) -> &mut File {
        match self {
            #[cfg(target_os = "linux")]
            Self::Unnamed(file) => file,
            Self::Named(file) => file.as_file_mut(),
        }
    }

    /// Gives the file its name, in the directory that it was created in. An older file of that name is replaced.
    pub fn become_result(self, path: &Path, directory: &Path) -> io::Result<()> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Unnamed(file) => match unnamed::link(&file, path) {
                Ok(()) => Ok(()),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    let named = builder().make_in(directory, |name| unnamed::link(&file, name))?;
                    named.persist(path).map_err(|error| error.error)
                }
                // A file system that makes such files and does not name them.
                Err(_) => persist(copy_named(file, directory)?, path),
            },
            Self::Named(file) => persist(file, path),
        }
    }
}

fn persist(file: NamedTempFile, path: &Path) -> io::Result<()> {
    file.persist(path).map(drop).map_err(|error| error.error)
}

fn builder() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".broadsweep-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Less what the umask takes away, as for any new file; the default would be private to its owner.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder
}

/// Creates a file with a name, and sees to it that signals remove it.
fn create_named_in(directory: &Path) -> io::Result<NamedTempFile> {
    if REMOVES_ON_SIGNALS.load(Ordering::Relaxed) {
        static WATCH: Once = Once::new();
        WATCH.call_once(signals::watch);
    }
    // The lock is held until the name is listed, so no file exists without its name in the list.
    let mut names = names();
    let file = builder().tempfile_in(directory)?;
    names.push(file.path().to_owned());
    Ok(file)
}

/// Copies a file without a name to one that has one.
#[cfg(target_os = "linux")]
fn copy_named(mut file: File, directory: &Path) -> io::Result<NamedTempFile> {
    use std::io::{Seek, Write};

    let mut named = create_named_in(directory)?;
    file.rewind()?;
    io::copy(&mut file, &mut named)?;
    named.as_file().set_permissions(file.metadata()?.permissions())?;
    named.flush()?;
    named.as_file().sync_all()?;
    Ok(named)
}

/// True once signals remove files that have a name.
static REMOVES_ON_SIGNALS: AtomicBool = AtomicBool::new(false);

/// Makes files that have a name be removed when the user or the system ends the process.
pub fn remove_on_signals() {
    REMOVES_ON_SIGNALS.store(true, Ordering::Relaxed);
}

/// Makes a file that grows past what the system allows a failed write, and not the end of the process.
pub fn report_full_files() {
    #[cfg(unix)]
    // Whoever cannot have the handler is ended by the signal, as before.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default());
}

/// Returns the names that files had, those of finished files among them: they are random, and do not come back.
fn names() -> MutexGuard<'static, Vec<PathBuf>> {
    static NAMES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
    NAMES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all files that have a name. None is created as long as what it returns is held.
fn remove_all() -> MutexGuard<'static, Vec<PathBuf>> {
    let names = names();
    for name in names.iter() {
        let _ = fs::remove_file(name);
    }
    names
}

#[cfg(target_os = "linux")]
mod unnamed {
    use std::fs::{self, File, OpenOptions};
    use std::io;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::OpenOptionsExt;
    use std::path::Path;

    use rustix::fs::{AtFlags, CWD, OFlags, linkat};

    /// Creates a file without a name; returns `None` where there are no such files, or where they could not be named
    /// later.
    pub fn create_in(directory: &Path) -> Option<File> {
        let flags = OFlags::TMPFILE.bits() as i32;
        let file = OpenOptions::new().read(true).write(true).custom_flags(flags).mode(0o666).open(directory).ok()?;
        fs::symlink_metadata(place(&file)).ok()?;
        Some(file)
    }

    /// Names a file; returns an error where something has that name.
    pub fn link(file: &File, path: &Path) -> io::Result<()> {
        Ok(linkat(CWD, place(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
    }

    fn place(file: &File) -> String {
        format!("/proc/self/fd/{}", file.as_raw_fd())
    }
}

#[cfg(unix)]
mod signals {
    use std::ffi::c_int;
    use std::fs;
    use std::thread;

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    /// Waits for signals in a thread of its own. Without it, signals end the process as ever, and files stay.
    pub fn watch() {
        let Ok(mut signals) = Signals::new(deadly()) else {
            return;
        };
        thread::spawn(move || {
            for signal in signals.forever() {
                let _names = super::remove_all();
                let _ = emulate_default_handler(signal);
            }
        });
    }

    /// Returns the signals that would end the process: a handler would also catch what it was started to ignore, as
    /// `nohup` does. Where that cannot be found out, `SIGHUP` is left alone.
    pub fn deadly() -> Vec<c_int> {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        let is_deadly = |signal: &c_int| match ignored {
            Some(mask) => mask >> (signal - 1) & 1 == 0,
            None => *signal != SIGHUP,
        };
        [SIGINT, SIGTERM, SIGHUP].into_iter().filter(is_deadly).collect()
    }
}

#[cfg(not(unix))]
mod signals {
    /// Removes the files at Ctrl-C. Without it, they stay.
    pub fn watch() {
        let _ = ctrlc::set_handler(|| {
            let _names = super::remove_all();
            std::process::exit(130);
        });
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn names_in(directory: &Path) -> Vec<String> {
        let names = fs::read_dir(directory).unwrap();
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn both_kinds_become_new_results_and_replace_older_ones() {
        let place = tempfile::tempdir().unwrap();
        let (directory, path) = (place.path(), place.path().join("result"));
        let kinds: [fn(&Path) -> Temporary; 2] = [
            |directory| Temporary::create_in(directory).unwrap(),
            |directory| Temporary::Named(create_named_in(directory).unwrap()),
        ];
        for kind in kinds {
            for text in ["new", "newer"] {
                let mut temporary = kind(directory);
                temporary.file().write_all(text.as_bytes()).unwrap();
                temporary.become_result(&path, directory).unwrap();
                assert_eq!(fs::read_to_string(&path).unwrap(), text);
                assert_eq!(names_in(directory), ["result"]);
            }
            let mut dropped = kind(directory);
            dropped.file().write_all(b"dropped").unwrap();
            drop(dropped);
            assert_eq!(names_in(directory), ["result"]);
            fs::remove_file(&path).unwrap();
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_cannot_be_named_is_copied() {
        let place = tempfile::tempdir().unwrap();
        let mut file = tempfile::tempfile_in(place.path()).unwrap();
        file.write_all(b"all of it").unwrap();
        let path = place.path().join("result");
        persist(copy_named(file, place.path()).unwrap(), &path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"all of it");
        assert_eq!(names_in(place.path()), ["result"]);
    }

    #[cfg(unix)]
    const DIRECTORY: &str = "BROADSWEEP_TEST_DIRECTORY";

    /// Serves as the process that the next test ends; it is no test of its own.
    #[cfg(unix)]
    #[test]
    fn child_that_waits_with_a_named_file() {
        let Some(directory) = std::env::var_os(DIRECTORY) else {
            return;
        };
        remove_on_signals();
        let _file = create_named_in(Path::new(&directory)).unwrap();
        std::thread::sleep(std::time::Duration::from_secs(60));
    }

    #[cfg(unix)]
    #[test]
    fn signals_remove_files_with_a_name_and_end_the_process_as_ever() {
        use std::os::unix::process::ExitStatusExt;
        use std::process::{Command, Stdio};
        use std::time::{Duration, Instant};

        let names = [("INT", 2), ("TERM", 15), ("HUP", 1)];
        for (name, number) in names.into_iter().filter(|(_, number)| signals::deadly().contains(number)) {
            let place = tempfile::tempdir().unwrap();
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args(["--exact", "temporary::tests::child_that_waits_with_a_named_file"]);
            let mut child = command.env(DIRECTORY, place.path()).stdout(Stdio::null()).spawn().unwrap();
            let start = Instant::now();
            while names_in(place.path()).is_empty() {
                assert!(start.elapsed() < Duration::from_secs(30), "no file came");
                std::thread::sleep(Duration::from_millis(5));
            }
            Command::new("sh").arg("-c").arg(format!("kill -{name} {}", child.id())).status().unwrap();
            assert_eq!(child.wait().unwrap().signal(), Some(number));
            assert!(names_in(place.path()).is_empty(), "{name}: {:?}", names_in(place.path()));
        }
    }
}
