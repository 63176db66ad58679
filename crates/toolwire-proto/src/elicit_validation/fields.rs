//! Values of one form field: the default and the checks.

use serde_json::{Number, Value};
use toolwire_types::{EnumOption, NumberKind, NumberSchema, PrimitiveSchema, StringSchema};

use crate::elicit_validation::formats;
use crate::elicit_validation::invalid::FieldError;

/// The first doubles beyond `i64` and beyond `u64`.
const AFTER_I64: f64 = 9_223_372_036_854_775_808.0;
const AFTER_U64: f64 = 2.0 * AFTER_I64;

/// Returns `true` if the specification defines the kind of the field.
pub(super) fn is_readable(field: &PrimitiveSchema) -> bool {
    matches!(
        field,
        PrimitiveSchema::String(_)
            | PrimitiveSchema::Number(_)
            | PrimitiveSchema::Boolean(_)
            | PrimitiveSchema::UntitledSingleSelect(_)
            | PrimitiveSchema::TitledSingleSelect(_)
            | PrimitiveSchema::LegacyTitledEnum(_)
            | PrimitiveSchema::UntitledMultiSelect(_)
            | PrimitiveSchema::TitledMultiSelect(_)
    )
}

/// Returns the default value of the field.
pub(super) fn default(field: &PrimitiveSchema) -> Option<Value> {
    match field {
        PrimitiveSchema::String(field) => field.default.clone().map(Value::from),
        PrimitiveSchema::Number(field) => field.default.and_then(number),
        PrimitiveSchema::Boolean(field) => field.default.map(Value::from),
        PrimitiveSchema::UntitledSingleSelect(field) => field.default.clone().map(Value::from),
        PrimitiveSchema::TitledSingleSelect(field) => field.default.clone().map(Value::from),
        PrimitiveSchema::LegacyTitledEnum(field) => field.default.clone().map(Value::from),
        PrimitiveSchema::UntitledMultiSelect(field) => field.default.clone().map(Value::from),
        PrimitiveSchema::TitledMultiSelect(field) => field.default.clone().map(Value::from),
        _ => None,
    }
}

/// Converts a number to JSON, without a fraction if it is whole: `3` instead of `3.0`.
fn number(value: f64) -> Option<Value> {
    let number = if value.fract() != 0.0 {
        Number::from_f64(value)?
    } else if (-AFTER_I64..AFTER_I64).contains(&value) {
        Number::from(value as i64)
    } else if (0.0..AFTER_U64).contains(&value) {
        Number::from(value as u64)
    } else {
        Number::from_f64(value)?
    };
    Some(Value::Number(number))
}

/// Writes the `3.0` of an integer field as `3`, so that it parses as an integer.
pub(super) fn write_whole(field: &PrimitiveSchema, value: &mut Value) {
    let PrimitiveSchema::Number(field) = field else {
        return;
    };
    if field.kind == NumberKind::Integer
        && value.is_f64()
        && let Some(whole) = value.as_f64().and_then(number)
    {
        *value = whole;
    }
}

/// Checks the value of a field.
pub(super) fn check(field: &PrimitiveSchema, value: &Value) -> Result<(), FieldError> {
    match field {
        PrimitiveSchema::String(field) => check_string(field, value),
        PrimitiveSchema::Number(field) => check_number(field, value),
        PrimitiveSchema::Boolean(_) => match value {
            Value::Bool(_) => Ok(()),
            _ => wrong_type("true or false"),
        },
        PrimitiveSchema::UntitledSingleSelect(field) => check_choice(&words(&field.values), value),
        PrimitiveSchema::TitledSingleSelect(field) => check_choice(&options(&field.one_of), value),
        PrimitiveSchema::LegacyTitledEnum(field) => check_choice(&words(&field.values), value),
        PrimitiveSchema::UntitledMultiSelect(field) => check_choices(
            &words(&field.items.values),
            field.min_items..=field.max_items,
            value,
        ),
        PrimitiveSchema::TitledMultiSelect(field) => check_choices(
            &options(&field.items.any_of),
            field.min_items..=field.max_items,
            value,
        ),
        _ => Err(FieldError::UnreadableField),
    }
}

fn wrong_type(expected: &'static str) -> Result<(), FieldError> {
    Err(FieldError::WrongType { expected })
}

fn check_string(field: &StringSchema, value: &Value) -> Result<(), FieldError> {
    let Value::String(text) = value else {
        return wrong_type("a string");
    };
    // JSON Schema counts characters, that is code points, not bytes.
    let length = text.chars().count() as u64;
    if let Some(minimum) = field.min_length.filter(|minimum| length < *minimum) {
        return Err(FieldError::TooShort { minimum });
    }
    if let Some(maximum) = field.max_length.filter(|maximum| length > *maximum) {
        return Err(FieldError::TooLong { maximum });
    }
    match field.format.as_ref().and_then(formats::rule) {
        Some(rule) if !(rule.holds)(text) => Err(FieldError::WrongFormat {
            expected: rule.description,
        }),
        _ => Ok(()),
    }
}

fn check_number(field: &NumberSchema, value: &Value) -> Result<(), FieldError> {
    let Some(number) = value.as_f64() else {
        return wrong_type(match field.kind {
            NumberKind::Number => "a number",
            NumberKind::Integer => "a whole number",
        });
    };
    // JSON Schema: 3.0 is an integer.
    if field.kind == NumberKind::Integer && number.fract() != 0.0 {
        return wrong_type("a whole number");
    }
    if let Some(minimum) = field.minimum.filter(|minimum| number < *minimum) {
        return Err(FieldError::TooSmall { minimum });
    }
    if let Some(maximum) = field.maximum.filter(|maximum| number > *maximum) {
        return Err(FieldError::TooLarge { maximum });
    }
    Ok(())
}

fn words(values: &[String]) -> Vec<&str> {
    values.iter().map(String::as_str).collect()
}

fn options(options: &[EnumOption]) -> Vec<&str> {
    options.iter().map(|option| option.value.as_str()).collect()
}

fn check_choice(allowed: &[&str], value: &Value) -> Result<(), FieldError> {
    let Value::String(choice) = value else {
        return wrong_type("a string");
    };
    if allowed.contains(&choice.as_str()) {
        return Ok(());
    }
    Err(FieldError::NotAnOption {
        allowed: allowed.iter().map(|&word| word.to_owned()).collect(),
    })
}

fn check_choices(
    allowed: &[&str],
    count: std::ops::RangeInclusive<Option<u64>>,
    value: &Value,
) -> Result<(), FieldError> {
    let Value::Array(choices) = value else {
        return wrong_type("an array of strings");
    };
    for (index, choice) in choices.iter().enumerate() {
        if choices.iter().take(index).any(|other| other == choice) {
            return Err(FieldError::Repeated);
        }
        check_choice(allowed, choice).map_err(|problem| match problem {
            FieldError::WrongType { .. } => FieldError::WrongType {
                expected: "an array of strings",
            },
            other => other,
        })?;
    }
    let chosen = choices.len() as u64;
    if let Some(minimum) = count.start().filter(|minimum| chosen < *minimum) {
        return Err(FieldError::TooFew { minimum });
    }
    if let Some(maximum) = count.end().filter(|maximum| chosen > *maximum) {
        return Err(FieldError::TooMany { maximum });
    }
    Ok(())
}
