//! The system that the program runs on.

use std::collections::HashSet;
use std::env::consts::{ARCH, OS};
use std::fs;
use std::thread;

use laboratory::adapter;
use serde_json::{Value, json};

/// The system and its processor.
pub struct System {
    /// The name and version of the system, where they are known.
    name: String,
    /// The threads that the CPU engine uses.
    threads: usize,
    /// The processor cores of the machine, where the system lists them.
    cores: Option<usize>,
}

impl System {
    /// Reads the names and counts of this machine.
    pub fn read() -> Self {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        Self { name: adapter::system(), threads, cores: linux_cores() }
    }

    /// Returns lines for a person.
    pub fn lines(&self) -> String {
        let cores = self.cores.map_or("unknown".to_owned(), |cores| cores.to_string());
        let Self { name, threads, .. } = self;
        format!("system      {name}, {ARCH}\nthreads     {threads}\ncores       {cores}\n")
    }

    /// Returns one object. The count of cores is `null` where the system does not list them.
    pub fn json(&self) -> Value {
        json!({ "name": self.name, "os": OS, "arch": ARCH, "threads": self.threads, "cores": self.cores })
    }
}

/// Counts the cores: the threads of one core have the same list of threads.
fn linux_cores() -> Option<usize> {
    let processors = fs::read_dir("/sys/devices/system/cpu").ok()?.flatten();
    let siblings = |processor: fs::DirEntry| fs::read(processor.path().join("topology/thread_siblings_list")).ok();
    let cores: HashSet<Vec<u8>> = processors.filter_map(siblings).collect();
    (!cores.is_empty()).then_some(cores.len())
}
