//! An engine that is shown one step after another, and its calls.

use std::fmt;

use anyhow::{Result, bail};
use broadsweep::device::KernelTime;
use broadsweep::internals::brute_force;
use broadsweep::wgpu::util::{BufferInitDescriptor, DeviceExt as _};
use broadsweep::{Aabb, BroadPhase, Error, Filters, Gpu, Options, Pair, Recorder, Report, cpu, wgpu};

use super::kernels::KernelTimes;
use crate::baselines::{Baseline, Changes};
use crate::engine::{Engine, timed};

/// The most pairs in the list of a search whose kernels are timed: 64 MiB of them.
const TIMED_PAIRS: usize = 1 << 23;

/// An engine that is ready to find pairs.
pub enum Contestant {
    /// The GPU engine.
    Gpu(Box<OnGpu>),
    /// The CPU engine.
    Cpu(Box<cpu::BroadPhase>),
    /// The double loop.
    Brute,
    /// An algorithm of the literature, or another library.
    Other(Box<dyn Baseline>),
}

/// The GPU engine, and a recorder with the same options and filters, which times its kernels.
pub struct OnGpu {
    gpu: Gpu,
    engine: BroadPhase,
    recorder: Option<Recorder>,
}

impl OnGpu {
    fn new(gpu: &Gpu, options: Options) -> Result<Self, Error> {
        Ok(Self { gpu: gpu.clone(), engine: BroadPhase::new(gpu, options)?, recorder: None })
    }

    /// Records the search for the pairs of `boxes`. Returns the times of its kernels; `None` if the device cannot time
    /// them.
    fn time_kernels(&mut self, boxes: &[Aabb]) -> Result<Option<Vec<KernelTime>>, Error> {
        let recorder = match &mut self.recorder {
            Some(recorder) => recorder,
            recorder => {
                let mut new = Recorder::new(&self.gpu, *self.engine.options())?;
                new.set_filters(self.engine.filters().clone())?;
                recorder.insert(new)
            }
        };
        if !recorder.time_recordings(true) {
            return Ok(None);
        }
        let pairs = self.engine.last_overlaps().pairs.len().clamp(1, TIMED_PAIRS);
        recorder.reserve(boxes.len(), pairs as u32)?;
        let (device, contents) = (self.gpu.device(), bytemuck::cast_slice(boxes));
        let descriptor = BufferInitDescriptor { label: Some("boxes"), contents, usage: wgpu::BufferUsages::STORAGE };
        let given = device.create_buffer_init(&descriptor);
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        recorder.record(&mut encoder, given.slice(..), boxes.len() as u32)?;
        self.gpu.queue().submit([encoder.finish()]);
        // A lost device leaves no times; the next call returns its error.
        let waited = device.poll(wgpu::PollType::wait_indefinitely());
        Ok(waited.ok().and_then(|_| recorder.statistics().times))
    }
}

/// The measurements of one call.
pub struct Call {
    /// The time of the whole call in milliseconds: for the GPU with upload and the pairs back in host memory.
    pub ms: f64,
    /// Tests made, where the engine tells.
    pub candidates: Option<u64>,
    /// Operations that kept a structure up to date, where a baseline keeps one from step to step.
    pub updates: Option<u64>,
    /// Memory held, without boxes and pairs, where the engine tells.
    pub bytes: Option<u64>,
    /// The report of the GPU and of the CPU engine.
    pub report: Option<Report>,
}

impl Contestant {
    /// Creates an engine with buffers of its own, so that its memory is not what larger scenes needed. Of the options,
    /// baselines use the axis, where they can choose one, and brute force uses nothing.
    ///
    /// # Errors
    /// If the engine refuses the options, or is the GPU's and there is no GPU.
    pub fn new(engine: Engine, gpu: Option<&Gpu>, options: Options) -> Result<Self> {
        Ok(match (engine, gpu) {
            (Engine::Gpu, Some(gpu)) => Self::Gpu(Box::new(OnGpu::new(gpu, options).map_err(Refusal)?)),
            (Engine::Gpu, None) => bail!("there is no GPU"),
            (Engine::Brute, _) => Self::Brute,
            (engine, _) => match engine.baseline(options.axis) {
                Some(baseline) => Self::Other(baseline),
                None => Self::Cpu(Box::new(cpu::BroadPhase::new(options).map_err(Refusal)?)),
            },
        })
    }

    /// Sets which pairs are wanted.
    ///
    /// # Errors
    /// If the filters are wrong, or the engine takes none.
    pub fn set_filters(&mut self, filters: Filters) -> Result<()> {
        match self {
            Self::Gpu(on_gpu) => {
                on_gpu.engine.set_filters(filters).map_err(Refusal)?;
                on_gpu.recorder = None;
            }
            Self::Cpu(broad_phase) => broad_phase.set_filters(filters).map_err(Refusal)?,
            Self::Brute | Self::Other(_) => bail!("this engine is measured without filters"),
        }
        Ok(())
    }

    /// Clears the data of earlier steps; the memory stays allocated.
    pub fn forget(&mut self) {
        if let Self::Other(baseline) = self {
            // Another number of boxes starts anew, and none cannot fail.
            let _ = baseline.find_pairs(&[], &mut Vec::new());
        }
    }

    /// Replaces `pairs` by those of `boxes`.
    ///
    /// # Errors
    /// The errors of the engine; a [`Refusal`] if the error is ours.
    pub fn find_pairs(&mut self, boxes: &[Aabb], pairs: &mut Vec<Pair>) -> Result<Call> {
        Ok(match self {
            Self::Gpu(on_gpu) => {
                let (overlaps, seconds) = timed(|| on_gpu.engine.find_pairs(boxes));
                // The list stays in the engine: a copy of it is no part of the time.
                let overlaps = overlaps.map_err(Refusal)?;
                pairs.clone_from(&overlaps.pairs);
                Call::of_ours(seconds, overlaps.report.clone(), overlaps.report.gpu_bytes)
            }
            Self::Cpu(broad_phase) => {
                let (overlaps, seconds) = timed(|| broad_phase.find_pairs(boxes));
                let overlaps = overlaps.map_err(Refusal)?;
                pairs.clone_from(&overlaps.pairs);
                let (report, answer) = (overlaps.report.clone(), overlaps.pairs.capacity() * size_of::<Pair>());
                Call::of_ours(seconds, report, broad_phase.memory_bytes() - answer as u64)
            }
            Self::Brute => {
                let (found, seconds) = timed(|| brute_force::try_find_pairs(boxes));
                *pairs = found.map_err(Refusal)?;
                let n = boxes.len() as u64;
                let candidates = Some(n * n.saturating_sub(1) / 2);
                Call { ms: seconds * 1e3, candidates, updates: None, bytes: Some(0), report: None }
            }
            Self::Other(baseline) => {
                let (work, seconds) = timed(|| baseline.find_pairs(boxes, pairs));
                let work = work?;
                // A number that the algorithm does not count is 0.
                let known = |number: u64| (number > 0).then_some(number);
                Call {
                    ms: seconds * 1e3,
                    candidates: known(work.candidates),
                    updates: known(work.updates),
                    bytes: known(work.bytes),
                    report: None,
                }
            }
        })
    }

    /// Returns the events of the last step, where a baseline or a library told of them.
    pub fn events(&self) -> Option<Changes<'_>> {
        match self {
            Self::Other(baseline) => baseline.events(),
            Self::Gpu(_) | Self::Cpu(_) | Self::Brute => None,
        }
    }

    /// Adds the times of the kernels of one run to `times`; adds nothing where the engine has no kernels, or the
    /// adapter no timestamps.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn time_kernels(&mut self, boxes: &[Aabb], times: &mut KernelTimes) -> Result<()> {
        if let Self::Gpu(on_gpu) = self
            && let Some(kernels) = on_gpu.time_kernels(boxes).map_err(Refusal)?
        {
            times.add(kernels);
        }
        Ok(())
    }
}

impl Call {
    fn of_ours(seconds: f64, report: Report, bytes: u64) -> Self {
        let candidates = Some(report.candidate_count);
        Self { ms: seconds * 1e3, candidates, updates: None, bytes: Some(bytes), report: Some(report) }
    }
}

/// Says why an engine of broadsweep found nothing, without the advice for programmers that an [`Error`] has.
#[derive(Debug)]
pub struct Refusal(pub Error);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Error::TooManyBoxes { box_count, buffer, required, limit, available, .. } => write!(
                f,
                "{box_count} boxes need {required} bytes for `{buffer}`, {limit} is {available}, and too many meet in one \
                 place to divide them"
            ),
            Error::OverBudget { box_count, required, budget } => {
                write!(f, "{box_count} boxes need at least {required} bytes of GPU memory, and there are {budget}")
            }
            Error::TooManyCandidates { candidate_count, limit } => write!(
                f,
                "{candidate_count} candidates to test, and the limit is {limit}: the boxes overlap too much to list \
                 their pairs"
            ),
            Error::ListTooLong { pair_count, required } => {
                write!(f, "{pair_count} pairs need {required} bytes of memory, which the system does not have")
            }
            Error::OutOfMemory { buffer, bytes } => {
                write!(f, "the device ran out of memory while allocating {bytes} bytes for `{buffer}`")
            }
            Error::DeviceLost { reason, .. } => write!(f, "the GPU device was lost ({reason})"),
            Error::DeviceTooSmall { limit, available, required } => {
                write!(f, "the device has {limit} = {available}, and {required} is needed")
            }
            other => other.fmt(f),
        }
    }
}

impl std::error::Error for Refusal {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_of_an_engine_contain_no_names_of_the_library() {
        let boxes = [Aabb::new([0.0; 3], [1.0; 3]); 200];
        let options = Options::default().with_candidate_limit(5);
        let mut contestant = Contestant::new(Engine::Cpu, None, options).unwrap();
        let error = contestant.find_pairs(&boxes, &mut Vec::new()).err().unwrap();
        assert!(error.to_string().contains("19900 candidates to test, and the limit is 5"), "{error}");
        let budget = Error::OverBudget { box_count: 9, required: 8, budget: 7 };
        for text in [format!("{error:#}"), Refusal(budget).to_string()] {
            assert!(!text.contains("::"), "{text}");
        }
    }

    #[test]
    fn filters_are_taken_by_ours_and_by_no_other() {
        let boxes = [Aabb::new([0.0; 3], [1.0; 3]); 3];
        let worlds = || Filters::default().with_world(vec![0, 1, 0]);
        let mut contestant = Contestant::new(Engine::Cpu, None, Options::default()).unwrap();
        contestant.set_filters(worlds()).unwrap();
        let mut pairs = Vec::new();
        let call = contestant.find_pairs(&boxes, &mut pairs).unwrap();
        assert_eq!((&pairs[..], call.report.unwrap().pair_count), (&[Pair { a: 0, b: 2 }][..], 1));
        assert!(Contestant::new(Engine::Brute, None, Options::default()).unwrap().set_filters(worlds()).is_err());
        assert!(Contestant::new(Engine::Gpu, None, Options::default()).is_err());
    }
}
