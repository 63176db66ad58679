//! Types a user can be asked for.

use serde::de::DeserializeOwned;
use toolwire_types::{BooleanSchema, ElicitSchema, NumberSchema, PrimitiveSchema, StringSchema};

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
    note = "the protocol carries text, numbers, booleans and choices; nested objects and other lists do not fit"
)]
pub trait ElicitField {
    /// Whether the field may be left empty.
    const OPTIONAL: bool = false;

    /// The schema of the field.
    fn field_schema() -> PrimitiveSchema;
}

impl ElicitField for String {
    fn field_schema() -> PrimitiveSchema {
        StringSchema::new().into()
    }
}

impl ElicitField for bool {
    fn field_schema() -> PrimitiveSchema {
        BooleanSchema::new().into()
    }
}

macro_rules! number_fields {
    ($schema:ident: $($number:ty),*) => {
        $(impl ElicitField for $number {
            fn field_schema() -> PrimitiveSchema {
                NumberSchema::$schema().into()
            }
        })*
    };
}

number_fields!(integer: i8, i16, i32, i64, u8, u16, u32, u64);
number_fields!(number: f32, f64);

impl<T: ElicitField> ElicitField for Option<T> {
    const OPTIONAL: bool = true;

    fn field_schema() -> PrimitiveSchema {
        T::field_schema()
    }
}
