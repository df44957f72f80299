//! Types of naga as lists of words.

use naga::proc::TypeResolution;
use naga::{ArraySize, Handle, Module, Scalar, ScalarKind, Type, TypeInner, VectorSize};

/// Returns the offsets of the words of a value in memory, in bytes, in the order of its components.
pub fn offsets(module: &Module, inner: &TypeInner) -> Vec<u32> {
    match *inner {
        TypeInner::Scalar(_) | TypeInner::Atomic(_) => vec![0],
        TypeInner::Vector { size, .. } => (0..size as u32).map(|k| 4 * k).collect(),
        TypeInner::Matrix { columns, rows, .. } => {
            let stride = column_stride(rows);
            (0..columns as u32).flat_map(|column| (0..rows as u32).map(move |row| column * stride + 4 * row)).collect()
        }
        TypeInner::Array { base, size, stride } => {
            let element = offsets(module, &module.types[base].inner);
            let length = length(size).unwrap_or(1);
            (0..length).flat_map(|i| element.iter().map(move |offset| i * stride + offset)).collect()
        }
        TypeInner::Struct { ref members, .. } => members
            .iter()
            .flat_map(|member| {
                let inner = offsets(module, &module.types[member.ty].inner);
                inner.into_iter().map(|offset| member.offset + offset)
            })
            .collect(),
        ref other => panic!("no values of {other:?}"),
    }
}

/// Returns the number of words of a value.
pub fn words(module: &Module, ty: Handle<Type>) -> u32 {
    offsets(module, &module.types[ty].inner).len() as u32
}

/// Returns the distance of two columns of a matrix, in bytes.
pub fn column_stride(rows: VectorSize) -> u32 {
    if rows == VectorSize::Bi { 8 } else { 16 }
}

/// Returns the number of elements; none where it is known at run time only.
pub fn length(size: ArraySize) -> Option<u32> {
    match size {
        ArraySize::Constant(length) => Some(length.get()),
        ArraySize::Dynamic => None,
        ArraySize::Pending(_) => panic!("a size that is an override"),
    }
}

/// Returns the kind of the numbers of a value.
pub fn kind(inner: &TypeInner) -> ScalarKind {
    match *inner {
        TypeInner::Scalar(Scalar { kind, .. })
        | TypeInner::Atomic(Scalar { kind, .. })
        | TypeInner::Vector { scalar: Scalar { kind, .. }, .. }
        | TypeInner::Matrix { scalar: Scalar { kind, .. }, .. }
        | TypeInner::ValuePointer { scalar: Scalar { kind, .. }, .. } => kind,
        ref other => panic!("{other:?} is no number"),
    }
}

/// Returns the content of a type.
pub fn inner<'a>(module: &'a Module, resolution: &'a TypeResolution) -> &'a TypeInner {
    resolution.inner_with(&module.types)
}
