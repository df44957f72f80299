//! Writes every kernel with every set of switches into a folder, for other programs to look at.
//!
//!     cargo run -p broadsweep-compilers --example translate -- FOLDER [extremes]
//!
//! `KERNEL.SWITCHES.ENDING`: WGSL as browsers get it, with the switches set in the text, and naga's output for each
//! back end. With `extremes`, only without switches and with all of them.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use compilers::{Kernel, Set, Target, for_each};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_wanted: fn(&Set) -> bool = match &arguments[..] {
        [_] => |_| true,
        [_, word] if word == "extremes" => Set::is_extreme,
        _ => {
            eprintln!("a folder, and perhaps `extremes`, please");
            return ExitCode::FAILURE;
        }
    };
    match write_all(Path::new(&arguments[0]), is_wanted) {
        Ok(count) => println!("{count} modules, each in WGSL and for {} targets", Target::ALL.len()),
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Writes the modules into a folder, and returns how many.
fn write_all(folder: &Path, is_wanted: fn(&Set) -> bool) -> Result<usize, String> {
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let write = |name: String, text: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
    };
    let written = for_each(&Kernel::all()?, is_wanted, |kernel| {
        write(format!("{}.wgsl", kernel.name()), kernel.wgsl().as_bytes())?;
        Target::ALL.iter().try_for_each(|&target| {
            write(format!("{}.{}", kernel.name(), target.extension()), &kernel.translate(target)?)
        })
    });
    Ok(written?.len())
}
