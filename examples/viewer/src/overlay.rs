//! The panel with settings, counts and times.

use broadsweep::device::CompilationProgress;
use broadsweep::{CellSize, Gpu, SweepAxis};

use crate::scene::Kind;
use crate::settings::{BOXES, Lines, Settings};
use crate::viewer::Viewer;

/// Times that the panel shows and the viewer does not measure.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pace {
    /// Seconds from frame to frame, smoothed.
    pub frame: f64,
    /// Seconds in which a frame is recorded and submitted, smoothed.
    pub recording: f64,
}

/// The stages of the method, with the prefixes of the names of their kernels.
const STAGES: [(&str, &[&str]); 7] = [
    ("statistics, frame", &["prepare", "pca", "frame"]),
    ("bin", &["bin"]),
    ("sort", &["sort"]),
    ("rank", &["rank"]),
    ("sweep", &["sweep", "giants", "small"]),
    ("emit, order", &["emit", "order"]),
    ("events", &["event"]),
];

/// Shows the panel.
pub fn show(ui: &mut egui::Ui, viewer: &mut Viewer, pace: Pace) {
    egui::Window::new("broadsweep")
        .default_pos([12.0, 12.0])
        .default_width(250.0)
        .default_height(700.0)
        .vscroll(true)
        .show(ui.ctx(), |ui| {
            scene(ui, viewer);
            ui.separator();
            counts(ui, viewer, pace);
            ui.separator();
            search(ui, viewer);
            ui.separator();
            shown(ui, &mut viewer.settings);
            ui.collapsing("Keys and mouse", |ui| {
                for (key, what) in KEYS {
                    ui.horizontal(|ui| {
                        ui.monospace(key);
                        ui.label(what);
                    });
                }
            });
        });
}

/// Keys and mouse buttons, with their effects.
pub const KEYS: [(&str, &str); 15] = [
    ("drag", "look around"),
    ("right drag", "move sideways"),
    ("wheel", "zoom"),
    ("click", "pick a box"),
    ("space", "pause"),
    (".", "one frame"),
    ("k", "throw the boxes up"),
    ("r", "restart the scene"),
    ("1 to 5", "scene"),
    ("+ -", "double, halve the boxes"),
    ("a", "next sweep axis"),
    ("[ ] c", "smaller, larger, automatic cells"),
    ("e l g t", "events, lines, grid, times"),
    ("s", "sphere around the pointer"),
    ("h esc", "hide the panel, quit"),
];

fn scene(ui: &mut egui::Ui, viewer: &mut Viewer) {
    let has_mesh = viewer.has_mesh();
    let Settings { kind, box_count, speed, .. } = &mut viewer.settings;
    let dragged = ui.scope_id().with("dragged");
    ui.horizontal(|ui| {
        for (name, other) in Kind::NAMED {
            if other != Kind::Mesh || has_mesh {
                ui.selectable_value(kind, other, name);
            }
        }
    });
    // Each value creates a scene, so a drag takes effect at its end.
    let last = ui.data(|data| data.get_temp::<u32>(dragged));
    let mut wanted = last.unwrap_or(*box_count);
    let slider = egui::Slider::new(&mut wanted, BOXES).logarithmic(true).text("boxes").update_while_editing(false);
    let response = ui.add_enabled(*kind != Kind::Mesh, slider.clamping(egui::SliderClamping::Edits));
    if response.dragged() {
        ui.data_mut(|data| data.insert_temp(dragged, wanted));
    } else if last.is_some() || response.changed() {
        *box_count = wanted;
        ui.data_mut(|data| data.remove::<u32>(dragged));
    }
    ui.add(egui::Slider::new(speed, 0.05..=4.0).logarithmic(true).text("speed"));
    ui.horizontal(|ui| {
        ui.toggle_value(&mut viewer.settings.is_paused, "pause");
        if ui.button("step").clicked() {
            viewer.step();
        }
        if ui.button("throw").clicked() {
            viewer.kick();
        }
    });
}

/// Formats a number with commas between thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn row(ui: &mut egui::Ui, name: &str, value: String) {
    ui.horizontal(|ui| {
        ui.label(name);
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| ui.monospace(value));
    });
}

fn counts(ui: &mut egui::Ui, viewer: &Viewer, pace: Pace) {
    let read_back = viewer.read_back();
    row(ui, "boxes", grouped(viewer.box_count().into()));
    match read_back.compilation {
        Some(CompilationProgress { compiled, kernels, .. }) => {
            row(ui, "compiling", format!("{compiled} of {kernels} kernels"))
        }
        None => row(ui, "pairs", read_back.pair_count().map_or_else(|| "…".to_owned(), grouped)),
    }
    if let Some(error) = viewer.refused() {
        ui.colored_label(egui::Color32::LIGHT_RED, format!("refused: {error}"));
    }
    if let Some(error) = &read_back.failure {
        ui.colored_label(egui::Color32::LIGHT_RED, format!("all pairs are tested: {error}"));
    }
    if let Some(report) = &read_back.report {
        row(ui, "candidates", grouped(report.candidate_count));
        if report.tested_all_pairs {
            row(ui, "method", "all pairs".to_owned());
        } else {
            row(ui, "entries in cells", grouped(report.entry_count.into()));
            row(ui, "giants", grouped(report.giant_count.into()));
            row(ui, "axis", format!("{:?}", report.axis));
            row(ui, "cell", format!("{:.3}", report.cell_size));
        }
    }
    row(ui, "frame", format!("{:.1} ms", 1e3 * pace.frame));
    row(ui, "recording", format!("{:.2} ms", 1e3 * pace.recording));
    row(ui, "device memory", format!("{:.1} MB", viewer.bytes() as f64 / 1e6));
    if !read_back.times.is_empty() {
        let total: f64 = read_back.times.iter().map(|kernel| kernel.time.as_secs_f64()).sum();
        row(ui, "broad phase", format!("{:.2} ms", 1e3 * total));
        for (stage, kernels) in STAGES {
            let is_of = |name: &str| kernels.iter().any(|prefix| name.starts_with(prefix));
            let of_stage = read_back.times.iter().filter(|kernel| is_of(kernel.kernel));
            let time: f64 = of_stage.map(|kernel| kernel.time.as_secs_f64()).sum();
            if time > 0.0 {
                row(ui, stage, format!("{:.2} ms", 1e3 * time));
            }
        }
    }
}

fn search(ui: &mut egui::Ui, viewer: &mut Viewer) {
    let edge = viewer.read_back().report.as_ref().map_or(1.0, |report| report.cell_size);
    let can_time = viewer.gpu().device().features().contains(Gpu::TIMING_FEATURES);
    let Settings { has_events, axis, cell_size, is_timed, .. } = &mut viewer.settings;
    ui.checkbox(has_events, "events");
    if can_time {
        ui.checkbox(is_timed, "time each kernel");
    }
    ui.horizontal(|ui| {
        for (name, other) in AXES {
            ui.selectable_value(axis, other, name);
        }
    });
    ui.horizontal(|ui| {
        let is_auto = *cell_size == CellSize::Auto;
        if ui.selectable_label(is_auto, "cells").clicked() {
            *cell_size =
                if is_auto { CellSize::Fixed(if edge.is_finite() { edge } else { 1.0 }) } else { CellSize::Auto };
        }
        if let CellSize::Fixed(edge) = cell_size {
            ui.add(egui::Slider::new(edge, 1e-3..=1e4).logarithmic(true).clamping(egui::SliderClamping::Edits));
        } else {
            ui.label("automatic");
        }
    });
}

/// The axes, in the order of the key `a`.
pub const AXES: [(&str, SweepAxis); 5] = [
    ("auto", SweepAxis::Auto),
    ("principal", SweepAxis::Principal),
    ("x", SweepAxis::X),
    ("y", SweepAxis::Y),
    ("z", SweepAxis::Z),
];

fn shown(ui: &mut egui::Ui, settings: &mut Settings) {
    ui.horizontal(|ui| {
        ui.label("pairs");
        for (name, other) in [("none", Lines::None), ("new", Lines::New), ("all", Lines::All)] {
            ui.selectable_value(&mut settings.lines, other, name);
        }
    });
    ui.checkbox(&mut settings.has_grid, "axis and columns of the grid");
    let mut has_sphere = settings.sphere.is_some();
    ui.checkbox(&mut has_sphere, "sphere around the pointer");
    settings.sphere = has_sphere.then(|| settings.sphere.unwrap_or(2.0));
    if let Some(radius) = &mut settings.sphere {
        let slider = egui::Slider::new(radius, 0.1..=50.0).logarithmic(true).text("radius");
        ui.add(slider.clamping(egui::SliderClamping::Edits));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_prefix_of_a_stage_is_that_of_a_kernel() {
        let folders =
            ["filters", "grid", "pairs"].map(|folder| format!("{}/../../shaders/{folder}", env!("CARGO_MANIFEST_DIR")));
        let files = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
        let names: Vec<String> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        for prefix in STAGES.iter().flat_map(|(_, prefixes)| *prefixes) {
            assert!(names.iter().any(|name| name.starts_with(prefix)), "no kernel begins with {prefix}");
        }
    }
}
