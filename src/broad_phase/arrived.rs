//! What the host learns of recordings without asking: the header of each is copied behind its commands, and mapped when the
//! caller submits them.

use std::sync::{Arc, Mutex, PoisonError};

use super::BroadPhase;
use crate::Error;
use crate::gpu::Gpu;
use crate::gpu::readback::Readback;
use crate::layout::{PairHeader, wide};

/// Most headers that are on their way. What is recorded while there are as many is not told of.
const MOST: usize = 4;

const BYTES: u64 = size_of::<PairHeader>() as u64;

/// The headers of recordings, on their way to the host.
#[derive(Debug, Default)]
pub(super) struct Headers {
    slots: Vec<Slot>,
    recordings: u64,
    /// The latest that has arrived, and the number of its recording.
    latest: Option<(u64, PairHeader)>,
}

/// A staging buffer of one header.
#[derive(Debug)]
struct Slot {
    buffer: wgpu::Buffer,
    state: Arc<Mutex<State>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Free,
    /// The header of the recording with this number is copied there, if it is submitted.
    Recorded(u64),
    Mapped(u64),
}

/// Sets a slot free where the commands of a recording are dropped, or the mapping fails.
struct Ticket(Arc<Mutex<State>>);

impl Ticket {
    fn set(&self, next: impl FnOnce(State) -> State) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *state = next(*state);
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.set(|state| if matches!(state, State::Mapped(_)) { state } else { State::Free });
    }
}

impl Slot {
    fn new(gpu: &Gpu) -> Result<Self, Error> {
        let buffer = Readback::staging(gpu, "header of a recording", BYTES)?;
        Ok(Self { buffer, state: Arc::new(Mutex::new(State::Free)) })
    }

    fn state(&self) -> State {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Headers {
    /// Records the copying of a header, to be mapped once its commands have run.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn record(
        &mut self,
        gpu: &Gpu,
        encoder: &mut wgpu::CommandEncoder,
        header: &wgpu::Buffer,
    ) -> Result<(), Error> {
        self.recordings += 1;
        if self.slots.len() < MOST && self.slots.iter().all(|slot| slot.state() != State::Free) {
            self.slots.push(Slot::new(gpu)?);
        }
        let Some(slot) = self.slots.iter().find(|slot| slot.state() == State::Free) else {
            return Ok(());
        };
        let ticket = Ticket(Arc::clone(&slot.state));
        let number = self.recordings;
        ticket.set(|_| State::Recorded(number));
        encoder.copy_buffer_to_buffer(header, 0, &slot.buffer, 0, BYTES);
        encoder.map_buffer_on_submit(&slot.buffer, wgpu::MapMode::Read, ..BYTES, move |result| {
            if result.is_ok() {
                ticket.set(|_| State::Mapped(number));
            }
        });
        Ok(())
    }

    /// Takes in what has arrived, and returns the header of the latest recording that is known.
    pub fn arrived(&mut self) -> Option<PairHeader> {
        for slot in &self.slots {
            let State::Mapped(number) = slot.state() else { continue };
            if let Ok(view) = slot.buffer.get_mapped_range(..BYTES) {
                let header = bytemuck::pod_read_unaligned(&view);
                if self.latest.is_none_or(|(latest, _)| latest < number) {
                    self.latest = Some((number, header));
                }
            }
            slot.buffer.unmap();
            Ticket(Arc::clone(&slot.state)).set(|_| State::Free);
        }
        self.latest.map(|(_, header)| header)
    }
}

impl BroadPhase {
    /// Returns the header of the latest [`record`](Self::record) or [`record_events`](Self::record_events) of which it is known
    /// on the host, some frames after its commands were submitted; `None` before the first. Does not block: headers are
    /// copied along with the commands, and this looks for those that have arrived.
    ///
    /// Where the list was [too short](crate::PairHeader::overflow), the next recording has room for as many pairs, as far as
    /// limits and budget allow: a program that calls this in every frame need not [`reserve`](Self::reserve). With more
    /// than four recordings on their way, some are not told of.
    ///
    /// ```no_run
    /// # fn title(broad_phase: &mut broadsweep::BroadPhase) -> String {
    /// match broad_phase.last_recorded() {
    ///     Some(header) if header.overflow == 0 => format!("{} pairs", header.count),
    ///     _ => "counting".to_owned(),
    /// }
    /// # }
    /// ```
    pub fn last_recorded(&mut self) -> Option<crate::PairHeader> {
        // What happens there, the next call that can fail tells of.
        let _ = self.core.gpu.device().poll(wgpu::PollType::Poll);
        let header = self.headers.arrived()?;
        if header.overflow == crate::constants::OVERFLOW_PAIRS {
            self.core.workspace.wish_for_pairs(wide(header.count, header.count_high));
        }
        Some(header)
    }
}
