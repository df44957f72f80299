//! A time line of the frames, in a file that `chrome://tracing` and Perfetto show.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// The rows of the time line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Track {
    /// Work of the host.
    Host = 1,
    /// Waits of the host for the device.
    Waiting = 2,
    /// Work of the device, from the notifications that the host receives.
    Device = 3,
}

/// An event with its beginning and end, in microseconds.
#[derive(Clone, Copy, Debug)]
struct Span {
    name: &'static str,
    track: Track,
    begin: f64,
    end: f64,
}

/// The events so far. Clones share them.
#[derive(Clone)]
pub struct Trace {
    start: Instant,
    spans: Arc<Mutex<Vec<Span>>>,
    is_off: bool,
}

impl Default for Trace {
    fn default() -> Self {
        Self { start: Instant::now(), spans: Arc::default(), is_off: false }
    }
}

impl Trace {
    /// Creates a trace that records nothing.
    pub fn off() -> Self {
        Self { is_off: true, ..Self::default() }
    }

    /// Returns the microseconds since the trace was created.
    pub fn now(&self) -> f64 {
        1e6 * self.start.elapsed().as_secs_f64()
    }

    /// Records an event that began at `begin` and ends now.
    pub fn note(&self, track: Track, name: &'static str, begin: f64) {
        if self.is_off {
            return;
        }
        let end = self.now();
        let mut spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
        // Events of one row do not overlap.
        let last = spans.iter().rev().find(|span| span.track == track).map_or(0.0, |span| span.end);
        spans.push(Span { name, track, begin: begin.max(last), end });
    }

    /// Sums the microseconds of all events with this name.
    pub fn total(&self, name: &str) -> f64 {
        let spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
        spans.iter().filter(|span| span.name == name).map(|span| span.end - span.begin).sum()
    }

    /// Writes all events as JSON.
    ///
    /// # Errors
    /// Errors of `to`.
    pub fn write(&self, mut to: impl Write) -> io::Result<()> {
        writeln!(to, "[")?;
        for (track, name) in [(Track::Host, "host"), (Track::Waiting, "host, waiting"), (Track::Device, "device")] {
            let track = track as u32;
            writeln!(to, r#"{{"ph":"M","pid":1,"tid":{track},"name":"thread_name","args":{{"name":"{name}"}}}},"#)?;
        }
        let spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
        for (i, &Span { name, track, begin, end }) in spans.iter().enumerate() {
            let (track, length) = (track as u32, end - begin);
            let comma = if i + 1 < spans.len() { "," } else { "" };
            writeln!(
                to,
                r#"{{"ph":"X","pid":1,"tid":{track},"name":"{name}","ts":{begin:.1},"dur":{length:.1}}}{comma}"#
            )?;
        }
        writeln!(to, "]")
    }
}
