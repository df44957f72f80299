//! The way to stop a measurement from outside.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the call that is running is the last.
static STOP: AtomicBool = AtomicBool::new(false);

/// Stops every measurement after the call that it is in; returns whether that was asked for before.
pub fn stop() -> bool {
    STOP.swap(true, Ordering::SeqCst)
}

/// Tells whether [`stop`] was called.
pub fn is_stopped() -> bool {
    STOP.load(Ordering::SeqCst)
}
