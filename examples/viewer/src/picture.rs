//! Draws boxes, pairs, the picked box and the grid, from GPU buffers.

use broadsweep::record::GpuPairs;
use broadsweep::wgpu;

use crate::globals::Globals;
use crate::grid::{LineEnd, MOST_ENDS};
use crate::kernel::{Bound, module};
use crate::pointer::Pointer;
use crate::search::Found;
use crate::simulation::Simulation;
use crate::touch::{ENDED_MOST, Touch};

/// A texture to draw to.
pub struct Target<'a> {
    /// The texture.
    pub view: &'a wgpu::TextureView,
    /// Its width and height in pixels.
    pub size: [u32; 2],
}

/// The format of pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// The format of the target texture.
    pub color: wgpu::TextureFormat,
    /// Samples per pixel: 1, or 4 for smooth edges.
    pub samples: u32,
}

const DEPTH: wgpu::TextureFormat = wgpu::TextureFormat::Depth32Float;
/// Vertices of the three visible faces of a box, as in `shaders/draw.wgsl`.
const BOX_VERTICES: u32 = 18;
/// Twelve edges, and three circles of 64 lines.
const POINTED_VERTICES: u32 = 24 + 3 * 128;
const BACKGROUND: wgpu::Color = wgpu::Color { r: 0.008, g: 0.010, b: 0.016, a: 1.0 };

/// The textures beside the target, for one size of the target.
struct Textures {
    size: [u32; 2],
    depth: wgpu::TextureView,
    /// The samples, if a pixel has several.
    samples: Option<wgpu::TextureView>,
}

/// The pipelines that draw.
pub struct Picture {
    device: wgpu::Device,
    format: Format,
    layout: wgpu::BindGroupLayout,
    boxes: wgpu::RenderPipeline,
    pairs: wgpu::RenderPipeline,
    ended: wgpu::RenderPipeline,
    pointed: wgpu::RenderPipeline,
    grid: wgpu::RenderPipeline,
    grid_ends: wgpu::Buffer,
    grid_count: u32,
    bound: Bound,
    textures: Option<Textures>,
}

/// The contents of a picture.
pub struct Drawn<'a> {
    /// The bodies.
    pub simulation: &'a Simulation,
    /// The ages of pairs and the recent changes.
    pub touch: &'a Touch,
    /// The picked box and the sphere.
    pub pointer: &'a Pointer,
    /// The pairs to draw as lines, if any.
    pub pairs: Option<&'a Found<'a>>,
    /// The uniforms of all shaders.
    pub globals: &'a wgpu::Buffer,
    /// The box count.
    pub box_count: u32,
}

impl Picture {
    /// Compiles the pipelines.
    pub fn new(device: &wgpu::Device, format: Format) -> Self {
        let layout = layout(device);
        let module = module(device, "draw", include_str!("../shaders/draw.wgsl"));
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some("draw"),
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let end = wgpu::VertexBufferLayout {
            array_stride: size_of::<LineEnd>() as u64,
            step_mode: wgpu::VertexStepMode::Vertex,
            attributes: &wgpu::vertex_attr_array![0 => Float32x3, 1 => Float32x4],
        };
        let make = |entry, buffers: &[Option<wgpu::VertexBufferLayout<'_>>]| {
            pipeline(device, &pipeline_layout, &module, format, entry, buffers)
        };
        Self {
            boxes: make("box_vertex", &[]),
            pairs: make("pair_vertex", &[]),
            ended: make("ended_vertex", &[]),
            pointed: make("pointed_vertex", &[]),
            grid: make("grid_vertex", &[Some(end)]),
            grid_ends: device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("grid"),
                size: (MOST_ENDS * size_of::<LineEnd>()) as u64,
                usage: wgpu::BufferUsages::VERTEX | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            }),
            grid_count: 0,
            layout,
            device: device.clone(),
            format,
            bound: Bound::default(),
            textures: None,
        }
    }

    /// Returns the pixel format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Sets the lines of the grid.
    pub fn set_grid(&mut self, queue: &wgpu::Queue, ends: &[LineEnd]) {
        let ends = &ends[..ends.len().min(MOST_ENDS)];
        self.grid_count = ends.len() as u32;
        queue.write_buffer(&self.grid_ends, 0, bytemuck::cast_slice(ends));
    }

    /// Records the drawing of a frame.
    pub fn record(&mut self, encoder: &mut wgpu::CommandEncoder, target: &Target<'_>, drawn: &Drawn<'_>) {
        self.fit(target.size);
        let Self { device, layout, bound, textures, .. } = self;
        let Some(textures) = textures else { return };
        let Drawn { simulation, touch, pointer, .. } = *drawn;
        let buffers = [
            (0, drawn.globals),
            (1, &simulation.bodies),
            (2, &simulation.boxes),
            (3, &simulation.contacts),
            (4, &touch.stamps),
            (5, &touch.ended),
            (6, &pointer.pointed),
            (7, touch.ages()),
            // A binding needs a buffer even if nothing of it is drawn.
            (8, drawn.pairs.map_or(&touch.ended, |found| found.pairs.pairs)),
        ];
        let group = bound.get(device, layout, &buffers);
        let (view, resolve_target) = match &textures.samples {
            Some(samples) => (samples, Some(target.view)),
            None => (target.view, None),
        };
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("picture"),
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view,
                depth_slice: None,
                resolve_target,
                ops: wgpu::Operations { load: wgpu::LoadOp::Clear(BACKGROUND), store: wgpu::StoreOp::Store },
            })],
            depth_stencil_attachment: Some(wgpu::RenderPassDepthStencilAttachment {
                view: &textures.depth,
                depth_ops: Some(wgpu::Operations { load: wgpu::LoadOp::Clear(0.0), store: wgpu::StoreOp::Discard }),
                stencil_ops: None,
            }),
            ..Default::default()
        });
        pass.set_bind_group(0, group, &[]);
        pass.set_pipeline(&self.boxes);
        pass.draw(0..BOX_VERTICES * drawn.box_count, 0..1);
        if let Some(found) = drawn.pairs {
            pass.set_pipeline(&self.pairs);
            pass.draw_indirect(found.pairs.arguments, GpuPairs::DRAW_LIST_OFFSET);
            if found.events.is_some() {
                pass.set_pipeline(&self.ended);
                pass.draw(0..2 * ENDED_MOST, 0..1);
            }
        }
        if self.grid_count > 0 {
            pass.set_pipeline(&self.grid);
            pass.set_vertex_buffer(0, self.grid_ends.slice(..));
            pass.draw(0..self.grid_count, 0..1);
        }
        pass.set_pipeline(&self.pointed);
        pass.draw(0..POINTED_VERTICES, 0..1);
    }

    /// Recreates the textures if the size has changed.
    fn fit(&mut self, size: [u32; 2]) {
        if self.textures.as_ref().is_some_and(|textures| textures.size == size) {
            return;
        }
        let view = |format, sample_count| {
            let texture = self.device.create_texture(&wgpu::TextureDescriptor {
                label: Some("picture"),
                size: wgpu::Extent3d { width: size[0], height: size[1], depth_or_array_layers: 1 },
                mip_level_count: 1,
                sample_count,
                dimension: wgpu::TextureDimension::D2,
                format,
                usage: wgpu::TextureUsages::RENDER_ATTACHMENT,
                view_formats: &[],
            });
            texture.create_view(&Default::default())
        };
        let Format { color, samples } = self.format;
        self.textures =
            Some(Textures { size, depth: view(DEPTH, samples), samples: (samples > 1).then(|| view(color, samples)) });
    }
}

/// Creates the bind group layout of all pipelines.
fn layout(device: &wgpu::Device) -> wgpu::BindGroupLayout {
    let entry = |binding, ty| wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::VERTEX,
        ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None },
        count: None,
    };
    let read = wgpu::BufferBindingType::Storage { read_only: true };
    let mut entries = vec![entry(0, wgpu::BufferBindingType::Uniform)];
    entries.extend((1..9).map(|binding| entry(binding, read)));
    debug_assert!(size_of::<Globals>().is_multiple_of(16), "as a uniform has it");
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: Some("draw"), entries: &entries })
}

/// Compiles the pipeline of a vertex shader: solid for boxes, otherwise lines over them.
fn pipeline(
    device: &wgpu::Device,
    layout: &wgpu::PipelineLayout,
    module: &wgpu::ShaderModule,
    format: Format,
    entry: &str,
    buffers: &[Option<wgpu::VertexBufferLayout<'_>>],
) -> wgpu::RenderPipeline {
    let is_solid = entry == "box_vertex";
    let (topology, color) = match is_solid {
        true => (wgpu::PrimitiveTopology::TriangleList, "box_color"),
        false => (wgpu::PrimitiveTopology::LineList, "line_color"),
    };
    device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some(entry),
        layout: Some(layout),
        vertex: wgpu::VertexState {
            module,
            entry_point: Some(entry),
            compilation_options: Default::default(),
            buffers,
        },
        primitive: wgpu::PrimitiveState { topology, ..Default::default() },
        depth_stencil: Some(wgpu::DepthStencilState {
            format: DEPTH,
            depth_write_enabled: Some(is_solid),
            // Depth grows towards the camera. Lines of pairs lie inside of boxes, so boxes do not hide them.
            depth_compare: Some(match entry {
                "box_vertex" | "grid_vertex" => wgpu::CompareFunction::Greater,
                _ => wgpu::CompareFunction::Always,
            }),
            stencil: Default::default(),
            bias: Default::default(),
        }),
        multisample: wgpu::MultisampleState { count: format.samples, ..Default::default() },
        fragment: Some(wgpu::FragmentState {
            module,
            entry_point: Some(color),
            compilation_options: Default::default(),
            targets: &[Some(wgpu::ColorTargetState {
                format: format.color,
                blend: (!is_solid).then_some(wgpu::BlendState::ALPHA_BLENDING),
                write_mask: wgpu::ColorWrites::ALL,
            })],
        }),
        multiview_mask: None,
        cache: None,
    })
}
