//! The macro of the table of filters (`src/filters/rows.rs`), and the code that each row needs.

use std::ops::Range;

use crate::Error;

/// Declares the filters; `src/filters/rows.rs` explains a row. Kernels that test pairs read the lists that are
/// `tested`.
macro_rules! filter_table {
    (
        $(#[$filters_meta:meta])*
        pub struct Filters {
            tested {
                $($(#[$doc:meta])* $list:ident: $element:ty as $of_one:ty = $default:expr, $variant:ident, $setter:ident;)*
            }
            untested {
                $(
                    $(#[$untested_doc:meta])*
                    $untested:ident: $untested_type:ty = $untested_default:expr, $untested_variant:ident, $untested_setter:ident;
                )*
            }
            beside { $($(#[$beside_doc:meta])* $beside:ident: $beside_type:ty, $beside_setter:ident;)* }
        }

        $(#[$layout_meta:meta])*
        pub struct FilterLayout { $($(#[$place_doc:meta])* $place:ident,)* }
    ) => {
        $(#[$filters_meta])*
        #[derive(Clone, Debug, Default, PartialEq)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
        #[non_exhaustive]
        pub struct Filters {
            $($(#[$doc])* pub $list: Vec<$element>,)*
            $($(#[$untested_doc])* pub $untested: Vec<$untested_type>,)*
            $($(#[$beside_doc])* pub $beside: $beside_type,)*
        }

        $crate::base::setters::setters! {
            Filters {
                $($setter: $list: Vec<$element>,)*
                $($untested_setter: $untested: Vec<$untested_type>,)*
                $($beside_setter: $beside: $beside_type,)*
            }
        }

        /// The filter values of one box: its element of each list by box of the [`Filters`]. With the defaults, a box
        /// has no filters and meets all other boxes. `None` means a separate body for `body`, no parent for `parent`,
        /// all worlds for `world`, and no sphere for `sphere`.
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
        #[non_exhaustive]
        pub struct BoxFilter {
            $(
                #[doc = concat!("The value in [`Filters::", stringify!($list), "`]; `", stringify!($default), "` by default.")]
                pub $list: $of_one,
            )*
            $(
                #[doc = concat!(
                    "The value in [`Filters::", stringify!($untested), "`]; `", stringify!($untested_default), "` by default."
                )]
                pub $untested: $untested_type,
            )*
        }

        impl Default for BoxFilter {
            fn default() -> Self {
                Self { $($list: $default,)* $($untested: $untested_default,)* }
            }
        }

        $crate::base::setters::setters! {
            BoxFilter {
                $($setter: $list: $of_one,)*
                $($untested_setter: $untested: $untested_type,)*
            }
        }

        /// New values of one list by box, for consecutive boxes.
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum Attribute<'a> {
            $(
                #[doc = concat!("Changes [`Filters::", stringify!($list), "`].")]
                $variant(&'a [$element]),
            )*
            $(
                #[doc = concat!("Changes [`Filters::", stringify!($untested), "`].")]
                $untested_variant(&'a [$untested_type]),
            )*
        }

        /// New values of one list by box, in a buffer of the device with `BufferUsages::STORAGE`. A value has 4 bytes,
        /// a sphere 16. A flag is `true` if its `u32` is not 0.
        #[cfg(feature = "gpu")]
        #[derive(Clone, Copy, Debug)]
        #[non_exhaustive]
        pub enum GpuAttribute<'a> {
            $(
                #[doc = concat!("Changes [`Filters::", stringify!($list), "`].")]
                $variant($crate::wgpu::BufferSlice<'a>),
            )*
            $(
                #[doc = concat!("Changes [`Filters::", stringify!($untested), "`].")]
                $untested_variant($crate::wgpu::BufferSlice<'a>),
            )*
        }

        #[cfg(feature = "gpu")]
        impl<'a> GpuAttribute<'a> {
            /// Returns the name of the list, the format of its values, and the new values.
            pub(crate) fn list(self) -> (&'static str, $crate::filters::ValueFormat, $crate::wgpu::BufferSlice<'a>) {
                use $crate::filters::values::Element;
                match self {
                    $(Self::$variant(values) => (stringify!($list), <$element>::FORMAT, values),)*
                    $(Self::$untested_variant(values) => {
                        (stringify!($untested), <$untested_type>::FORMAT, values)
                    })*
                }
            }
        }

        /// The count of lists by box.
        const LISTS: usize = TESTED_LISTS + [$(stringify!($untested)),*].len();
        /// The count of lists by box that tests read.
        pub(crate) const TESTED_LISTS: usize = [$(stringify!($list)),*].len();

        impl Filters {
            /// Lists the names and the lengths of all lists by box.
            pub(crate) fn lengths(&self) -> [(&'static str, usize); LISTS] {
                [
                    $((stringify!($list), self.$list.len()),)*
                    $((stringify!($untested), self.$untested.len()),)*
                ]
            }

            /// Lists the lists by box that tests read, with the values of the caller.
            pub(super) fn tested(&self) -> [$crate::filters::values::Tested<'_>; TESTED_LISTS] {
                [$($crate::filters::values::Tested {
                    list: stringify!($list),
                    values: (&self.$list[..]).into(),
                },)*]
            }

            /// Replaces the values from box `first` on by `values`, without a check of the values.
            ///
            /// # Errors
            /// [`Error::BadFilter`](crate::Error::BadFilter) if the list is too short; nothing is changed then.
            pub(super) fn replace(&mut self, first: usize, values: Attribute<'_>) -> Result<(), $crate::Error> {
                use $crate::filters::table::replace;
                match values {
                    $(
                        Attribute::$variant(values) => replace(stringify!($list), &mut self.$list, first, values),
                    )*
                    $(
                        Attribute::$untested_variant(values) => {
                            replace(stringify!($untested), &mut self.$untested, first, values)
                        }
                    )*
                }
            }

            /// Returns the values of one box, with the default for each empty list.
            pub(crate) fn of_one(&self, index: usize) -> BoxFilter {
                use $crate::filters::one_box::OfOne;
                let mut values = BoxFilter::default();
                $(values.$list = self.$list.get(index).map_or(values.$list, |value| OfOne::of_element(*value));)*
                $(values.$untested = self.$untested.get(index).copied().unwrap_or(values.$untested);)*
                values
            }

            /// Sets the values of one of `box_count` boxes. When a list gets its first value that is not the default,
            /// all its other elements become the default.
            pub(crate) fn set_of_one(&mut self, index: usize, box_count: usize, values: &BoxFilter) {
                use $crate::filters::{one_box::OfOne, table::set_of_one};
                let default = BoxFilter::default();
                $(set_of_one(&mut self.$list, index, box_count, values.$list.element(), default.$list.element());)*
                $(set_of_one(&mut self.$untested, index, box_count, values.$untested, default.$untested);)*
            }

            /// Lengthens the nonempty lists to `box_count`, with defaults.
            pub(crate) fn lengthen(&mut self, box_count: usize) {
                use $crate::filters::one_box::OfOne;
                let default = BoxFilter::default();
                $(if !self.$list.is_empty() { self.$list.resize(box_count, default.$list.element()); })*
                $(if !self.$untested.is_empty() { self.$untested.resize(box_count, default.$untested); })*
            }

            /// Returns filters with these lists by box, and all other fields of `others`.
            pub(crate) fn with_others_of(&self, others: &Self) -> Self {
                Self { $($beside: others.$beside.clone(),)* ..self.clone() }
            }

            /// Lists the changes from the lists by box of `old` to these lists. A change has new values and the index
            /// of the first changed box. The lists of both must have the same lengths.
            pub(crate) fn changes_since(&self, old: &Self) -> Vec<(usize, Attribute<'_>)> {
                use $crate::filters::table::runs;
                let mut changes = Vec::new();
                $(for run in runs(stringify!($list), &self.$list, &old.$list) {
                    changes.push((run.start, Attribute::$variant(&self.$list[run])));
                })*
                $(for run in runs(stringify!($untested), &self.$untested, &old.$untested) {
                    changes.push((run.start, Attribute::$untested_variant(&self.$untested[run])));
                })*
                changes
            }

            /// Returns filters with the values of these boxes in the lists that tests read. All other lists are empty.
            #[cfg(not(target_arch = "wasm32"))]
            pub(super) fn picked(&self, indices: &[u32]) -> Self {
                Self {
                    $($list: $crate::filters::table::picked(&self.$list, indices),)*
                    ..Self::default()
                }
            }
        }

        impl Attribute<'_> {
            /// Returns the name of the list, and the count of new values.
            pub(crate) fn list(&self) -> (&'static str, usize) {
                match self {
                    $(Attribute::$variant(values) => (stringify!($list), values.len()),)*
                    $(Attribute::$untested_variant(values) => (stringify!($untested), values.len()),)*
                }
            }
        }

        $(#[$layout_meta])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
        pub struct FilterLayout {
            $($(#[$place_doc])* pub $place: u32,)*
            $(
                #[doc = concat!("The start of [`Filters::", stringify!($list), "`].")]
                pub $list: u32,
            )*
        }

        impl FilterLayout {
            /// The layout, which a test compares with the layout in WGSL.
            pub const TWIN: $crate::base::layout::Twin = $crate::base::layout::Twin {
                name: "FilterLayout",
                size: size_of::<FilterLayout>().next_multiple_of(16),
                fields: &[
                    $((stringify!($place), std::mem::offset_of!(FilterLayout, $place)),)*
                    $((stringify!($list), std::mem::offset_of!(FilterLayout, $list)),)*
                ],
            };

            /// Returns the same layout with the lists by box at these places, in the order of the rows.
            pub(super) fn with_tested(self, [$($list,)*]: [u32; TESTED_LISTS]) -> Self {
                Self { $($list,)* ..self }
            }

            /// Returns the starts of the lists by box that tests read, in the order of the rows.
            pub(super) fn tested(&self) -> [u32; TESTED_LISTS] {
                [$(self.$list,)*]
            }
        }

        /// Declares the structure of `filter_layout`, in WGSL. The size of a uniform structure is a multiple of 16
        /// bytes.
        pub const WGSL: &str = concat!(
            "struct FilterLayout {\n@align(16)\n",
            $(stringify!($place), ": u32,\n",)*
            $(stringify!($list), ": u32,\n",)*
            "}\n",
        );
    };
}
pub(crate) use filter_table;

/// Replaces the values from index `first` of the list on by `values`.
///
/// # Errors
/// [`Error::BadFilter`] if the list is too short; nothing is changed then.
pub(super) fn replace<T: Copy>(list: &'static str, all: &mut [T], first: usize, values: &[T]) -> Result<(), Error> {
    check_places(list, all.len(), first, values.len())?;
    all[first..first + values.len()].copy_from_slice(values);
    Ok(())
}

/// Checks that a list of this length has `count` elements from index `first` on.
///
/// # Errors
/// [`Error::BadFilter`].
pub(super) fn check_places(list: &'static str, length: usize, first: usize, count: usize) -> Result<(), Error> {
    if first.checked_add(count).is_some_and(|end| end <= length) {
        return Ok(());
    }
    if length == 0 {
        return Err(no_list(list));
    }
    let problem = format!("is the first of {count} values to change, and the list has {length}");
    Err(Error::BadFilter { list, index: Some(first as u64), problem })
}

/// Returns the error of a change of an empty list.
pub(super) fn no_list(list: &'static str) -> Error {
    let problem = "is empty, so it cannot change; set it with `set_filters` first".to_owned();
    Error::BadFilter { list, index: None, problem }
}

/// Sets the value of one of `box_count` boxes. An empty list stays empty if the value is the default.
pub(super) fn set_of_one<T: Copy + PartialEq>(list: &mut Vec<T>, index: usize, box_count: usize, value: T, default: T) {
    if list.is_empty() && value != default {
        list.resize(box_count, default);
    }
    if let Some(place) = list.get_mut(index) {
        *place = value;
    }
}

/// Returns the runs of elements that differ from `old`, which must have the same length. For worlds, margins and
/// sleeping flags, one run has all changes. Each run would cost as much as a change of all values: worlds are numbered
/// again, or engines visit each box.
pub(super) fn runs<T: PartialEq>(list: &'static str, new: &[T], old: &[T]) -> Vec<Range<usize>> {
    const BLOCK: usize = 1 << 10;
    let is_one = matches!(list, "world" | "margin" | "sleeping");
    let mut runs: Vec<Range<usize>> = Vec::new();
    let blocks = (0..).step_by(BLOCK).zip(new.chunks(BLOCK).zip(old.chunks(BLOCK)));
    for (first, (new, old)) in blocks.filter(|(_, (new, old))| new != old) {
        let changed = (first..).zip(new.iter().zip(old)).filter(|(_, (new, old))| new != old);
        for (i, _) in changed {
            match runs.last_mut() {
                Some(run) if is_one || run.end == i => run.end = i + 1,
                _ => runs.push(i..i + 1),
            }
        }
    }
    runs
}

/// Returns the elements with these indices; none if the list is empty.
#[cfg(not(target_arch = "wasm32"))]
pub(super) fn picked<T: Copy>(list: &[T], indices: &[u32]) -> Vec<T> {
    let indices = if list.is_empty() { &[] } else { indices };
    indices.iter().map(|&index| list[index as usize]).collect()
}

#[cfg(test)]
mod tests {
    use crate::{Attribute, Filters};

    #[test]
    fn changes_make_one_filter_of_another() {
        let old = Filters { group: vec![0; 3000], margin: vec![0.0; 3000], ..Filters::default() };
        let mut new = old.clone().with_rule(crate::GroupRule::Both);
        for i in [0, 1, 1023, 1024, 2999] {
            new.group[i] = 5;
            new.margin[i] = 0.5;
        }
        let changes = new.changes_since(&old);
        let places: Vec<_> = changes.iter().map(|(first, values)| (*first, values.list())).collect();
        assert_eq!(places, [(0, ("group", 2)), (1023, ("group", 2)), (2999, ("group", 1)), (0, ("margin", 3000))]);
        let mut changed = old.clone();
        changes.into_iter().for_each(|(first, values)| changed.change(first, values).unwrap());
        assert_eq!(changed, new.with_others_of(&old));
        assert!(old.changes_since(&old).is_empty());
    }

    #[test]
    fn new_values_replace_the_old_ones_from_an_index_on() {
        let mut filters = Filters { mask: vec![1, 2, 3, 4], fixed: vec![false; 4], ..Filters::default() };
        filters.change(1, Attribute::Mask(&[7, 8])).unwrap();
        filters.change(3, Attribute::Fixed(&[true])).unwrap();
        let expected = Filters { mask: vec![1, 7, 8, 4], fixed: vec![false, false, false, true], ..Filters::default() };
        assert_eq!(filters, expected);
        assert!(filters.change(3, Attribute::Mask(&[7, 8])).is_err());
        assert_eq!(filters, expected);
    }
}
