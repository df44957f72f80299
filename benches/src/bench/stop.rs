//! How a measurement is stopped from outside.

use std::sync::atomic::{AtomicBool, Ordering};

/// What is running is the last.
static STOP: AtomicBool = AtomicBool::new(false);

/// Stops every measurement after the call that it is in; tells whether that was asked for before.
pub fn stop() -> bool {
    STOP.swap(true, Ordering::SeqCst)
}

/// Tells whether [`stop`] was called.
pub fn is_stopped() -> bool {
    STOP.load(Ordering::SeqCst)
}
