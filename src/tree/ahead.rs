//! Compiles the kernels of trees before the first call.

use super::Question;
use super::Tree;
use super::build::Build;
use super::query::Query;
use crate::Compilation;
use crate::filters::prepare::Prepare;
use crate::gpu::kernel::Kernel;
use crate::grid::sort::Sort;
use crate::grid::sort_variant;

impl Tree {
    /// Starts to compile the kernels that build and refit a tree and answer these questions, and returns at once. Other
    /// threads or the browser compile. Call it during start-up to avoid a stall at the first query. Each kernel is
    /// compiled once per device. The current filters determine the kernels.
    ///
    /// Some rare kernels are not compiled ahead; the first call that needs such a kernel compiles it. Such kernels are
    /// needed by casts of spheres and capsules, by queries with [spheres](crate::QueryFilters::sphere), by casts that
    /// [skip boxes](crate::QueryFilters::skips_separating), and by trees with worlds. Some are needed only by
    /// [recorded](crate::TreeRecorder) queries.
    ///
    /// ```no_run
    /// # use broadsweep::query::Question;
    /// # use broadsweep::{Error, Gpu, Ray, Tree};
    /// # fn start(gpu: &Gpu, boxes: &[broadsweep::Aabb], rays: &[Ray]) -> Result<(), Error> {
    /// let mut tree = Tree::new(gpu)?;
    /// let compilation = tree.compile_ahead(&[Question::NearestHits]);
    /// // ... load the scene, draw compilation.progress() ...
    /// compilation.wait()?;
    /// tree.build(boxes)?;
    /// let hits = tree.nearest_hits(rays)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn compile_ahead(&self, questions: &[Question]) -> Compilation {
        let (gpu, questions, filters) = (self.gpu.clone(), questions.to_vec(), self.filters.filters());
        let prepares = !filters.leaves_boxes();
        Compilation::start(&self.gpu, move || {
            // These values share the kernels, which belong to the device.
            let (build, query, prepare) = (Build::new(&gpu), Query::new(&gpu), Prepare::new(&gpu));
            let sort = Sort::with_variant(&gpu, sort_variant(&gpu)?)?;
            let mut kernels: Vec<Kernel> = build.kernels().into_iter().chain(sort.kernels()).cloned().collect();
            kernels.extend(prepare.kernels().into_iter().filter(|_| prepares).cloned());
            for kernel in questions.into_iter().flat_map(|question| query.kernels(question)) {
                if !kernels.iter().any(|other| other.is(&kernel)) {
                    kernels.push(kernel);
                }
            }
            Ok(kernels)
        })
    }
}
