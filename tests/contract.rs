//! The agreement of Rust and WGSL, checked by reading both: none of this needs a GPU.

use std::collections::BTreeSet;
use std::fs;
use std::mem::offset_of;
use std::path::Path;

use broadsweep::internals::filters::rows::FilterLayout;
use broadsweep::internals::gpu::kernel::Source;
use broadsweep::internals::kernels::sources;
use broadsweep::internals::layout::{TWINS, Twin};
use broadsweep::wgpu::BufferBindingType::{Storage, Uniform};
use broadsweep::wgpu::naga;
use broadsweep::{Aabb, Pair};

/// Lists the shaders by their paths below `shaders/`, without `.wgsl`, with their texts.
fn shader_files() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders");
    let mut folders = vec![root.clone()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
            let name = name.strip_suffix(".wgsl").unwrap_or_else(|| panic!("{name} is no shader")).to_owned();
            files.push((name, fs::read_to_string(&path).unwrap()));
        }
    }
    files.sort();
    files
}

/// Returns the name of a shader without its folders.
fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn module(source: &Source) -> naga::Module {
    source.module().unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_kernel_parses_and_validates() {
    for source in sources() {
        module(source);
    }
}

/// The operators of WGSL with two operands, the longer ones first.
const OPERATORS: [&str; 18] =
    ["&&", "||", "<<", ">>", "==", "!=", "<=", ">=", "&", "|", "^", "+", "-", "*", "/", "%", "<", ">"];

/// Finds an expression of a shader that needs parentheses in WGSL, though naga accepts it without: `&`, `|` or `^`
/// beside any other operator, `&&` beside `||`, a shift beside arithmetic or another shift.
fn without_parentheses(text: &str) -> Option<String> {
    // The operators of each parenthesis that is open; and those of the operand of a comparison, a `&&` or a `||`.
    let mut open: Vec<[Vec<&str>; 2]> = vec![Default::default()];
    let (mut templates, mut word) = (0, String::new());
    for line in text.lines() {
        let code = line.split("//").next().unwrap_or(line);
        let mut rest = code;
        let mut is_spaced = true;
        while let Some(c) = rest.chars().next() {
            let operator = OPERATORS.into_iter().find(|operator| rest.starts_with(operator));
            let after = operator.map_or("", |operator| &rest[operator.len()..]);
            let is_assignment = after.starts_with('=') && matches!(c, '&' | '|' | '^' | '+' | '-' | '*' | '/' | '%');
            let is_binary = !word.is_empty() && word != "return" && !is_assignment;
            let top = open.last_mut().unwrap();
            let mut length = operator.map_or(c.len_utf8(), str::len);
            match (operator, c) {
                // The brackets of a type: no space before them.
                (Some(_), '<') if !is_spaced => (templates, length) = (templates + 1, 1),
                (Some(_), '>') if templates > 0 => (templates, length) = (templates - 1, 1),
                (Some(operator), _) if is_binary => {
                    let [of_all, of_operand] = top;
                    of_all.push(operator);
                    of_operand.push(operator);
                    if is_refused(of_all, of_operand) {
                        return Some(line.to_owned());
                    }
                    if ["&&", "||", "==", "!=", "<=", ">=", "<", ">"].contains(&operator) {
                        of_operand.clear();
                    }
                }
                (None, '(' | '[') => open.push(Default::default()),
                (None, ')' | ']') => drop(open.pop()),
                (None, ',' | ';' | '{' | '}' | '=') => *top = Default::default(),
                _ => {}
            }
            if is_assignment {
                *open.last_mut().unwrap() = Default::default();
                length += 1;
            }
            match c {
                _ if c.is_alphanumeric() || c == '_' => {
                    if is_spaced {
                        word.clear();
                    }
                    word.push(c);
                }
                ')' | ']' => word = ")".to_owned(),
                _ if c.is_whitespace() => {}
                _ => word.clear(),
            }
            is_spaced = c.is_whitespace() || "(,[".contains(c);
            rest = &rest[length..];
        }
    }
    None
}

/// Returns whether WGSL refuses these operators in one expression, of which the last operand has some.
fn is_refused(of_all: &[&str], of_operand: &[&str]) -> bool {
    let some = |of: &[&str], which: &[&str]| of.iter().filter(|one| which.contains(one)).count();
    let bitwise = of_all.iter().find(|one| ["&", "|", "^"].contains(one));
    bitwise.is_some_and(|bitwise| of_all.iter().any(|one| one != bitwise))
        || some(of_all, &["&&"]) > 0 && some(of_all, &["||"]) > 0
        || some(of_operand, &["<<", ">>"]) > 0 && some(of_operand, &["<<", ">>", "+", "-", "*", "/", "%"]) > 1
}

#[test]
fn no_shader_leaves_out_parentheses_that_browsers_want() {
    // Code that Tint refuses, and code that it accepts.
    let bad = [
        "if a || b && c {",
        "x = a & b | c;",
        "let y = f(a ^ (b | c), d | e ^ f);",
        "a ||\n (b) && c",
        "a && b == c || d",
        "x = a == b && c & d;",
        "let y = x < y | z < y;",
        "x = x + y | z;",
        "x = x & y << z;",
        "x = x << y + z;",
        "if x & y == z {",
        "x |= a & b | c;",
        "return a & b | c;",
        "x = a << b << c;",
        "x = vec3<u32>(a) & b | c;",
    ];
    let good = [
        "if a || (b && c) {",
        "x = (a & b) | c; y = a & b;",
        "f(&a, b | c, a & b)",
        "x |= a & b;",
        "x = a << b;",
        "if a < b && c >= d && e + f == g {",
        "let x: vec3<u32> = vec3<u32>(a) & vec3<u32>(b);",
        "return -a & b;",
        "if x << y == z && a + b * c < d {",
        "var<storage, read> a: array<vec4<u32>>;",
        "x = (a + b) & c[d + e];",
    ];
    for bad in bad {
        assert!(without_parentheses(bad).is_some(), "{bad}");
    }
    for good in good {
        assert_eq!(without_parentheses(good), None);
    }
    for (name, text) in shader_files() {
        assert_eq!(without_parentheses(&text), None, "{name}");
    }
}

#[test]
fn every_shader_file_is_one_kernel_or_shared_by_some() {
    let mut kernels = 0;
    for (name, text) in shader_files() {
        if text.contains("@compute") {
            let own = sources().filter(|source| source.label == file_name(&name)).collect::<Vec<_>>();
            assert_eq!(own.len(), 1, "{name}.wgsl is among the kernels of its stage {} times", own.len());
            assert_eq!(own[0].own, text, "the source {name} is another file");
            kernels += 1;
        } else {
            let used = sources().any(|source| source.shared.contains(&text.as_str()));
            assert!(used, "no kernel shares {name}.wgsl");
        }
    }
    assert_eq!(kernels, sources().count());
}

#[test]
fn every_kernel_has_one_entry_point_with_the_name_of_its_file() {
    for source in sources() {
        let module = module(source);
        let names: Vec<_> = module.entry_points.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, [source.label]);
        assert_eq!(module.entry_points[0].stage, naga::ShaderStage::Compute);
    }
}

// ---- structures ----

/// Lists the layouts of all structures that Rust and WGSL share.
fn twins() -> impl Iterator<Item = &'static Twin> {
    TWINS.iter().chain([&FilterLayout::TWIN])
}

#[test]
fn structures_have_the_same_size_and_offsets_in_rust_and_in_wgsl() {
    let modules: Vec<_> = sources().map(|source| (source, module(source))).collect();
    for twin in twins() {
        let mut found = 0;
        for (source, module) in &modules {
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
fn declarations_for_kernels_of_callers_have_the_layouts_of_the_types_of_this_crate() {
    use broadsweep::query::{Near, QueryFilter};
    use broadsweep::wgsl::{AABB, HIT, NEAR, PAIR, PAIR_ARGUMENTS, PAIR_HEADER, QUERY_FILTER, QUERY_HEADER, RAY};
    use broadsweep::{Hit, Ray};
    macro_rules! own {
        ($name:ident: $($field:ident)*) => {
            (stringify!($name), size_of::<$name>(), vec![$((stringify!($field), offset_of!($name, $field))),*])
        };
    }
    type Own = (&'static str, usize, Vec<(&'static str, usize)>);
    let mut expected: Vec<Own> = vec![
        own!(Aabb: min max),
        own!(Pair: a b),
        own!(Ray: origin direction limit),
        own!(Hit: index t),
        own!(Near: index squared_distance),
        own!(QueryFilter: group mask body world ignore),
    ];
    let named = ["PairHeader", "PairArguments", "QueryHeader"];
    expected.extend(
        twins().filter(|twin| named.contains(&twin.name)).map(|twin| (twin.name, twin.size, twin.fields.to_vec())),
    );
    // Together, as an array of a storage buffer each, whose strides are the sizes.
    let structures = [AABB, PAIR, RAY, HIT, NEAR, QUERY_FILTER, PAIR_HEADER, PAIR_ARGUMENTS, QUERY_HEADER].concat();
    let buffers: String = expected
        .iter()
        .enumerate()
        .map(|(i, (name, ..))| format!("@group(0) @binding({i}) var<storage, read> of_{i}: array<{name}>;\n"))
        .collect();
    let module = naga::front::wgsl::parse_str(&(structures + &buffers)).unwrap();
    assert_eq!((expected.len(), module.global_variables.len()), (9, 9));
    for ((_, variable), (name, size, fields)) in module.global_variables.iter().zip(&expected) {
        let naga::TypeInner::Array { base, stride, .. } = module.types[variable.ty].inner else { panic!("an array") };
        let naga::TypeInner::Struct { members, span } = &module.types[base].inner else { panic!("a structure") };
        let found: Vec<(&str, usize)> =
            members.iter().map(|member| (member.name.as_deref().unwrap_or(""), member.offset as usize)).collect();
        assert_eq!(module.types[base].name.as_deref(), Some(*name));
        assert_eq!((&found, *span as usize, stride as usize), (fields, *size, *size), "{name}");
    }
}

/// Adds the names of the structures that a type consists of.
fn add_structures<'a>(module: &'a naga::Module, ty: naga::Handle<naga::Type>, names: &mut BTreeSet<&'a str>) {
    match &module.types[ty].inner {
        naga::TypeInner::Struct { members, .. } => {
            names.extend(module.types[ty].name.as_deref());
            members.iter().for_each(|member| add_structures(module, member.ty, names));
        }
        naga::TypeInner::Array { base, .. } => add_structures(module, *base, names),
        _ => {}
    }
}

#[test]
fn every_structure_in_a_buffer_has_its_twin_compared() {
    let twins: BTreeSet<_> = twins().map(|twin| twin.name).collect();
    for source in sources() {
        let module = module(source);
        let mut names = BTreeSet::new();
        for (_, variable) in module.global_variables.iter().filter(|(_, variable)| variable.binding.is_some()) {
            add_structures(&module, variable.ty, &mut names);
        }
        assert!(names.is_subset(&twins), "{}: {names:?}", source.label);
    }
}

#[test]
fn the_flow_in_architecture_names_every_kernel_once() {
    let text = include_str!("../ARCHITECTURE.md");
    let (_, table) = text.split_once("<!-- flow: this table names every kernel once -->").expect("the table is marked");
    let (table, _) = table.split_once("\n\n").expect("the table ends");
    let mut named: Vec<_> = table.split('`').skip(1).step_by(2).filter(|name| *name != "Frame").collect();
    let mut kernels: Vec<_> = sources().map(|source| source.label).collect();
    named.sort_unstable();
    kernels.sort_unstable();
    assert_eq!(named, kernels);
}

#[test]
fn pairs_have_the_layout_of_two_numbers_and_boxes_of_six() {
    assert_eq!((size_of::<broadsweep::Pair>(), offset_of!(broadsweep::Pair, b)), (8, 4));
    assert_eq!((size_of::<broadsweep::Aabb>(), offset_of!(broadsweep::Aabb, max)), (24, 12));
}

// ---- mirrors ----

/// Kernels without a mirror: the pairs that they write are those of `mirror::sweep::test`, in its order, or those that
/// the filters include; or the count of excluded pairs; or in which order queries are answered, and where their lists
/// begin; or how long lists of events are, and keep them.
const PLACES_WHAT_ANOTHER_FOUND: [&str; 14] = [
    "emit_sweep",
    "emit_again",
    "emit_include",
    "small_include",
    "events_store",
    "events_headers",
    "neighbours_begin",
    "query_order",
    "query_worlds",
    "query_pending",
    "query_place",
    "query_offset",
    "query_short",
    "query_ends",
];

#[test]
fn every_kernel_has_a_mirror_of_the_same_name_unless_it_only_places_what_another_found() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cpu/mirror");
    let mut without = Vec::new();
    for label in sources().map(|source| source.label) {
        let (stage, kernel) = label.split_once('_').unwrap();
        let mirrors = fs::read_to_string(folder.join(stage).with_extension("rs")).unwrap();
        // A function, or another name of one.
        let is_it = |line: &str| {
            let words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
            let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
            words.starts_with(&["pub", "fn", kernel])
                || words.starts_with(&["pub", "use"]) && words.windows(2).any(|words| words == ["as", kernel])
        };
        if !mirrors.lines().any(is_it) {
            without.push(label);
        }
    }
    assert_eq!(without, PLACES_WHAT_ANOTHER_FOUND);
}

// ---- limits ----

#[test]
fn every_kernel_stays_within_the_default_limits_of_webgpu() {
    let limits = broadsweep::wgpu::Limits::defaults();
    for source in sources() {
        let label = source.label;
        let module = module(source);
        let bindings = source.bindings();
        let storage = bindings.iter().filter(|binding| matches!(binding.kind, Storage { .. })).count();
        let uniform = bindings.iter().filter(|binding| binding.kind == Uniform).count();
        assert!(storage <= limits.max_storage_buffers_per_shader_stage as usize, "{label}: {storage} storage buffers");
        assert!(uniform <= limits.max_uniform_buffers_per_shader_stage as usize, "{label}: {uniform} uniform buffers");
        // The requirements of `Gpu::from_device` on an external device.
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
    for (name, text) in shader_files().into_iter().filter(|(name, _)| file_name(name) != "sort_ballot") {
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
fn the_buffers_that_are_bound_are_those_that_naga_finds_in_the_kernel() {
    for source in sources() {
        let module = module(source);
        let variables = module.global_variables.iter().filter_map(|(_, variable)| {
            let kind = match variable.space {
                naga::AddressSpace::Uniform => Uniform,
                naga::AddressSpace::Storage { access } => {
                    Storage { read_only: !access.contains(naga::StorageAccess::STORE) }
                }
                _ => return None,
            };
            Some((variable.binding?.binding, variable.name.clone()?, kind))
        });
        let mut found: Vec<_> = variables.collect();
        let declared = source.bindings().into_iter().map(|binding| (binding.index, binding.name, binding.kind));
        let mut declared: Vec<_> = declared.collect();
        found.sort_by_key(|(index, ..)| *index);
        declared.sort_by_key(|(index, ..)| *index);
        assert_eq!(declared, found, "{}", source.label);
    }
}

#[test]
fn bindings_are_in_group_0_without_gaps_and_every_variable_is_used() {
    for source in sources() {
        let module = module(source);
        let mut bound: Vec<_> =
            module.global_variables.iter().filter_map(|(_, variable)| variable.binding).collect::<Vec<_>>();
        bound.sort_by_key(|binding| (binding.group, binding.binding));
        for (index, binding) in bound.iter().enumerate() {
            // The bindings of filters.wgsl follow all bindings of the kernel.
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
