//! Compiling what a first pick needs before one picks: kernels of trees are compiled by the first call that records them, which
//! would hold up its frame. So such a call is made on another thread, for a few boxes, and thrown away.

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
    /// True if those are there for scenes without worlds, and with.
    are_there: Arc<[AtomicBool; 2]>,
}

impl Warm {
    /// Starts to compile.
    pub fn start(gpu: &Gpu) -> Self {
        let are_there = Arc::<[AtomicBool; 2]>::default();
        let (gpu, is_reported) = (gpu.clone(), Arc::clone(&are_there));
        let compile = move || {
            for (kind, is_reported) in [Kind::Clusters, Kind::Robots].into_iter().zip(&*is_reported) {
                // What goes wrong goes wrong once more where one picks, and is told there.
                _ = pick(&gpu, kind);
                is_reported.store(true, Ordering::Release);
            }
        };
        let thread = Builder::new().name("kernels of picking".to_owned()).spawn(compile).ok();
        Self { thread, are_there }
    }

    /// Returns whether one can pick in a scene without a frame that waits for a compiler.
    pub fn is_ready(&self, scene: &Scene) -> bool {
        let has_worlds = !scene.filters.world.is_empty();
        self.thread.is_none() || self.are_there[usize::from(has_worlds)].load(Ordering::Acquire)
    }

    /// Waits until one can pick in every scene.
    pub fn wait(&mut self) {
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has compiled what it could.
            _ = thread.join();
        }
    }
}

impl Drop for Warm {
    fn drop(&mut self) {
        // The driver cannot be taken away while it compiles.
        self.wait();
    }
}

/// Records a pick in the least scene of a kind, and throws it away.
fn pick(gpu: &Gpu, kind: Kind) -> Result<(), Error> {
    let scene = Scene::new(kind, 2, &[]);
    let (simulation, mut pointer) = (Simulation::new(gpu.device(), &scene), Pointer::new(gpu, &scene)?);
    let globals = gpu.device().create_buffer(&wgpu::BufferDescriptor {
        label: Some("globals of nothing"),
        size: size_of::<Globals>() as u64,
        usage: wgpu::BufferUsages::UNIFORM,
        mapped_at_creation: false,
    });
    // Those that only a tree of many boxes needs.
    pointer.compile_ahead().wait()?;
    let mut encoder = gpu.device().create_command_encoder(&Default::default());
    // Built, and refitted.
    pointer.record(&mut encoder, &simulation, &globals, true)?;
    pointer.record(&mut encoder, &simulation, &globals, true)
}
