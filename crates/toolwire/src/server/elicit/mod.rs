//! Types that a form can ask for.
//!
//! The compiler knows the kind of each field ([`FieldKind`]). A key of `#[elicit(…)]` that does not match the kind is a
//! compile error, even if the type has an alias.

pub mod checks;
mod field;
mod single_value;

use std::collections::{BTreeSet, HashSet};

use indexmap::IndexMap;
use serde::de::DeserializeOwned;
use serde_json::Value;
use toolwire_types::{
    BooleanSchema, ElicitSchema, EnumOption, NumberSchema, PrimitiveSchema, StringSchema,
    TitledMultiSelectEnumSchema, TitledSingleSelectEnumSchema, UntitledMultiSelectEnumSchema,
    UntitledSingleSelectEnumSchema,
};

pub use field::FormField;
pub use single_value::{single_value, single_value_schema};

/// A type that a form can ask for: a flat struct, or a single value. `#[derive(Elicit)]` implements this for structs and
/// for enums without data.
///
/// The single values are text, numbers, booleans, enums that derive `Elicit`, and lists of such enums. Their form has one
/// field with the name `value`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be asked for in a form",
    note = "derive `Elicit` (and `serde::Deserialize`) on a struct whose fields are text, numbers, booleans, unit enums, \
            `Vec`s of unit enums, or `Option`s of these",
    note = "a single value is text, a number, a boolean, an enum that derives `Elicit`, or a `Vec` of such an enum"
)]
pub trait Elicit: DeserializeOwned {
    /// Returns the schema of the form.
    fn elicit_schema() -> ElicitSchema;

    /// Decodes the content of an accepted form.
    ///
    /// # Errors
    /// Returns an error if the content does not have the shape of the form.
    fn from_content(content: IndexMap<String, Value>) -> Result<Self, serde_json::Error> {
        serde_json::from_value(Value::Object(content.into_iter().collect()))
    }
}

/// A type that one field of a form can hold.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a field of a form",
    note = "the protocol carries text, numbers, booleans and choices; nested objects and other lists do not fit",
    note = "for a choice, derive `Elicit` on an enum without data; for a struct, ask for its fields one by one"
)]
pub trait ElicitField {
    /// Whether the field is optional.
    const OPTIONAL: bool = false;

    /// The kind of the field. It determines which keys `#[elicit(…)]` accepts. [`FieldKind::Other`] accepts only
    /// `title` and `description`. Only generated code sets it.
    #[doc(hidden)]
    const KIND: FieldKind = FieldKind::Other;

    /// Returns the schema of the field.
    fn field_schema() -> PrimitiveSchema;
}

/// An enum without data, whose variants a user can choose from. `#[derive(Elicit)]` implements this.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a choice, so a form cannot contain a list of it",
    note = "a list in a form is a multi-select field: its items must be an enum that derives `Elicit`"
)]
pub trait ElicitChoice: ElicitField {
    /// The values on the wire, in the order of the variants.
    const WORDS: &'static [&'static str];

    /// Their titles, in the same order. Empty if they have no titles.
    const TITLES: &'static [&'static str];
}

/// The kind of a form field.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum FieldKind {
    /// Text with a number of characters.
    Text {
        /// The minimum that the type holds.
        shortest: u64,
        /// The maximum that the type holds.
        longest: u64,
    },
    /// A number.
    Number {
        /// Whether the number must be an integer.
        whole: bool,
        /// The minimum of the type.
        smallest: f64,
        /// The maximum of the type.
        largest: f64,
    },
    /// A boolean.
    Boolean,
    /// One of these values.
    Choice(&'static [&'static str]),
    /// Any of these values.
    Several(&'static [&'static str]),
    /// Any other schema.
    Other,
}

impl ElicitField for String {
    const KIND: FieldKind = FieldKind::Text {
        shortest: 0,
        longest: u64::MAX,
    };

    fn field_schema() -> PrimitiveSchema {
        StringSchema::new().into()
    }
}

impl ElicitField for char {
    const KIND: FieldKind = FieldKind::Text {
        shortest: 1,
        longest: 1,
    };

    fn field_schema() -> PrimitiveSchema {
        StringSchema::new().with_length(1, 1).into()
    }
}

impl ElicitField for bool {
    const KIND: FieldKind = FieldKind::Boolean;

    fn field_schema() -> PrimitiveSchema {
        BooleanSchema::new().into()
    }
}

macro_rules! integer_fields {
    ($($number:ident),*) => {
        $(impl ElicitField for $number {
            const KIND: FieldKind = FieldKind::Number {
                whole: true,
                smallest: $number::MIN as f64,
                largest: $number::MAX as f64,
            };

            fn field_schema() -> PrimitiveSchema {
                let mut schema = NumberSchema::integer();
                schema.minimum = limit($number::MIN as i128);
                schema.maximum = limit($number::MAX as i128);
                schema.into()
            }
        })*
    };
}

integer_fields!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);

/// Returns a limit of a type, unless a double cannot represent it exactly.
fn limit(number: i128) -> Option<f64> {
    const EXACT: u128 = 1 << 53;
    (number.unsigned_abs() <= EXACT).then_some(number as f64)
}

impl ElicitField for f32 {
    const KIND: FieldKind = FieldKind::Number {
        whole: false,
        smallest: f32::MIN as f64,
        largest: f32::MAX as f64,
    };

    fn field_schema() -> PrimitiveSchema {
        // Numbers outside this range would be decoded as infinite.
        let (smallest, largest) = (f32::MIN.into(), f32::MAX.into());
        NumberSchema::number().with_range(smallest, largest).into()
    }
}

impl ElicitField for f64 {
    const KIND: FieldKind = FieldKind::Number {
        whole: false,
        smallest: f64::MIN,
        largest: f64::MAX,
    };

    fn field_schema() -> PrimitiveSchema {
        NumberSchema::number().into()
    }
}

impl<T: ElicitField> ElicitField for Option<T> {
    const OPTIONAL: bool = true;
    const KIND: FieldKind = T::KIND;

    fn field_schema() -> PrimitiveSchema {
        T::field_schema()
    }
}

/// Implements lists as multi-select fields. No value is chosen twice, so a set loses nothing.
macro_rules! several_fields {
    ($($list:ty),*) => {
        $(impl<T: ElicitChoice> ElicitField for $list {
            const KIND: FieldKind = FieldKind::Several(T::WORDS);

            fn field_schema() -> PrimitiveSchema {
                any_of::<T>()
            }
        })*
    };
}

several_fields!(Vec<T>, BTreeSet<T>, HashSet<T>);

/// Returns the schema of a single-select field.
pub fn one_of<T: ElicitChoice>() -> PrimitiveSchema {
    match T::TITLES {
        [] => UntitledSingleSelectEnumSchema::new(T::WORDS.iter().copied()).into(),
        _ => TitledSingleSelectEnumSchema::new(options::<T>()).into(),
    }
}

fn any_of<T: ElicitChoice>() -> PrimitiveSchema {
    match T::TITLES {
        [] => UntitledMultiSelectEnumSchema::new(T::WORDS.iter().copied()).into(),
        _ => TitledMultiSelectEnumSchema::new(options::<T>()).into(),
    }
}

fn options<T: ElicitChoice>() -> impl Iterator<Item = EnumOption> {
    let pairs = T::WORDS.iter().zip(T::TITLES);
    pairs.map(|(word, title)| EnumOption::new(*word, *title))
}
