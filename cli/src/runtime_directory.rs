//! The variable `XDG_RUNTIME_DIR`, without which Mesa's drivers print an error.

use std::env;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

const NAME: &str = "XDG_RUNTIME_DIR";

/// A directory without sockets of displays. It need not exist.
const NOWHERE: &str = "/nonexistent";

/// Starts the program again, in the same process, if the variable is missing or is no absolute path.
///
/// Mesa's Vulkan drivers look for a Wayland display, and libwayland then prints `error: XDG_RUNTIME_DIR is invalid or
/// not set in the environment.` A program without unsafe code can set a variable only for a program that it starts.
pub fn ensure_set() {
    if env::var_os(NAME).is_some_and(|path| Path::new(&path).is_absolute()) {
        return;
    }
    let mut arguments = env::args_os();
    if let (Ok(own), Some(typed)) = (env::current_exe(), arguments.next()) {
        // This call returns only if it fails. The program then goes on, and the driver prints its message.
        let _ = Command::new(own).arg0(typed).args(arguments).env(NAME, NOWHERE).exec();
    }
}
