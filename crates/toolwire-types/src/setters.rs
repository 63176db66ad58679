//! The macro that writes `with_*` methods of the common shapes.

/// Writes `with_*` methods inside an `impl` block. The fields are `Option`s.
///
/// Each entry names the method, then the field, then how the method sets it:
///
/// | entry | parameter | effect |
/// |---|---|---|
/// | `with_title(title: into String);` | `impl Into<String>` | sets the field to the converted value |
/// | `with_meta(meta: some Meta);` | `Meta` | sets the field to the value |
/// | `with_icon(icons: push Icon);` | `Icon` | adds the value to the list in the field |
/// | `with_list_changed(list_changed = true);` | none | sets the field to the given expression |
///
/// A doc comment on an entry becomes the documentation of the method. Without one, the macro writes a sentence that
/// links to the field. Entries with `=` need a doc comment.
#[doc(hidden)]
#[macro_export]
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident($($field:tt)*);)+) => {
        $($crate::setters! { @document [$(#[$doc])*] $name $($field)* })+
    };

    (@document [] $name:ident $field:ident: push $type:ty) => {
        $crate::setters! {
            @define [#[doc = concat!(
                "Adds one [`", stringify!($type), "`] to [`", stringify!($field), "`](Self::", stringify!($field), ").",
            )]]
            $name $field: push $type
        }
    };
    (@document [] $name:ident $field:ident: $kind:ident $type:ty) => {
        $crate::setters! {
            @define [#[doc = concat!("Sets [`", stringify!($field), "`](Self::", stringify!($field), ").")]]
            $name $field: $kind $type
        }
    };
    (@document [$($doc:tt)+] $($setter:tt)+) => {
        $crate::setters! { @define [$($doc)+] $($setter)+ }
    };

    (@define [$($doc:tt)+] $name:ident $field:ident: into $type:ty) => {
        $($doc)+
        #[must_use]
        pub fn $name(mut self, $field: impl Into<$type>) -> Self {
            self.$field = Some($field.into());
            self
        }
    };
    (@define [$($doc:tt)+] $name:ident $field:ident: some $type:ty) => {
        $($doc)+
        #[must_use]
        pub fn $name(mut self, $field: $type) -> Self {
            self.$field = Some($field);
            self
        }
    };
    (@define [$($doc:tt)+] $name:ident $field:ident: push $type:ty) => {
        $($doc)+
        #[must_use]
        pub fn $name(mut self, value: $type) -> Self {
            self.$field.get_or_insert_default().push(value);
            self
        }
    };
    (@define [$($doc:tt)+] $name:ident $field:ident = $value:expr) => {
        $($doc)+
        #[must_use]
        pub fn $name(mut self) -> Self {
            self.$field = Some($value);
            self
        }
    };
}

pub(crate) use crate::setters;
