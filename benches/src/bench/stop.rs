//! The way to stop a measurement from outside.

use std::sync::atomic::{AtomicBool, Ordering};

/// True if the call that is running is the last.
static STOP: AtomicBool = AtomicBool::new(false);

/// Stops every measurement after the call that it is in; returns whether that was requested before.
pub fn stop() -> bool {
    STOP.swap(true, Ordering::SeqCst)
}

/// Returns whether [`stop`] was called.
pub fn is_stopped() -> bool {
    STOP.load(Ordering::SeqCst)
}
