//! Compiles kernels ahead in a browser. Compilation runs in another process, which reports when a pipeline is ready or
//! rejected.

use std::cell::RefCell;
use std::fmt::{self, Debug, Formatter};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use super::CompilationProgress;
use crate::Error;
use crate::gpu::Gpu;
use crate::gpu::kernel::Kernel;

/// Compiles kernels ahead of the calls that need them, in the browser, one after the other. It makes progress only
/// while it is awaited or [polled](Self::is_finished): a poll after the end of a compilation begins the next one.
#[derive(Debug)]
#[must_use = "dropping it gives up on kernels whose turn has not come"]
pub struct Compilation(RefCell<Turns>);

/// Kernels to compile one after the other, so that progress is visible and the browser can do other work in between.
struct Turns {
    gpu: Gpu,
    /// Kernels that wait for compilation. The last one is next.
    kernels: Vec<Kernel>,
    /// The compilation of the next kernel, once it has begun.
    turn: Option<Pin<Box<dyn Future<Output = Result<(), Error>>>>>,
    progress: CompilationProgress,
    /// The first error.
    result: Result<(), Error>,
}

impl Debug for Turns {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turns").field("progress", &self.progress).field("result", &self.result).finish_non_exhaustive()
    }
}

impl Turns {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        loop {
            if let Some(turn) = &mut self.turn {
                let result = ready!(turn.as_mut().poll(context));
                self.end_turn(result);
            }
            match self.kernels.last() {
                Some(kernel) => self.turn = Some(Box::pin(kernel.clone().compile_later(self.gpu.clone()))),
                None => return Poll::Ready(self.result.clone()),
            }
        }
    }

    fn end_turn(&mut self, result: Result<(), Error>) {
        self.turn = None;
        self.kernels.pop();
        self.progress.compiled += 1;
        if self.result.is_ok() {
            self.result = result;
        }
    }
}

#[expect(missing_docs)]
impl Compilation {
    pub(crate) fn start(gpu: &Gpu, list: impl FnOnce() -> Result<Vec<Kernel>, Error>) -> Self {
        let (mut kernels, result) = match list() {
            Ok(kernels) => (kernels, Ok(())),
            Err(error) => (Vec::new(), Err(error)),
        };
        kernels.reverse();
        let progress = CompilationProgress { compiled: 0, kernels: kernels.len() };
        Self(RefCell::new(Turns { gpu: gpu.clone(), kernels, turn: None, progress, result }))
    }

    pub fn is_finished(&self) -> bool {
        self.0.borrow_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    pub fn progress(&self) -> CompilationProgress {
        self.0.borrow().progress
    }

    pub fn wait(self) -> Result<(), Error> {
        let Turns { gpu, kernels, result, .. } = self.0.into_inner();
        result.and_then(|()| kernels.iter().rev().try_for_each(|kernel| kernel.compile(&gpu)))
    }
}

impl Future for Compilation {
    type Output = Result<(), Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.get_mut().0.get_mut().poll(context)
    }
}
