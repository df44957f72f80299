//! Steps that are recorded, whose pairs and events stay on the GPU.

use anyhow::{Result, bail};
use broadsweep::record::GpuIdentity;
use broadsweep::wgpu::{self, BufferUsages as U};
use broadsweep::{Aabb, Gpu, Options, Pair, Recorder};

use crate::engine::timed;
use crate::measure::contestant::Refusal;

/// An engine that records steps.
pub struct Recorded {
    engine: Recorder,
    gpu: Gpu,
    /// The boxes of the last step, as a program on the GPU has them.
    boxes: Option<wgpu::Buffer>,
    has_events: bool,
}

impl Recorded {
    /// Creates an engine that records searches, or events.
    pub fn new(gpu: &Gpu, options: Options, has_events: bool) -> Result<Self> {
        let engine = Recorder::new(gpu, options).map_err(Refusal)?;
        Ok(Self { engine, gpu: gpu.clone(), boxes: None, has_events })
    }

    /// Runs a step, and returns the milliseconds from the recording to its end. Boxes are uploaded before, and pairs
    /// read back afterwards.
    pub fn show(&mut self, boxes: &[Aabb], pairs: &mut Vec<Pair>) -> Result<f64> {
        let buffer = self.upload(boxes)?;
        let n = boxes.len() as u32;
        loop {
            let (list, seconds) = timed(|| self.run(&buffer, n));
            let list = list?;
            match self.engine.statistics().header {
                // The next list is longer.
                Some(header) if header.overflow == 1 => {}
                Some(header) if header.overflow == 0 => {
                    self.read(&list, header.written, pairs)?;
                    return Ok(1e3 * seconds);
                }
                header => bail!("the step was refused: {header:?}"),
            }
        }
    }

    /// Runs a step, and returns its list, which is read before the next step.
    fn run(&mut self, boxes: &wgpu::Buffer, n: u32) -> Result<wgpu::Buffer> {
        let mut encoder = self.encoder();
        let list = if self.has_events {
            let events = self.engine.record_events(&mut encoder, boxes.slice(..), n, GpuIdentity::Index);
            events.map_err(Refusal)?.pairs.pairs.clone()
        } else {
            self.engine.record(&mut encoder, boxes.slice(..), n).map_err(Refusal)?.pairs.clone()
        };
        self.submit(encoder)?;
        Ok(list)
    }

    fn encoder(&self) -> wgpu::CommandEncoder {
        self.gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default())
    }

    /// Submits, and waits until it has run.
    fn submit(&self, encoder: wgpu::CommandEncoder) -> Result<()> {
        self.gpu.queue().submit([encoder.finish()]);
        self.gpu.device().poll(wgpu::PollType::wait_indefinitely())?;
        Ok(())
    }

    fn buffer(&self, size: u64, usage: U) -> wgpu::Buffer {
        let descriptor = wgpu::BufferDescriptor { label: Some("bench"), size, usage, mapped_at_creation: false };
        self.gpu.device().create_buffer(&descriptor)
    }

    fn upload(&mut self, boxes: &[Aabb]) -> Result<wgpu::Buffer> {
        let size = (size_of_val(boxes) as u64).max(24);
        let buffer = match self.boxes.take() {
            Some(buffer) if buffer.size() >= size => buffer,
            _ => self.buffer(size, U::STORAGE | U::COPY_DST),
        };
        self.gpu.queue().write_buffer(&buffer, 0, bytemuck::cast_slice(boxes));
        self.submit(self.encoder())?;
        self.boxes = Some(buffer.clone());
        Ok(buffer)
    }

    fn read(&self, list: &wgpu::Buffer, count: u32, pairs: &mut Vec<Pair>) -> Result<()> {
        let bytes = (u64::from(count) * size_of::<Pair>() as u64).max(8);
        let copy = self.buffer(bytes, U::MAP_READ | U::COPY_DST);
        let mut encoder = self.encoder();
        encoder.copy_buffer_to_buffer(list, 0, &copy, 0, bytes);
        encoder.map_buffer_on_submit(&copy, wgpu::MapMode::Read, .., |_| ());
        self.submit(encoder)?;
        *pairs = bytemuck::pod_collect_to_vec(&copy.get_mapped_range(..)?);
        pairs.truncate(count as usize);
        Ok(())
    }
}
