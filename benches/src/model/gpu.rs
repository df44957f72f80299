//! GPUs, as far as predictions need them.

/// A range of what is assumed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Between {
    /// The value with which a kernel takes least.
    pub best: f64,
    /// The value with which it takes most.
    pub worst: f64,
}

const fn between(best: f64, worst: f64) -> Between {
    Between { best, worst }
}

/// The assumed properties of a GPU. A *unit* runs a workgroup: a streaming multiprocessor, a compute unit, a core.
/// Subgroups have 32 invocations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gpu {
    /// The name, as the command line takes it.
    pub name: &'static str,
    /// How the names of this GPU's adapters end, or go on in parentheses. Longer names are of others: Ti, XT, Max.
    pub adapters: &'static [&'static str],
    /// The number of units.
    pub units: f64,
    /// Cycles in a nanosecond.
    pub clock: Between,
    /// Instructions that a unit issues in a cycle, each for a subgroup.
    pub issue: f64,
    /// Subgroups that a unit holds at a time. Registers and workgroup memory decide.
    pub resident: Between,
    /// Bytes that a unit loads from its first cache in a cycle.
    pub first_bytes: Between,
    /// Bytes that all units together load from the second cache in a nanosecond.
    pub second_bytes: Between,
    /// Bytes that the last cache holds.
    pub cache: f64,
    /// Bytes that memory moves in a nanosecond.
    pub memory_bytes: Between,
    /// Nanoseconds until a load from the first cache is there.
    pub first_wait: Between,
    /// The same of the second cache.
    pub second_wait: Between,
    /// The same of memory.
    pub memory_wait: Between,
    /// Nanoseconds for a dispatch that has to wait for the one before it, even if it has no workgroup.
    pub dispatch: Between,
    /// Nanoseconds until the code and the constants of a dispatch arrive, if it has a workgroup.
    pub start: Between,
}

/// The GPU that the H200 is, but for its memory.
const H100: Gpu = Gpu {
    name: "H100",
    adapters: &["H100 80GB HBM3"],
    units: 132.0,
    clock: between(1.98, 1.4),
    issue: 4.0,
    resident: between(48.0, 16.0),
    first_bytes: between(128.0, 64.0),
    second_bytes: between(5_700.0, 3_500.0),
    cache: 50e6,
    memory_bytes: between(3_100.0, 2_600.0),
    first_wait: between(17.0, 30.0),
    second_wait: between(115.0, 280.0),
    memory_wait: between(340.0, 700.0),
    dispatch: between(1_800.0, 3_200.0),
    start: between(1_500.0, 2_500.0),
};

/// The GPUs that are known. Sources are in `docs/model.md`.
pub const KNOWN: [Gpu; 6] = [
    H100,
    Gpu { name: "H200", adapters: &["H200"], memory_bytes: between(4_500.0, 3_700.0), ..H100 },
    Gpu {
        name: "RTX 4070",
        adapters: &["RTX 4070"],
        units: 46.0,
        clock: between(2.7, 1.92),
        issue: 4.0,
        resident: between(48.0, 16.0),
        first_bytes: between(128.0, 64.0),
        second_bytes: between(2_500.0, 1_200.0),
        cache: 36e6,
        memory_bytes: between(470.0, 400.0),
        first_wait: between(13.0, 25.0),
        second_wait: between(100.0, 160.0),
        memory_wait: between(220.0, 400.0),
        dispatch: between(1_800.0, 3_200.0),
        start: between(1_500.0, 2_500.0),
    },
    Gpu {
        name: "RX 6800",
        adapters: &["RX 6800"],
        units: 60.0,
        clock: between(2.1, 1.8),
        issue: 2.0,
        resident: between(32.0, 8.0),
        first_bytes: between(128.0, 64.0),
        second_bytes: between(1_900.0, 900.0),
        cache: 128e6,
        memory_bytes: between(480.0, 400.0),
        first_wait: between(25.0, 60.0),
        second_wait: between(90.0, 150.0),
        memory_wait: between(230.0, 400.0),
        dispatch: between(2_000.0, 6_000.0),
        start: between(1_500.0, 3_000.0),
    },
    Gpu {
        name: "M2",
        adapters: &["Apple M2"],
        units: 10.0,
        clock: between(1.4, 1.3),
        issue: 4.0,
        resident: between(32.0, 12.0),
        first_bytes: between(64.0, 32.0),
        second_bytes: between(440.0, 220.0),
        cache: 8e6,
        memory_bytes: between(95.0, 75.0),
        first_wait: between(40.0, 100.0),
        second_wait: between(150.0, 300.0),
        memory_wait: between(350.0, 700.0),
        dispatch: between(2_000.0, 8_000.0),
        start: between(1_500.0, 4_000.0),
    },
    Gpu {
        name: "Iris Xe",
        adapters: &["Iris(R) Xe Graphics"],
        units: 6.0,
        clock: between(1.35, 0.9),
        issue: 4.0,
        resident: between(56.0, 28.0),
        first_bytes: between(64.0, 32.0),
        second_bytes: between(340.0, 150.0),
        cache: 4e6,
        memory_bytes: between(60.0, 40.0),
        first_wait: between(60.0, 150.0),
        second_wait: between(120.0, 250.0),
        memory_wait: between(300.0, 700.0),
        dispatch: between(3_000.0, 12_000.0),
        start: between(1_500.0, 4_000.0),
    },
];

impl Gpu {
    /// Returns the GPU that is known by this name, in upper or lower case.
    pub fn by_name(name: &str) -> Option<&'static Self> {
        KNOWN.iter().find(|gpu| gpu.name.eq_ignore_ascii_case(name))
    }

    /// Returns the GPU of an adapter with this name, if it is known.
    pub fn of_adapter(adapter: &str) -> Option<&'static Self> {
        let is_named = |end: &&str| {
            adapter.split_once(*end).is_some_and(|(_, rest)| rest.is_empty() || rest.trim_start().starts_with('('))
        };
        KNOWN.iter().find(|gpu| gpu.adapters.iter().any(is_named))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_is_never_worse_than_the_worst() {
        for gpu in KNOWN {
            let faster = [gpu.clock, gpu.resident, gpu.first_bytes, gpu.second_bytes, gpu.memory_bytes];
            let slower = [gpu.first_wait, gpu.second_wait, gpu.memory_wait, gpu.dispatch, gpu.start];
            assert!(faster.iter().all(|of| of.best >= of.worst && of.worst > 0.0), "{}", gpu.name);
            assert!(slower.iter().all(|of| of.best <= of.worst && of.best > 0.0), "{}", gpu.name);
        }
    }

    #[test]
    fn adapters_are_known_by_the_end_of_their_name() {
        for (adapter, name) in [
            ("NVIDIA H200", "H200"),
            ("NVIDIA H100 80GB HBM3", "H100"),
            ("NVIDIA GeForce RTX 4070", "RTX 4070"),
            ("AMD Radeon RX 6800 (RADV NAVI21)", "RX 6800"),
            ("Apple M2", "M2"),
            ("Intel(R) Iris(R) Xe Graphics (TGL GT2)", "Iris Xe"),
        ] {
            assert_eq!(Gpu::of_adapter(adapter).map(|gpu| gpu.name), Some(name), "{adapter}");
        }
        for adapter in [
            "llvmpipe (LLVM 15.0.6, 256 bits)",
            "NVIDIA H100 PCIe",
            "NVIDIA GeForce RTX 4070 Ti SUPER",
            "NVIDIA GeForce RTX 4070 Laptop GPU",
            "AMD Radeon RX 6800 XT (RADV NAVI21)",
            "AMD Radeon RX 6800M",
            "Apple M2 Max",
        ] {
            assert_eq!(Gpu::of_adapter(adapter), None, "{adapter}");
        }
        assert_eq!(Gpu::by_name("rx 6800").map(|gpu| gpu.units), Some(60.0));
    }
}
