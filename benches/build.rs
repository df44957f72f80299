//! Reads the version of wgpu, which has no constant for it, from the lock file of the workspace. A package from a registry
//! is built with a lock file that its build script cannot see; the benchmark then reports no version of wgpu.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let path = "../Cargo.lock";
    let Ok(lock) = std::fs::read_to_string(path) else { return };
    println!("cargo::rerun-if-changed={path}");
    if let Some((_, rest)) = lock.replace('\r', "").split_once("name = \"wgpu\"\nversion = \"")
        && let Some((version, _)) = rest.split_once('"')
    {
        println!("cargo::rustc-env=BROADSWEEP_WGPU_VERSION={version}");
    }
}
