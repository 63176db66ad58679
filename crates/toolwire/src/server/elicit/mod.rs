//! Types a user can be asked for.
//!
//! What a field holds is known to the compiler ([`FieldKind`]), so a key of `#[elicit(…)]` that does not fit it fails the
//! build, whatever name the type goes by.

pub mod checks;
mod field;

use std::collections::{BTreeSet, HashSet};

use serde::de::DeserializeOwned;
use toolwire_types::{
    BooleanSchema, ElicitSchema, EnumOption, NumberSchema, PrimitiveSchema, StringSchema,
    TitledMultiSelectEnumSchema, TitledSingleSelectEnumSchema, UntitledMultiSelectEnumSchema,
    UntitledSingleSelectEnumSchema,
};

pub use field::FormField;

/// A flat struct a form can ask for; `#[derive(Elicit)]` implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be asked for in a form",
    note = "derive `Elicit` (and `serde::Deserialize`) on a struct whose fields are text, numbers, booleans, unit enums, \
            `Vec`s of unit enums, or `Option`s of these"
)]
pub trait Elicit: DeserializeOwned {
    /// The form.
    fn elicit_schema() -> ElicitSchema;
}

/// A type one field of a form can hold.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a field of a form",
    note = "the protocol carries text, numbers, booleans and choices; nested objects and other lists do not fit",
    note = "for a choice, derive `Elicit` on an enum without data; for a struct, ask for its fields one by one"
)]
pub trait ElicitField {
    /// Whether the field may be left empty.
    const OPTIONAL: bool = false;

    /// What the field holds. It decides which keys `#[elicit(…)]` takes; [`FieldKind::Other`] takes labels only.
    const KIND: FieldKind = FieldKind::Other;

    /// The schema of the field.
    fn field_schema() -> PrimitiveSchema;
}

/// An enum without data, whose variants a user can choose from; `#[derive(Elicit)]` implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no choice, so a form cannot carry a list of it",
    note = "a list in a form is a multi-select field: its items must be an enum that derives `Elicit`"
)]
pub trait ElicitChoice: ElicitField {
    /// The words on the wire, in the order of the variants.
    const WORDS: &'static [&'static str];

    /// Their names for people, in the same order; empty when they have none.
    const TITLES: &'static [&'static str];
}

/// What a field of a form holds.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum FieldKind {
    /// Text with as many characters.
    Text {
        /// The fewest the type holds.
        shortest: u64,
        /// The most the type holds.
        longest: u64,
    },
    /// A number.
    Number {
        /// Whether it must be whole.
        whole: bool,
        /// The smallest the type holds.
        smallest: f64,
        /// The largest the type holds.
        largest: f64,
    },
    /// Yes or no.
    Boolean,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Any of these words.
    Several(&'static [&'static str]),
    /// Something else.
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

/// The limit of a type, unless it is beyond the integers that a double holds exactly.
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
        // Numbers beyond would be read as infinite.
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

/// Lists are choices of several; no word is chosen twice, so a set loses nothing.
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

/// The schema of a choice of one.
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
