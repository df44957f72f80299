//! The times of each kernel on the GPU, and of each stage.

use std::ops::Add;

use broadsweep::internals::gpu::timing::KernelTime;

use super::time::Time;

/// The times of the kernels in some runs of the same call.
#[derive(Debug, Clone, Default)]
pub struct KernelTimes(Vec<Vec<KernelTime>>);

impl KernelTimes {
    /// Adds the kernels of a run, in the order of the flow.
    pub fn add(&mut self, run: Vec<KernelTime>) {
        self.0.push(run);
    }

    /// Returns the kernels of the first run.
    pub fn kernels(&self) -> &[KernelTime] {
        self.0.first().map_or(&[], Vec::as_slice)
    }

    /// Returns the median time of all `wanted` kernels together, in milliseconds.
    pub fn median_ms(&self, wanted: impl Fn(&KernelTime) -> bool) -> f64 {
        let ms = |kernel: &KernelTime| kernel.time.as_secs_f64() * 1e3;
        let runs = self.0.iter().map(|run| run.iter().filter(|kernel| wanted(kernel)).map(ms).fold(0.0, f64::add));
        Time::of(runs.collect()).map_or(0.0, |time| time.median_ms)
    }

    /// Lists each stage with its median time in milliseconds, in the order of the flow.
    pub fn stages_ms(&self) -> Vec<(String, f64)> {
        let mut stages: Vec<&str> = Vec::new();
        for name in self.0.iter().flatten().map(stage) {
            if !stages.contains(&name) {
                stages.push(name);
            }
        }
        stages.into_iter().map(|name| (name.to_owned(), self.median_ms(|kernel| stage(kernel) == name))).collect()
    }
}

/// Returns the stage of a kernel, which the name of the kernel begins with.
pub fn stage(kernel: &KernelTime) -> &'static str {
    kernel.kernel.split('_').next().unwrap_or(kernel.kernel)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_kernels_of_a_stage_are_summed_in_each_run() {
        let kernel = |kernel, ms| KernelTime::new(kernel, 1, Duration::from_millis(ms));
        let mut times = KernelTimes::default();
        for [count, scan, rank] in [[1, 10, 5], [2, 2, 5], [9, 4, 6]] {
            times.add(vec![kernel("bin_count", count), kernel("rank_ends", rank), kernel("bin_scatter", scan)]);
        }
        assert_eq!(times.stages_ms(), [("bin".to_owned(), 11.0), ("rank".to_owned(), 5.0)]);
        assert_eq!(times.median_ms(|kernel| kernel.kernel == "bin_scatter"), 4.0);
        // The sum of no times is 0, not -0.
        assert!(times.median_ms(|_| false).is_sign_positive());
        assert_eq!((times.kernels().len(), KernelTimes::default().median_ms(|_| true)), (3, 0.0));
    }
}
