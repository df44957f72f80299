//! The viewer in a page. `page/page.js` calls these functions, and handles the page itself:
//! `show` runs frames in a canvas with WebGPU, `CpuView` without WebGPU, and `check` compares the two engines.

#![cfg(target_arch = "wasm32")]
#![warn(missing_docs)]

mod check;
mod cpu_view;

use broadsweep_viewer::scene::Kind;
use broadsweep_viewer::settings::Settings;
use broadsweep_viewer::window::{self, Start, Status};
use wasm_bindgen::prelude::*;
use web_sys::HtmlCanvasElement;

/// Writes panics with their location to the console.
#[wasm_bindgen(start)]
pub fn start() {
    console_error_panic_hook::set_once();
}

/// Shows frames of a scene in a canvas. `tell` receives the state as text, and the progress of the kernels
/// from 0 to 1: 2 once there are pairs, `NaN` after a failure.
///
/// # Errors
/// The reason why there are no frames.
#[wasm_bindgen]
pub fn show(canvas: HtmlCanvasElement, scene: &str, box_count: u32, tell: js_sys::Function) -> Result<(), JsValue> {
    let kind = kind(scene)?;
    let settings = Settings { kind, box_count, ..Settings::default() };
    let start = Start { settings, mesh: Vec::new(), size: [0; 2], adapter: None };
    let tell = move |status: &Status| {
        let part = match status {
            Status::Compiling(progress) => progress.compiled as f64 / progress.kernels.max(1) as f64,
            Status::Running { pair_count: None, .. } => 1.0,
            Status::Running { .. } => 2.0,
            Status::Failed(_) => f64::NAN,
        };
        // Exceptions of the page are ignored.
        _ = tell.call2(&JsValue::NULL, &status.to_string().into(), &part.into());
    };
    window::spawn(canvas, start, tell).map_err(|error| js_error(&format!("{error:#}")))
}

/// Returns the scene of this name.
fn kind(name: &str) -> Result<Kind, JsValue> {
    let named = Kind::NAMED.iter().find(|(other, kind)| *other == name && *kind != Kind::Mesh);
    named.map(|(_, kind)| *kind).ok_or_else(|| js_error(&format!("there is no scene '{name}'")))
}

/// Creates an error for the page.
fn js_error(message: &str) -> JsValue {
    js_sys::Error::new(message).into()
}

/// Returns the milliseconds since the page was opened.
fn now() -> f64 {
    web_sys::window().and_then(|window| window.performance()).map_or(0.0, |performance| performance.now())
}
