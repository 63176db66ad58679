//! One field of a form: its label, its choices, and the value of a typed text.

use serde_json::{Number, Value, json};
use toolwire::types::{ElicitResult, ElicitSchema, NumberKind, PrimitiveSchema, StringFormat};
use toolwire_proto::elicit_validation::check_elicit_result;

/// A field of a form, with its label and choices.
#[derive(Debug)]
pub(super) struct Field<'a> {
    pub(super) name: &'a str,
    schema: &'a PrimitiveSchema,
    pub(super) required: bool,
    pub(super) title: Option<&'a str>,
    pub(super) description: Option<&'a str>,
    pub(super) default: Option<Value>,
    /// The choices: the value on the wire and the text for the user.
    pub(super) choices: Vec<(&'a str, &'a str)>,
}

impl<'a> Field<'a> {
    pub(super) fn new(name: &'a str, schema: &'a PrimitiveSchema, required: bool) -> Self {
        let mut field = Self {
            name,
            schema,
            required,
            title: None,
            description: None,
            default: None,
            choices: Vec::new(),
        };
        macro_rules! described {
            ($schema:expr) => {{
                field.title = $schema.title.as_deref();
                field.description = $schema.description.as_deref();
                field.default = $schema.default.as_ref().map(|default| json!(default));
            }};
        }
        match schema {
            PrimitiveSchema::String(schema) => described!(schema),
            PrimitiveSchema::Number(schema) => {
                described!(schema);
                field.default = schema.default.map(shortest);
            }
            PrimitiveSchema::Boolean(schema) => described!(schema),
            PrimitiveSchema::UntitledSingleSelect(schema) => {
                described!(schema);
                field.choices = untitled(&schema.values);
            }
            PrimitiveSchema::TitledSingleSelect(schema) => {
                described!(schema);
                let options = schema.one_of.iter();
                field.choices = options
                    .map(|one| (one.value.as_str(), one.title.as_str()))
                    .collect();
            }
            PrimitiveSchema::LegacyTitledEnum(schema) => {
                described!(schema);
                let names = schema.enum_names.iter().flatten().map(String::as_str);
                let names = names.chain(
                    schema
                        .values
                        .iter()
                        .map(String::as_str)
                        .skip(schema.enum_names.as_ref().map_or(0, Vec::len)),
                );
                field.choices = schema
                    .values
                    .iter()
                    .map(String::as_str)
                    .zip(names)
                    .collect();
            }
            PrimitiveSchema::UntitledMultiSelect(schema) => {
                described!(schema);
                field.choices = untitled(&schema.items.values);
            }
            PrimitiveSchema::TitledMultiSelect(schema) => {
                described!(schema);
                let options = schema.items.any_of.iter();
                field.choices = options
                    .map(|one| (one.value.as_str(), one.title.as_str()))
                    .collect();
            }
            _ => {}
        }
        field
    }

    fn takes_several(&self) -> bool {
        matches!(
            self.schema,
            PrimitiveSchema::UntitledMultiSelect(_) | PrimitiveSchema::TitledMultiSelect(_)
        )
    }

    /// Returns a short description of what to type.
    pub(super) fn hint(&self) -> String {
        match self.schema {
            _ if self.takes_several() => "numbers, separated by commas".to_owned(),
            _ if !self.choices.is_empty() => "number".to_owned(),
            PrimitiveSchema::Boolean(_) => "yes or no".to_owned(),
            PrimitiveSchema::Number(schema) => {
                let kind = match schema.kind {
                    NumberKind::Integer => "integer",
                    _ => "number",
                };
                match (schema.minimum, schema.maximum) {
                    (Some(minimum), Some(maximum)) => format!("{kind} from {minimum} to {maximum}"),
                    (Some(minimum), None) => format!("{kind} from {minimum}"),
                    (None, Some(maximum)) => format!("{kind} up to {maximum}"),
                    (None, None) => kind.to_owned(),
                }
            }
            PrimitiveSchema::String(schema) => match &schema.format {
                Some(StringFormat::Email) => "e-mail address".to_owned(),
                Some(StringFormat::Uri) => "address".to_owned(),
                Some(StringFormat::Date) => "date, YYYY-MM-DD".to_owned(),
                Some(StringFormat::DateTime) => "date and time, YYYY-MM-DDTHH:MM:SSZ".to_owned(),
                _ => "text".to_owned(),
            },
            _ => "text".to_owned(),
        }
    }

    /// Converts a typed text to a value. The error names the expected input.
    pub(super) fn read(&self, text: &str) -> Result<Value, String> {
        let value = match self.schema {
            PrimitiveSchema::Number(schema) => number(text, schema.kind)?,
            PrimitiveSchema::Boolean(_) => match text.to_ascii_lowercase().as_str() {
                "y" | "yes" | "true" => true.into(),
                "n" | "no" | "false" => false.into(),
                _ => return Err("type yes or no".to_owned()),
            },
            _ if self.takes_several() => {
                let words = text
                    .split(',')
                    .map(str::trim)
                    .filter(|word| !word.is_empty());
                let chosen: Result<Vec<_>, _> = words.map(|word| self.choose(word)).collect();
                chosen?.into()
            }
            _ if !self.choices.is_empty() => self.choose(text)?.into(),
            _ => text.into(),
        };
        let form = ElicitSchema::new().with_required(self.name, self.schema.clone());
        let result = ElicitResult::accept().with_content([(self.name, value.clone())]);
        match check_elicit_result(&form, &result) {
            Ok(()) => Ok(value),
            Err(invalid) => Err(invalid.to_string()),
        }
    }

    /// Finds a choice by its number, its value or its text.
    fn choose(&self, text: &str) -> Result<&'a str, String> {
        let is_meant =
            |(word, name): &&(&str, &str)| *word == text || name.eq_ignore_ascii_case(text);
        if let Some((word, _)) = self.choices.iter().find(is_meant) {
            return Ok(word);
        }
        let number = text
            .parse::<usize>()
            .ok()
            .and_then(|number| number.checked_sub(1));
        match number.and_then(|index| self.choices.get(index)) {
            Some((word, _)) => Ok(word),
            None => Err(format!("choose a number from 1 to {}", self.choices.len())),
        }
    }

    /// Returns a value as the user would type it.
    pub(super) fn typed(value: &Value) -> String {
        match value {
            Value::String(text) => text.clone(),
            Value::Bool(true) => "yes".to_owned(),
            Value::Bool(false) => "no".to_owned(),
            Value::Array(values) => values
                .iter()
                .map(Self::typed)
                .collect::<Vec<_>>()
                .join(", "),
            other => other.to_string(),
        }
    }
}

fn untitled(values: &[String]) -> Vec<(&str, &str)> {
    values
        .iter()
        .map(|value| (value.as_str(), value.as_str()))
        .collect()
}

fn number(text: &str, kind: NumberKind) -> Result<Value, String> {
    if let Ok(number) = text.parse::<i64>() {
        return Ok(number.into());
    }
    if kind == NumberKind::Integer {
        return Err("type an integer, for example 3".to_owned());
    }
    let number = text.parse().ok().and_then(Number::from_f64);
    number
        .map(Value::Number)
        .ok_or_else(|| "type a number, for example 1.5".to_owned())
}

/// Converts a number to JSON. An integral value has no decimal point.
fn shortest(number: f64) -> Value {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the comparison below detects truncation"
    )]
    let integer = number as i64;
    #[expect(
        clippy::cast_precision_loss,
        clippy::float_cmp,
        reason = "the comparison checks that the cast is exact"
    )]
    let is_integral = integer as f64 == number;
    if is_integral {
        integer.into()
    } else {
        json!(number)
    }
}
