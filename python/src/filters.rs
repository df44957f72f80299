//! Filters from the lists of a call.

use broadsweep::filter::{Attribute, GroupRule, HalfSpace};
use broadsweep::query::QueryFilters;
use broadsweep::{Aabb, Filters, Pair};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{list, queries, rows};

fn get<'py, T: FromPyObjectOwned<'py>>(dict: &Bound<'py, PyDict>, name: &str) -> PyResult<Option<T>> {
    match dict.get_item(name)? {
        Some(value) if !value.is_none() => {
            let wrong = |_| PyTypeError::new_err(format!("`{name}` has the wrong type or shape"));
            value.extract().map(Some).map_err(wrong)
        }
        _ => Ok(None),
    }
}

fn numbers(dict: &Bound<'_, PyDict>, name: &str) -> PyResult<Vec<u32>> {
    list(get::<PyReadonlyArray1<'_, u32>>(dict, name)?.as_ref())
}

fn flags(dict: &Bound<'_, PyDict>, name: &str) -> PyResult<Vec<bool>> {
    list(get::<PyReadonlyArray1<'_, bool>>(dict, name)?.as_ref())
}

fn pairs(dict: &Bound<'_, PyDict>, name: &str) -> PyResult<Vec<Pair>> {
    let Some(array) = get::<PyReadonlyArray2<'_, u32>>(dict, name)? else { return Ok(Vec::new()) };
    let found: &[[u32; 2]] = bytemuck::cast_slice(rows(&array, 2)?);
    Ok(found.iter().map(|&[a, b]| Pair::new(a, b)).collect())
}

fn half_spaces(dict: &Bound<'_, PyDict>) -> PyResult<Vec<HalfSpace>> {
    let boxes = numbers(dict, "half_space_box")?;
    let Some(array) = get::<PyReadonlyArray2<'_, f32>>(dict, "half_space")? else { return Ok(Vec::new()) };
    let planes: &[[f32; 4]] = bytemuck::cast_slice(rows(&array, 4)?);
    let numbered = boxes.into_iter().zip(planes);
    Ok(numbered.map(|(index, &[x, y, z, offset])| HalfSpace { index, normal: [x, y, z], offset }).collect())
}

fn spheres(dict: &Bound<'_, PyDict>) -> PyResult<Vec<[f32; 4]>> {
    let Some(array) = get::<PyReadonlyArray2<'_, f32>>(dict, "sphere")? else { return Ok(Vec::new()) };
    Ok(queries(&array)?.to_vec())
}

fn owner(dict: &Bound<'_, PyDict>) -> PyResult<Option<Aabb>> {
    let array = get::<PyReadonlyArray2<'_, f32>>(dict, "owner")?;
    array.map(|array| rows(&array, 6).map(|numbers| bytemuck::cast_slice(numbers)[0])).transpose()
}

/// Creates filters from lists with these names.
pub fn filters(dict: &Bound<'_, PyDict>) -> PyResult<Filters> {
    Ok(Filters::default()
        .with_group(numbers(dict, "group")?)
        .with_mask(numbers(dict, "mask")?)
        .with_body(numbers(dict, "body")?)
        .with_parent(numbers(dict, "parent")?)
        .with_fixed(flags(dict, "fixed")?)
        .with_sleeping(flags(dict, "sleeping")?)
        .with_second(flags(dict, "second")?)
        .with_world(numbers(dict, "world")?)
        .with_margin(list(get::<PyReadonlyArray1<'_, f32>>(dict, "margin")?.as_ref())?)
        .with_sphere(spheres(dict)?)
        .with_rule(match get::<String>(dict, "rule")?.as_deref() {
            None | Some("any") => GroupRule::Any,
            Some("both") => GroupRule::Both,
            Some(other) => {
                return Err(PyValueError::new_err(format!("rule is {other:?}; it must be \"any\" or \"both\"")));
            }
        })
        .with_exclude(pairs(dict, "exclude")?)
        .with_include(pairs(dict, "include")?)
        .with_half_spaces(half_spaces(dict)?)
        .with_owner(owner(dict)?))
}

/// Creates the filters of a batch of queries.
pub fn query_filters(dict: &Bound<'_, PyDict>) -> PyResult<QueryFilters> {
    Ok(QueryFilters::default()
        .with_group(numbers(dict, "group")?)
        .with_mask(numbers(dict, "mask")?)
        .with_body(numbers(dict, "body")?)
        .with_world(numbers(dict, "world")?)
        .with_ignore(numbers(dict, "ignore")?)
        .with_sphere(spheres(dict)?)
        .with_skips_separating(get(dict, "skips_separating")?.unwrap_or(false)))
}

/// New values of one list by box.
pub enum Change {
    /// Values of a list of numbers.
    Numbers(Vec<u32>),
    /// Values of a list of flags.
    Flags(Vec<bool>),
    /// Margins.
    Margins(Vec<f32>),
    /// Spheres.
    Spheres(Vec<[f32; 4]>),
}

impl Change {
    /// Copies the values of an array.
    pub fn of(values: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(numbers) = values.extract::<PyReadonlyArray1<'_, u32>>() {
            list(Some(&numbers)).map(Self::Numbers)
        } else if let Ok(flags) = values.extract::<PyReadonlyArray1<'_, bool>>() {
            list(Some(&flags)).map(Self::Flags)
        } else if let Ok(margins) = values.extract::<PyReadonlyArray1<'_, f32>>() {
            list(Some(&margins)).map(Self::Margins)
        } else if let Ok(spheres) = values.extract::<PyReadonlyArray2<'_, f32>>() {
            Ok(Self::Spheres(queries(&spheres)?.to_vec()))
        } else {
            Err(PyTypeError::new_err("the values have the wrong type or shape"))
        }
    }

    /// Returns the change of the list with this name.
    pub fn attribute(&self, name: &str) -> PyResult<Attribute<'_>> {
        Ok(match (name, self) {
            ("group", Self::Numbers(values)) => Attribute::Group(values),
            ("mask", Self::Numbers(values)) => Attribute::Mask(values),
            ("body", Self::Numbers(values)) => Attribute::Body(values),
            ("parent", Self::Numbers(values)) => Attribute::Parent(values),
            ("world", Self::Numbers(values)) => Attribute::World(values),
            ("fixed", Self::Flags(values)) => Attribute::Fixed(values),
            ("sleeping", Self::Flags(values)) => Attribute::Sleeping(values),
            ("second", Self::Flags(values)) => Attribute::Second(values),
            ("margin", Self::Margins(values)) => Attribute::Margin(values),
            ("sphere", Self::Spheres(values)) => Attribute::Sphere(values),
            _ => {
                return Err(PyValueError::new_err(format!(
                    "`{name}` is no list by box, or has values of another type"
                )));
            }
        })
    }
}
