//! A list of pairs in pieces.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::Builder;

use broadsweep::{Aabb, AnyEngine, Engine as _, Error, Pair};
use numpy::PyArray2;
use pyo3::exceptions::{PyMemoryError, PyRuntimeError};
use pyo3::prelude::*;

use crate::arrays::{copy, copy_boxes, pairs};
use crate::devices::refusal;
use crate::errors::panicked;
use crate::host::Working;
use crate::lease::{Leasable, Lease, Streaming};
use crate::reports::Report;
use crate::running;

/// A list of pairs in pieces: an iterator of arrays `(m, 2)`.
#[pyclass(frozen, module = "broadsweep")]
pub struct Pieces {
    /// The source of pieces.
    source: Mutex<Source>,
    report: Mutex<Option<broadsweep::Report>>,
    /// Marks the engine as leased to this stream.
    streaming: Streaming<Working<AnyEngine>>,
}

enum Source {
    Open(Receiver<Message>),
    /// A thread waits for a piece.
    Awaited,
    /// All pieces were received, or the stream was closed.
    Closed,
}

enum Message {
    Piece(broadsweep::Report, Vec<Pair>),
    Done(Result<broadsweep::Report, Stop>),
}

/// Why a stream ends early.
enum Stop {
    /// The receiver is closed.
    Closed,
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

fn send(
    lease: &mut Lease<Working<AnyEngine>>,
    boxes: &[Aabb],
    sender: &SyncSender<Message>,
) -> Result<broadsweep::Report, Stop> {
    let each = |report: &broadsweep::Report, piece: &[Pair]| {
        // An empty list has a piece too.
        sender.send(Message::Piece(report.clone(), copy(piece, "a piece")?)).map_err(|_| Stop::Closed)
    };
    lease.engine.stream_pairs(boxes, each)
}

impl Pieces {
    /// Starts the search on a thread, which waits with each piece until the last one was received.
    pub fn start(py: Python<'_>, leasable: &Leasable<Working<AnyEngine>>, boxes: &[Aabb]) -> PyResult<Self> {
        let (mut lease, streaming) = leasable.lease_to_stream(py)?;
        let pool = running::pool(None)?;
        let mut own = Vec::new();
        running::run(py, || pool.install(|| copy_boxes(boxes, &mut own)))?;
        let (sender, receiver) = sync_channel(1);
        let work = move || {
            let result = send(&mut lease, &own, &sender);
            drop(lease);
            let _ = sender.send(Message::Done(result));
        };
        let started = Builder::new().name("broadsweep stream".to_owned()).spawn(work);
        started.map_err(|error| PyMemoryError::new_err(format!("no thread for the stream: {error}")))?;
        Ok(Self { source: Mutex::new(Source::Open(receiver)), report: Mutex::default(), streaming })
    }

    fn source(&self) -> MutexGuard<'_, Source> {
        self.source.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self) {
        *self.source() = Source::Closed;
        self.streaming.end();
    }

    /// Restores the source for the next piece, unless another thread has closed the stream meanwhile.
    fn reopen(&self, source: Receiver<Message>) {
        let mut place = self.source();
        if matches!(*place, Source::Awaited) {
            *place = Source::Open(source);
        }
    }
}

#[pymethods]
impl Pieces {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<u32>>>> {
        let mut source = {
            let mut place = self.source();
            match std::mem::replace(&mut *place, Source::Awaited) {
                Source::Open(source) => source,
                Source::Awaited => {
                    return Err(PyRuntimeError::new_err("another thread waits for a piece of this stream"));
                }
                Source::Closed => {
                    *place = Source::Closed;
                    return Ok(None);
                }
            }
        };
        let received = match running::wait(py, &mut source) {
            Ok(received) => received,
            Err(interrupted) => {
                self.reopen(source);
                return Err(interrupted);
            }
        };
        let (report, piece) = match received {
            Some(Message::Piece(report, piece)) => {
                self.reopen(source);
                (report, Some(piece))
            }
            ended => {
                self.end();
                match ended {
                    Some(Message::Done(Ok(report))) => (report, None),
                    Some(Message::Done(Err(Stop::Failed(error)))) => return Err(refusal(&error)),
                    Some(_) => return Ok(None),
                    None => return Err(panicked(&"a thread ended")),
                }
            }
        };
        *self.report.lock().unwrap_or_else(PoisonError::into_inner) = Some(report);
        piece.map(|piece| pairs(py, piece)).transpose()
    }

    /// Ends the stream: the engine can be used again.
    fn close(&self) {
        self.end();
    }

    /// Counts and choices, after the first piece.
    #[getter]
    fn report(&self) -> Option<Report> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(Report::from)
    }
}

impl Drop for Pieces {
    fn drop(&mut self) {
        self.end();
    }
}
