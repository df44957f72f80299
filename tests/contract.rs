//! What Rust and WGSL have to agree on, found by reading both: none of this needs a GPU.

use std::any::Any;
use std::fs;
use std::mem::offset_of;
use std::path::Path;

use broadsweep::internals::gpu::kernel::{Source, bindings};
use broadsweep::internals::mirror;
use broadsweep::internals::{kernels::SOURCES, layout};
use broadsweep::wgpu::BufferBindingType::{Storage, Uniform};

/// Names without `.wgsl`, and texts, of all folders.
fn shader_files() -> Vec<(String, String)> {
    let shaders = Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders");
    let entries = |folder: &Path| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    let mut files: Vec<_> = entries(&shaders)
        .iter()
        .flat_map(|folder| entries(folder))
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().strip_suffix(".wgsl");
            let name = name.unwrap_or_else(|| panic!("{} is no shader", path.display())).to_owned();
            (name, fs::read_to_string(&path).unwrap())
        })
        .collect();
    files.sort();
    files
}

fn module(source: &Source) -> naga::Module {
    source.module().unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_kernel_parses_and_validates() {
    for source in SOURCES {
        module(source);
    }
}

#[test]
fn every_shader_file_is_one_kernel_or_shared_by_some() {
    let mut kernels = 0;
    for (name, text) in shader_files() {
        if text.contains("@compute") {
            let own = SOURCES.iter().filter(|source| source.label == name).collect::<Vec<_>>();
            assert_eq!(own.len(), 1, "{name}.wgsl is in SOURCES {} times", own.len());
            assert_eq!(own[0].own, text, "the source {name} is another file");
            kernels += 1;
        } else {
            let used = SOURCES.iter().any(|source| source.shared.contains(&text.as_str()));
            assert!(used, "no kernel shares {name}.wgsl");
        }
    }
    assert_eq!(kernels, SOURCES.len());
}

#[test]
fn every_kernel_has_one_entry_point_with_the_name_of_its_file() {
    for source in SOURCES {
        let module = module(source);
        let names: Vec<_> = module.entry_points.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, [source.label]);
        assert_eq!(module.entry_points[0].stage, naga::ShaderStage::Compute);
    }
}

// ---- structures ----

struct Twin {
    name: &'static str,
    size: usize,
    /// Names and offsets.
    fields: Vec<(&'static str, usize)>,
}

/// The layout of structures of `layout`. A field that is left out does not compile.
macro_rules! twins {
    ($($name:ident { $($field:ident),* $(,)? })*) => {
        [$({
            let layout::$name { $($field: _),* } = bytemuck::Zeroable::zeroed();
            Twin {
                name: stringify!($name),
                size: size_of::<layout::$name>(),
                fields: vec![$((stringify!($field), offset_of!(layout::$name, $field))),*],
            }
        }),*]
    };
}

fn twins() -> impl IntoIterator<Item = Twin> {
    twins! {
        Params {
            box_count, entry_capacity, giant_tile_capacity, axis, cell_mode, cell_size, candidate_limit_low,
            candidate_limit_high, vertices_per_pair, tile_capacity, world_count, include_count,
        }
        FilterLayout {
            rule, groups, masks, bodies, parents, fixed, sleeping, worlds, rows, row_count, others, half_space_bits,
            half_space_boxes, half_spaces, half_space_count, unused,
        }
        Window { first_low, first_high, capacity, unused }
        SortPass { shift, of_pairs, digit_bits, unused }
        Bounds { min, count, max, unused }
        BoundsPartial { ordinary, finite }
        Moments { sum, count, squares, unused_a, products, unused_b, edge_sum, unused_c, edge_max, unused_d }
        Frame {
            sweep, scale, plane_u, limit, plane_v, inverse_cell, origin, plane_slop, sweep_slop, cell_min, cell_max,
            cell_bits, max_span, position_bits, key_bits, giant_cells, axis, cell_size, outside_count, tile_bits, knots,
        }
        Counts {
            level, entry_count, giant_count, invalid_count, first_invalid, candidate_low, candidate_high, refused,
            sweep_tiles, sweep_tiles_per_group, sweep_tiles_per_block, sweep_blocks, giant_tiles,
            giant_tiles_per_block, giant_blocks, pair_low, pair_high, written, key_bits, unused_a, unused_b,
        }
        Run { hits, first_rank, first_quad, turns }
        Dispatches {
            bin_scatter, sort_passes, rank, sweep_count, sweep_test, giants_test, emit_place, emit_sweep, emit_again, sort_pairs,
            order,
        }
        PairHeader { count, count_high, capacity, overflow, written, unused }
        PairArguments { dispatch, unused, draw }
        Stretch { offset, end }
    }
}

/// Names of the structures that a text declares.
fn structs_in<'a>(text: &'a str, keyword: &str) -> Vec<&'a str> {
    text.lines()
        .filter_map(|line| line.strip_prefix(keyword)?.strip_suffix(" {"))
        .map(|name| name.split('<').next().unwrap_or(name))
        .collect()
}

#[test]
fn structures_have_the_same_size_and_offsets_in_rust_and_in_wgsl() {
    for twin in twins() {
        let mut found = 0;
        for source in SOURCES {
            let module = module(source);
            let types = module.types.iter().filter(|(_, ty)| ty.name.as_deref() == Some(twin.name));
            for (_, ty) in types {
                let naga::TypeInner::Struct { members, span } = &ty.inner else {
                    panic!("{} is no structure in {}", twin.name, source.label)
                };
                let members: Vec<_> = members
                    .iter()
                    .map(|member| (member.name.as_deref().unwrap_or(""), member.offset as usize))
                    .collect();
                assert_eq!(members, twin.fields, "{} in {}", twin.name, source.label);
                assert_eq!(*span as usize, twin.size, "size of {} in {}", twin.name, source.label);
                found += 1;
            }
        }
        assert!(found > 0, "no kernel knows the structure {}", twin.name);
    }
}

#[test]
fn every_structure_of_layout_has_its_twin_compared() {
    let mut compared: Vec<_> = twins().into_iter().map(|twin| twin.name).collect();
    let mut declared = structs_in(include_str!("../src/layout.rs"), "pub struct ");
    compared.sort_unstable();
    declared.sort_unstable();
    assert_eq!(compared, declared);
}

#[test]
fn pairs_have_the_layout_of_two_numbers_and_boxes_of_six() {
    assert_eq!((size_of::<broadsweep::Pair>(), offset_of!(broadsweep::Pair, b)), (8, 4));
    assert_eq!((size_of::<broadsweep::Aabb>(), offset_of!(broadsweep::Aabb, max)), (24, 12));
}

// ---- mirrors ----

/// Label of a kernel and its mirror. A mirror that is missing does not compile.
macro_rules! mirrors {
    ($($stage:ident::$kernel:ident),* $(,)?) => {
        [$((concat!(stringify!($stage), "_", stringify!($kernel)), &mirror::$stage::$kernel as &dyn Any)),*]
    };
}

#[test]
fn every_kernel_has_a_mirror_of_the_same_name_unless_it_only_places_what_another_found() {
    let mirrors = mirrors![
        prepare::boxes,
        pca::bounds,
        pca::moments,
        frame::choose,
        bin::worlds,
        bin::count,
        bin::scan,
        bin::scatter,
        sort::count,
        sort::scan,
        sort::scatter,
        sort::tally,
        sort::wide,
        sort::ballot,
        rank::ends,
        sweep::count,
        sweep::scan,
        sweep::test,
        giants::test,
        emit::scan,
        emit::giants,
        order::split,
        order::join,
        small::test,
        small::emit,
    ];
    let mirrored: Vec<_> = mirrors.iter().map(|(label, _)| *label).collect();
    // The pairs that these write are those of `mirror::sweep::test`, in its order, or those that the filters include.
    let placed = ["emit_place", "emit_sweep", "emit_again", "emit_include", "small_include"];
    let kernels: Vec<_> = SOURCES.iter().map(|source| source.label).collect();
    assert!(placed.iter().all(|label| kernels.contains(label)));
    let others: Vec<_> = kernels.into_iter().filter(|label| !placed.contains(label)).collect();
    assert_eq!(mirrored, others);
}

// ---- limits ----

#[test]
fn every_kernel_stays_within_the_default_limits_of_webgpu() {
    let limits = broadsweep::wgpu::Limits::defaults();
    for source in SOURCES {
        let label = source.label;
        let module = module(source);
        let bindings = bindings(&module);
        let storage = bindings.iter().filter(|binding| matches!(binding.kind, Storage { .. })).count();
        let uniform = bindings.iter().filter(|binding| binding.kind == Uniform).count();
        assert!(storage <= limits.max_storage_buffers_per_shader_stage as usize, "{label}: {storage} storage buffers");
        assert!(uniform <= limits.max_uniform_buffers_per_shader_stage as usize, "{label}: {uniform} uniform buffers");
        // What `Gpu::from_device` asks of a device that the caller brings.
        assert!(storage <= 8 && uniform <= 4, "{label}: {storage} + {uniform} buffers");
        // A limit of the numbers, not of how many there are.
        assert!(bindings.iter().all(|binding| binding.index < 12), "{label}: {bindings:?}");

        let entry = &module.entry_points[0];
        let [x, y, z] = entry.workgroup_size;
        assert!(x * y * z <= limits.max_compute_invocations_per_workgroup, "{label}: {x} x {y} x {z} invocations");
        assert!(x <= limits.max_compute_workgroup_size_x && (y, z) == (1, 1), "{label}: {x} x {y} x {z}");

        let mut layouter = naga::proc::Layouter::default();
        layouter.update(module.to_ctx()).unwrap();
        let workgroup: u32 = module
            .global_variables
            .iter()
            .filter(|(_, variable)| variable.space == naga::AddressSpace::WorkGroup)
            .map(|(_, variable)| layouter[variable.ty].size.next_multiple_of(16))
            .sum();
        assert!(workgroup <= limits.max_compute_workgroup_storage_size, "{label}: {workgroup} bytes of a workgroup");
    }
}

#[test]
fn every_kernel_but_the_sort_by_ballots_does_without_optional_features() {
    for (name, text) in shader_files().into_iter().filter(|(name, _)| *name != "sort_ballot") {
        for (number, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or(line);
            let words = || code.split(|c: char| !c.is_alphanumeric() && c != '_');
            let optional = |word: &str| {
                matches!(word, "enable" | "requires" | "f16" | "f64" | "u64" | "i64") || word.starts_with("subgroup")
            };
            if let Some(word) = words().find(|word| optional(word)) {
                panic!("{name}.wgsl:{} uses `{word}`", number + 1);
            }
        }
    }
}

#[test]
fn bindings_are_in_group_0_without_gaps_and_every_variable_is_used() {
    for source in SOURCES {
        let module = module(source);
        let mut bound: Vec<_> =
            module.global_variables.iter().filter_map(|(_, variable)| variable.binding).collect::<Vec<_>>();
        bound.sort_by_key(|binding| (binding.group, binding.binding));
        for (index, binding) in bound.iter().enumerate() {
            // Those of filters.wgsl are behind those of any kernel.
            let expected = if binding.binding >= 10 { 12 - (bound.len() - index) } else { index };
            assert_eq!((binding.group, binding.binding), (0, expected as u32), "{}", source.label);
        }
        // A buffer variable that nothing uses would be bound for nothing.
        use naga::valid::{Capabilities, ValidationFlags, Validator};
        let optional = Capabilities::SUBGROUP | Capabilities::SUBGROUP_BARRIER;
        let info = Validator::new(ValidationFlags::all(), optional).validate(&module).unwrap();
        for (handle, variable) in module.global_variables.iter() {
            let used = !info.get_entry_point(0)[handle].is_empty();
            assert!(used, "{} does not use {}", source.label, variable.name.as_deref().unwrap_or("?"));
        }
    }
}

/// Browsers reject a constant that is larger than any number of its type, and the shortest decimal for the largest is.
#[test]
fn constants_are_within_their_types() {
    for line in broadsweep::internals::constants::wgsl().lines() {
        if let Some((name, value)) = line.split_once(": f32 = ") {
            let value: f64 = value.trim_end_matches("f;").parse().unwrap();
            assert!(value.abs() <= f64::from(f32::MAX), "{name} is {value}");
        }
    }
}
