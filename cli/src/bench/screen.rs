//! Prints the progress of a measurement.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use indicatif::{ProgressBar, ProgressStyle};
use laboratory::bench::plan::Watcher;
use laboratory::bench::results::{Results, Row};

use super::files::write_rows;

/// A bar with the time left on standard error, and the rows in files as they come.
pub struct Screen<'a> {
    bar: ProgressBar,
    /// With the rows that there are.
    pub results: Results,
    /// Where the files go.
    out: Option<&'a Path>,
}

impl<'a> Screen<'a> {
    /// Shows nothing where standard error is not a terminal, and writes no files without a directory.
    pub fn new(results: Results, out: Option<&'a Path>) -> Self {
        let bar = ProgressBar::no_length();
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {percent:>3} %, {eta} left  {msg}") {
            bar.set_style(style);
        }
        Self { bar, results, out }
    }
}

impl Watcher for Screen<'_> {
    fn expect(&mut self, work: u64) {
        self.bar.reset();
        self.bar.set_length(work);
        self.bar.enable_steady_tick(Duration::from_millis(200));
    }

    fn begin(&mut self, what: &str) {
        self.bar.set_message(what.to_owned());
    }

    fn reach(&mut self, work: u64) {
        self.bar.set_position(work);
    }

    fn keep(&mut self, rows: &[Row]) {
        self.results.rows = rows.to_vec();
        self.results.unix_time = now();
        if let (Some(out), false) = (self.out, rows.is_empty()) {
            // A failed write is not reported here: the final write reports it.
            let _ = write_rows(&self.results, out);
        }
    }

    fn finish(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Gives the time in seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}
