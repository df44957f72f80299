//! Times of the parts of a frame on the device. Timestamps are read back some frames later.

use std::mem::take;
use std::sync::{Arc, Mutex, PoisonError};

use broadsweep::wgpu;

/// The parts of a frame, in their order.
pub const PARTS: [&str; 4] = ["move", "broad phase", "effects", "picture"];

/// Timestamps per frame: one at its beginning, and one behind each part.
const STAMPS: u32 = PARTS.len() as u32 + 1;
/// The most frames whose timestamps are read back at once. Further frames are not timed.
const MOST: usize = 4;

/// The state of the timestamps of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Free,
    OnTheWay,
    Arrived,
}

struct Slot {
    staging: wgpu::Buffer,
    state: Arc<Mutex<State>>,
}

impl Slot {
    fn state(&self) -> State {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn set(state: &Mutex<State>, to: State) {
    *state.lock().unwrap_or_else(PoisonError::into_inner) = to;
}

/// The clock of a device with timestamps.
pub struct Clock {
    device: wgpu::Device,
    queries: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    /// Milliseconds of a tick.
    tick: f64,
    slots: Vec<Slot>,
    sums: [f64; PARTS.len()],
    frames: u32,
    next: u32,
}

impl Clock {
    const BYTES: u64 = 8 * STAMPS as u64;

    /// Creates a clock; `None` where the device has no timestamps in encoders.
    pub fn new(device: &wgpu::Device, queue: &wgpu::Queue) -> Option<Self> {
        let needed = wgpu::Features::TIMESTAMP_QUERY | wgpu::Features::TIMESTAMP_QUERY_INSIDE_ENCODERS;
        if !device.features().contains(needed) {
            return None;
        }
        let queries = device.create_query_set(&wgpu::QuerySetDescriptor {
            label: Some("parts of a frame"),
            ty: wgpu::QueryType::Timestamp,
            count: STAMPS,
        });
        let resolved = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("parts of a frame"),
            size: Self::BYTES,
            usage: wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: false,
        });
        let tick = 1e-6 * f64::from(queue.get_timestamp_period());
        let device = device.clone();
        let sums = [0.0; PARTS.len()];
        Some(Self { device, queries, resolved, tick, slots: Vec::new(), sums, frames: 0, next: 0 })
    }

    /// Records the beginning of a frame.
    pub fn begin(&mut self, encoder: &mut wgpu::CommandEncoder) {
        self.next = 0;
        self.mark(encoder);
    }

    /// Records the end of a part.
    pub fn mark(&mut self, encoder: &mut wgpu::CommandEncoder) {
        encoder.write_timestamp(&self.queries, self.next);
        self.next += 1;
    }

    /// Records the end of a frame.
    pub fn end(&mut self, encoder: &mut wgpu::CommandEncoder) {
        debug_assert_eq!(self.next, STAMPS, "a timestamp for each part");
        self.take_in();
        let free = self.slots.iter().position(|slot| slot.state() == State::Free);
        let place = free.unwrap_or(self.slots.len());
        if place == MOST {
            return;
        }
        if place == self.slots.len() {
            let staging = self.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("parts of a frame"),
                size: Self::BYTES,
                usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            });
            self.slots.push(Slot { staging, state: Arc::new(Mutex::new(State::Free)) });
        }
        let slot = &self.slots[place];
        encoder.resolve_query_set(&self.queries, 0..STAMPS, &self.resolved, 0);
        encoder.copy_buffer_to_buffer(&self.resolved, 0, &slot.staging, 0, Self::BYTES);
        set(&slot.state, State::OnTheWay);
        let state = Arc::clone(&slot.state);
        encoder.map_buffer_on_submit(&slot.staging, wgpu::MapMode::Read, .., move |result| {
            set(&state, if result.is_ok() { State::Arrived } else { State::Free });
        });
    }

    fn take_in(&mut self) {
        for slot in &self.slots {
            if slot.state() != State::Arrived {
                continue;
            }
            if let Ok(view) = slot.staging.get_mapped_range(..) {
                let stamps: Vec<u64> = bytemuck::pod_collect_to_vec(&view);
                for (sum, ends) in self.sums.iter_mut().zip(stamps.windows(2)) {
                    *sum += self.tick * ends[1].saturating_sub(ends[0]) as f64;
                }
                self.frames += 1;
            }
            slot.staging.unmap();
            set(&slot.state, State::Free);
        }
    }

    /// Returns the mean milliseconds of each part in the frames read back since the last call; `None` if there are
    /// none.
    pub fn means(&mut self) -> Option<[f64; PARTS.len()]> {
        self.take_in();
        let (sums, frames) = (take(&mut self.sums), take(&mut self.frames));
        (frames > 0).then(|| sums.map(|sum| sum / f64::from(frames)))
    }
}
