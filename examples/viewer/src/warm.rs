//! Compiles the kernels of a pick ahead. The first recording of a query compiles its kernels, which
//! would delay a frame. Therefore another thread records picks in tiny scenes, and discards them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};

use broadsweep::{Error, Gpu, wgpu};

use crate::globals::Globals;
use crate::pointer::Pointer;
use crate::scene::{Kind, Scene};
use crate::simulation::Simulation;

/// Kernels that are being compiled on another thread.
pub struct Warm {
    thread: Option<JoinHandle<()>>,
    /// True if the kernels for scenes without worlds, and with worlds, are compiled.
    are_there: Arc<[AtomicBool; 2]>,
}

impl Warm {
    /// Starts the thread.
    pub fn start(gpu: &Gpu) -> Self {
        let are_there = Arc::<[AtomicBool; 2]>::default();
        let (gpu, is_reported) = (gpu.clone(), Arc::clone(&are_there));
        let compile = move || {
            for (kind, is_reported) in [Kind::Clusters, Kind::Robots].into_iter().zip(&*is_reported) {
                // The first pick repeats an error, and reports it.
                _ = pick(&gpu, kind);
                is_reported.store(true, Ordering::Release);
            }
        };
        let thread = Builder::new().name("kernels of picking".to_owned()).spawn(compile).ok();
        Self { thread, are_there }
    }

    /// Returns whether a pick in this scene would not wait for a compiler.
    pub fn is_ready(&self, scene: &Scene) -> bool {
        let has_worlds = !scene.filters.world.is_empty();
        self.thread.is_none() || self.are_there[usize::from(has_worlds)].load(Ordering::Acquire)
    }

    /// Waits until all kernels are compiled.
    pub fn wait(&mut self) {
        if let Some(thread) = self.thread.take() {
            // A panic leaves the other kernels to the first pick.
            _ = thread.join();
        }
    }
}

impl Drop for Warm {
    fn drop(&mut self) {
        // The driver must not be unloaded while it compiles.
        self.wait();
    }
}

/// Records a pick in the smallest scene of a kind, and discards it.
fn pick(gpu: &Gpu, kind: Kind) -> Result<(), Error> {
    let scene = Scene::new(kind, 2, &[]);
    let (simulation, mut pointer) = (Simulation::new(gpu.device(), &scene), Pointer::new(gpu, &scene)?);
    let globals = gpu.device().create_buffer(&wgpu::BufferDescriptor {
        label: Some("globals of nothing"),
        size: size_of::<Globals>() as u64,
        usage: wgpu::BufferUsages::UNIFORM,
        mapped_at_creation: false,
    });
    // The kernels of a tree of many boxes.
    pointer.compile_ahead().wait()?;
    let mut encoder = gpu.device().create_command_encoder(&Default::default());
    // A build, then a refit.
    pointer.record(&mut encoder, &simulation, &globals, true)?;
    pointer.record(&mut encoder, &simulation, &globals, true)
}
