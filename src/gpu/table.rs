//! Tables of buffers. A table declares a group of buffers once, for the memory plan and for the allocation.

/// A buffer's name and its size in bytes.
pub type Row = (&'static str, u64);

/// Buffers with their names in kernels. If a name occurs twice, the first buffer is bound.
pub type Bound<'a> = Vec<(&'static str, wgpu::BindingResource<'a>)>;

/// The usages of most buffers: kernels read and write them, and tests copy them.
pub const STORAGE: wgpu::BufferUsages =
    wgpu::BufferUsages::STORAGE.union(wgpu::BufferUsages::COPY_DST).union(wgpu::BufferUsages::COPY_SRC);
/// The usages of buffers that kernels also bind as uniforms.
pub const CONSTANT: wgpu::BufferUsages = STORAGE.union(wgpu::BufferUsages::UNIFORM);
/// The usages of buffers with the sizes of dispatches and draws.
pub const SIZES: wgpu::BufferUsages = STORAGE.union(wgpu::BufferUsages::INDIRECT);
/// The usages of buffers that the host reads.
pub const STAGING: wgpu::BufferUsages = wgpu::BufferUsages::MAP_READ.union(wgpu::BufferUsages::COPY_DST);

/// Declares a struct of buffers. A row is `name: [element type; length], usages;`. The length is an expression of the
/// capacity. The name is the field, the label in a profiler and the name in the plan. With `name as "label"`, the label
/// and the name in the plan are `label`.
macro_rules! buffer_table {
    (
        $(#[$meta:meta])*
        $vis:vis struct $table:ident($capacity:ident: $capacity_type:ty) {
            $($(#[$doc:meta])* $field:ident $(as $label:literal)?: [$element:ty; $length:expr], $usages:expr;)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug)]
        $vis struct $table {
            $($(#[$doc])* pub $field: $crate::gpu::buffers::Buffer<$element>,)*
        }

        impl $table {
            /// Allocates all buffers of the table.
            ///
            /// # Errors
            /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) if the device has no memory for one of them.
            pub fn new(gpu: &$crate::gpu::Gpu, $capacity: &$capacity_type) -> Result<Self, $crate::Error> {
                use $crate::gpu::buffers::Buffer;
                Ok(Self {
                    $($field: Buffer::new(gpu, $crate::gpu::table::label!($field $($label)?), $length, $usages)?,)*
                })
            }

            /// Lists the buffers of the table with their bytes for this capacity.
            pub fn rows($capacity: &$capacity_type) -> impl Iterator<Item = $crate::gpu::table::Row> + use<> {
                use $crate::gpu::buffers::Buffer;
                [$(($crate::gpu::table::label!($field $($label)?), Buffer::<$element>::bytes($length))),*].into_iter()
            }

            /// Sums the bytes of the buffers of the table for this capacity.
            #[allow(dead_code)] // unused in some tables
            pub fn bytes(capacity: &$capacity_type) -> u64 {
                Self::rows(capacity).fold(0, |sum, (_, bytes)| sum.saturating_add(bytes))
            }

            /// Lists the buffers of the table for kernels, which bind them by the names of the fields.
            #[allow(dead_code)] // unused in some tables
            pub fn bound(&self) -> $crate::gpu::table::Bound<'_> {
                vec![$((stringify!($field), self.$field.all())),*]
            }

            /// Lists the buffers of the table with their allocated bytes.
            pub fn allocated(&self) -> impl Iterator<Item = $crate::gpu::table::Row> + use<> {
                [$(($crate::gpu::table::label!($field $($label)?), self.$field.raw().size())),*].into_iter()
            }
        }
    };
}

/// Returns the label of a row of [`buffer_table`].
macro_rules! label {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $label:literal) => {
        $label
    };
}

pub(crate) use {buffer_table, label};
