//! The sign that long work goes on.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::text;

/// A spinner on standard error, gone when dropped; nothing where that is not a terminal.
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Starts to spin beside `message`.
    pub fn start(message: String) -> Self {
        let bar = ProgressBar::new_spinner().with_message(text::printable(&message));
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(100));
        Self { bar }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
