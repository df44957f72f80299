//! Statistics of a Vulkan driver on its machine code, for every kernel with every set of switches: registers, spills,
//! memory of workgroups.
//!
//!     cargo run -p broadsweep-compilers --example statistics -- [extremes] [KERNEL...]
//!
//! Uses the first device. Mesa's RADV compiles for AMD's GPUs without one:
//! `VK_DRIVER_FILES=…/radeon_icd.x86_64.json RADV_FORCE_FAMILY=navi21` (or gfx1100). Prints a table: each kernel
//! without switches and with all, and the worst of all its sets. Fails if a kernel that a GPU runs spills registers to
//! memory.

mod vulkan;

use std::process::ExitCode;

use compilers::{Kernel, Set, Target, for_each};
use vulkan::{Device, Statistics};

/// The statistics that must be zero, by the beginnings of their names: registers that did not fit lie in memory.
const MUST_BE_ZERO: [&str; 4] = ["Spill", "Scratch", "Stack", "Local Memory"];

/// The switches with which kernels of queries may spill registers. Rare decisions without rounding take the most
/// registers: f64 from u32, sums of 1,152 bits, and comparisons of overlaps.
const MAY_SPILL: [&str; 3] = ["IS_ROUND", "HAS_SPHERES", "SKIPS_SEPARATING"];

/// The statistic that is worse where it is smaller.
const BEST_IS_LARGEST: &str = "Subgroups per SIMD";

/// The statistics of a kernel with one set of switches.
struct Row {
    label: &'static str,
    set: Set,
    statistics: Statistics,
}

fn main() -> ExitCode {
    let mut labels: Vec<_> = std::env::args().skip(1).collect();
    let is_wanted: fn(&Set) -> bool = match labels.first().map(String::as_str) {
        Some("extremes") => {
            labels.remove(0);
            Set::is_extreme
        }
        _ => |_| true,
    };
    match measure(&labels, is_wanted) {
        Ok((device, rows)) => report(&device, &rows),
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the name of the device, and what it told of these kernels, or of all where none is named.
fn measure(labels: &[String], is_wanted: fn(&Set) -> bool) -> Result<(String, Vec<Row>), String> {
    let device = Device::first()?;
    let mut kernels = Kernel::all()?;
    if let Some(label) = labels.iter().find(|label| kernels.iter().all(|kernel| kernel.label != label.as_str())) {
        return Err(format!("there is no kernel {label}"));
    }
    kernels.retain(|kernel| labels.is_empty() || labels.iter().any(|label| label == kernel.label));
    let rows = for_each(&kernels, is_wanted, |kernel| {
        let spirv = kernel.translate(Target::Vulkan13)?;
        let statistics = device
            .statistics(kernel.label(), &spirv, &kernel.buffers())
            .map_err(|message| format!("{}: {message}", kernel.name()))?;
        Ok(Row { label: kernel.label(), set: kernel.set.clone(), statistics })
    });
    Ok((device.name().to_owned(), rows?))
}

/// Prints the table.
fn report(device: &str, rows: &[Row]) -> ExitCode {
    let Some(first) = rows.first() else { return ExitCode::FAILURE };
    let names: Vec<_> = first.statistics.iter().map(|(name, _)| name.as_str()).collect();
    let is_bad = |name: &str| MUST_BE_ZERO.iter().any(|bad| name.starts_with(bad));
    if !names.iter().any(|name| is_bad(name)) {
        eprintln!("{device} does not tell whether registers lie in memory: {}", names.join(", "));
        return ExitCode::FAILURE;
    }
    println!("# {device}");
    println!("# {} modules", rows.len());
    println!("kernel\tswitches\t{}", names.join("\t"));
    let print = |label: &str, what: &str, values: &mut dyn Iterator<Item = u64>| {
        println!("{label}\t{what}\t{}", values.map(|value| value.to_string()).collect::<Vec<_>>().join("\t"));
    };
    for sets in rows.chunk_by(|a, b| a.label == b.label) {
        for row in sets.iter().filter(|row| row.set.is_extreme()) {
            print(row.label, &row.set.word(), &mut row.statistics.iter().map(|(_, value)| *value));
        }
        if sets.iter().any(|row| !row.set.is_extreme()) {
            let worst = |k: usize| {
                let values = sets.iter().map(|row| row.statistics[k].1);
                if names[k] == BEST_IS_LARGEST { values.min() } else { values.max() }.unwrap_or_default()
            };
            print(sets[0].label, &format!("worst of {}", sets.len()), &mut (0..names.len()).map(worst));
        }
    }
    let mut bad_count = 0;
    let may_spill = |row: &Row| {
        row.label.starts_with("query_") && row.set.switches.iter().any(|switch| MAY_SPILL.contains(&switch.as_str()))
    };
    for row in rows.iter().filter(|row| !may_spill(row)) {
        for (name, value) in row.statistics.iter().filter(|(name, value)| is_bad(name) && *value > 0) {
            eprintln!("{}: {name} is {value}", row.set.name(row.label));
            bad_count += 1;
        }
    }
    if bad_count > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
