//! Declares setters of plain structures: [`setters`].

/// Declares a setter for a public field. Each line `with_field: field: Type` gives one setter, `with_field`. With
/// `const` before the structure's name, setters are `const`; then the structure must be `Copy`.
macro_rules! setters {
    (const $type:ident { $($setters:tt)* }) => { $crate::base::setters::setters! { [const] $type { $($setters)* } } };
    ($type:ident { $($setters:tt)* }) => { $crate::base::setters::setters! { [] $type { $($setters)* } } };
    ($qualifier:tt $type:ident { $($setter:ident: $field:ident: $kind:ty,)* }) => {
        impl $type { $($crate::base::setters::setters! { $qualifier $setter: $field: $kind })* }
    };
    ([$($qualifier:tt)?] $setter:ident: $field:ident: $kind:ty) => {
        #[doc = concat!("Returns a copy with this [`", stringify!($field), "`](Self::", stringify!($field), ").")]
        #[must_use]
        pub $($qualifier)? fn $setter(mut self, $field: $kind) -> Self {
            self.$field = $field;
            self
        }
    };
}
pub(crate) use setters;
