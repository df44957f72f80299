//! Paints the panel over a picture.

use std::sync::Arc;

use broadsweep::wgpu;

use crate::overlay::{self, Pace};
use crate::picture::Target;
use crate::viewer::Viewer;

/// Returns egui's own font for text. Its digits have one width, so it also serves numbers, and the page loads a quarter
/// of the bytes of all fonts.
fn fonts() -> egui::FontDefinitions {
    let mut fonts = egui::FontDefinitions::empty();
    let (name, data) = ("Ubuntu Light", epaint_default_fonts::UBUNTU_LIGHT);
    fonts.font_data.insert(name.to_owned(), Arc::new(egui::FontData::from_static(data)));
    for family in [egui::FontFamily::Proportional, egui::FontFamily::Monospace] {
        fonts.families.entry(family).or_default().push(name.to_owned());
    }
    fonts
}

/// The panel and its resources on the device.
pub struct Panel {
    /// The state of egui between frames.
    pub context: egui::Context,
    renderer: egui_wgpu::Renderer,
    /// Textures that can be freed once the last frame is submitted.
    freed: Vec<egui::TextureId>,
}

impl Panel {
    /// Prepares to paint on textures of this format.
    pub fn new(device: &wgpu::Device, format: wgpu::TextureFormat) -> Self {
        let renderer = egui_wgpu::Renderer::new(device, format, egui_wgpu::RendererOptions::default());
        let context = egui::Context::default();
        context.set_fonts(fonts());
        Self { context, renderer, freed: Vec::new() }
    }

    /// Records the panel for this input, which may change the viewer. Returns egui's requests to the platform.
    pub fn record(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        target: &Target<'_>,
        input: egui::RawInput,
        viewer: &mut Viewer,
        pace: Pace,
    ) -> egui::PlatformOutput {
        for id in self.freed.drain(..) {
            self.renderer.free_texture(&id);
        }
        let mut output = self.context.run_ui(input, |ui| overlay::show(ui, viewer, pace));
        let gpu = viewer.gpu().clone();
        let (device, queue) = (gpu.device(), gpu.queue());
        let pixels_per_point = output.pixels_per_point;
        let jobs = self.context.tessellate(output.shapes, pixels_per_point);
        let screen = egui_wgpu::ScreenDescriptor { size_in_pixels: target.size, pixels_per_point };
        let changed = &mut output.textures_delta;
        for (id, deltas) in changed.set.drain() {
            for delta in &deltas {
                self.renderer.update_texture(device, queue, id, delta);
            }
        }
        // Freed before the next frame, as this frame may still read them.
        self.freed.extend(changed.free.drain());
        self.renderer.update_buffers(device, queue, encoder, &jobs, &screen);
        let pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("panel"),
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view: target.view,
                depth_slice: None,
                resolve_target: None,
                ops: wgpu::Operations { load: wgpu::LoadOp::Load, store: wgpu::StoreOp::Store },
            })],
            ..Default::default()
        });
        self.renderer.render(&mut pass.forget_lifetime(), &jobs, &screen);
        output.platform_output
    }
}
