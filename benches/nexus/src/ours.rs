//! broadsweep, with boxes and pairs on the device.

use anyhow::Result;
use broadsweep::record::PairHeader;
use broadsweep::{Aabb, Gpu, Options, Recorder, wgpu};
use wgpu::util::DeviceExt;

/// A recorder, and the boxes of a scene on the device.
pub struct Ours {
    recorder: Recorder,
    boxes: wgpu::Buffer,
    box_count: u32,
}

impl Ours {
    /// Uploads a scene, and reserves a list for this number of pairs.
    pub fn new(gpu: &Gpu, boxes: &[Aabb], pair_capacity: u32) -> Result<Self> {
        let mut recorder = Recorder::new(gpu, Options::default())?;
        recorder.reserve(boxes.len(), pair_capacity)?;
        let buffer = gpu.device().create_buffer_init(&wgpu::util::BufferInitDescriptor {
            label: Some("boxes"),
            contents: bytemuck::cast_slice(boxes),
            usage: wgpu::BufferUsages::STORAGE,
        });
        Ok(Self { recorder, boxes: buffer, box_count: u32::try_from(boxes.len())? })
    }

    /// Submits searches, one after the other.
    pub fn run(&mut self, gpu: &Gpu, calls: usize) -> Result<()> {
        let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        for _ in 0..calls {
            self.recorder.record(&mut encoder, self.boxes.slice(..), self.box_count)?;
        }
        gpu.queue().submit([encoder.finish()]);
        Ok(())
    }

    /// Searches, and returns all pairs: what does not fit the list comes in windows.
    pub fn pairs(&mut self, gpu: &Gpu) -> Result<Vec<[u32; 2]>> {
        let mut list = Vec::new();
        loop {
            let boxes = self.boxes.slice(..);
            let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            let first = list.len() as u64;
            let found = if list.is_empty() {
                self.recorder.record(&mut encoder, boxes, self.box_count)?
            } else {
                self.recorder.record_window(&mut encoder, boxes, self.box_count, first, 0)?
            };
            let [header, pairs] = [found.header, found.pairs].map(|buffer| Copy::record(gpu, &mut encoder, buffer));
            gpu.queue().submit([encoder.finish()]);
            let header: Vec<PairHeader> = header.read(gpu)?;
            let (count, written) = (header[0].count as usize, header[0].written as usize);
            list.extend(pairs.read::<[u32; 2]>(gpu)?.into_iter().take(written));
            if written == 0 || list.len() >= count {
                return Ok(list);
            }
        }
    }
}

/// A buffer that the host can read, with a copy of another one.
struct Copy(wgpu::Buffer);

impl Copy {
    /// Records the copy.
    fn record(gpu: &Gpu, encoder: &mut wgpu::CommandEncoder, from: &wgpu::Buffer) -> Self {
        let to = gpu.device().create_buffer(&wgpu::BufferDescriptor {
            label: Some("copy"),
            size: from.size(),
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        encoder.copy_buffer_to_buffer(from, 0, &to, 0, from.size());
        Self(to)
    }

    /// Waits for the device, and reads the copy.
    fn read<T: bytemuck::Pod>(self, gpu: &Gpu) -> Result<Vec<T>> {
        self.0.map_async(wgpu::MapMode::Read, .., |_| ());
        gpu.device().poll(wgpu::PollType::wait_indefinitely())?;
        let bytes = self.0.get_mapped_range(..)?;
        Ok(bytemuck::pod_collect_to_vec::<u8, T>(&bytes))
    }
}
