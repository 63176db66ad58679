//! Converts a text from the command line to the JSON value that a schema expects.

use serde_json::{Number, Value};

use crate::tool_arguments::schema::{Kinds, Schema, as_typed};

/// A description of the expected value.
#[derive(Debug, PartialEq)]
pub(super) struct Expected(pub(super) String);

/// Converts a text. If the schema accepts several types, the most specific one that fits is used.
pub(super) fn convert(text: &str, schema: Schema<'_>) -> Result<Value, Expected> {
    let choices = schema.choices();
    if !choices.is_empty() {
        let chosen = choices.iter().find(|choice| as_typed(choice) == text);
        return match chosen {
            Some(chosen) => Ok((*chosen).clone()),
            None if schema.kinds().null && text == "null" => Ok(Value::Null),
            None => {
                let words: Vec<_> = choices.iter().map(|choice| as_typed(choice)).collect();
                Err(Expected(format!("one of {}", words.join(", "))))
            }
        };
    }
    let kinds = schema.kinds();
    if kinds.is_any() {
        return Ok(untyped(text));
    }
    let number = if kinds.number {
        number(text)
    } else if kinds.integer {
        integer(text)
    } else {
        None
    };
    if let Some(number) = number {
        return Ok(Value::Number(number));
    }
    match text {
        "true" | "false" if kinds.boolean => return Ok((text == "true").into()),
        "null" if kinds.null && !kinds.string => return Ok(Value::Null),
        _ => {}
    }
    if kinds.string {
        return Ok(text.into());
    }
    match serde_json::from_str(text) {
        Ok(value @ Value::Object(_)) if kinds.object => Ok(value),
        Ok(value @ Value::Array(_)) if kinds.array => Ok(value),
        _ => Err(Expected(expected(kinds, text))),
    }
}

/// Converts a text for a value with several possible schemas, as in the variants of an enum. Without a schema it is
/// converted as by [`untyped`].
pub(super) fn convert_any(text: &str, schemas: &[Schema<'_>]) -> Result<Value, Expected> {
    if schemas.is_empty() {
        return Ok(untyped(text));
    }
    let mut string = None;
    let mut expected: Vec<String> = Vec::new();
    for schema in schemas {
        match convert(text, *schema) {
            // A string accepts every text, so another schema that accepts it is more specific.
            Ok(value @ Value::String(_)) if schema.choices().is_empty() => {
                string.get_or_insert(value);
            }
            Ok(value) => return Ok(value),
            Err(Expected(what)) if expected.contains(&what) => {}
            Err(Expected(what)) => expected.push(what),
        }
    }
    let choices: Vec<_> = schemas.iter().map(|schema| schema.choices()).collect();
    if choices.iter().all(|choices| !choices.is_empty()) {
        let mut words: Vec<_> = choices.concat().into_iter().map(as_typed).collect();
        words.dedup();
        return Err(Expected(format!("one of {}", words.join(", "))));
    }
    string.ok_or_else(|| Expected(expected.join(", or ")))
}

/// Converts a text without a schema: JSON if it is valid JSON, otherwise a string.
pub(super) fn untyped(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

fn integer(text: &str) -> Option<Number> {
    match text.parse::<i64>() {
        Ok(number) => Some(number.into()),
        Err(_) => text.parse::<u64>().ok().map(Number::from),
    }
}

fn number(text: &str) -> Option<Number> {
    integer(text).or_else(|| {
        let looks_like_one = text.contains(|c: char| c.is_ascii_digit());
        let number = text.parse().ok().filter(|_| looks_like_one)?;
        Number::from_f64(number)
    })
}

fn expected(kinds: Kinds, text: &str) -> String {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if kinds.integer && is_whole {
        return "an integer that fits into 64 bits".to_owned();
    }
    let names = kinds.names().into_iter().map(|name| match name {
        "integer" => "an integer",
        "number" => "a number",
        "boolean" => "true or false",
        "array" => "a JSON array",
        "object" => "a JSON object",
        other => other,
    });
    names.collect::<Vec<_>>().join(", or ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn schema_decides_the_type_of_a_text() {
        fn check(kind: Value, text: &str, expected: Value) {
            let schema = json!({ "type": kind });
            assert_eq!(
                convert(text, Schema::new(&schema)),
                Ok(expected),
                "{schema} {text}"
            );
        }
        check(json!("string"), "42", json!("42"));
        check(json!("string"), "true", json!("true"));
        check(json!("string"), "", json!(""));
        check(json!("integer"), "-42", json!(-42));
        check(json!("integer"), "18446744073709551615", json!(u64::MAX));
        check(json!("number"), "42", json!(42));
        check(json!("number"), "1.5e3", json!(1500.0));
        check(json!("boolean"), "false", json!(false));
        check(json!("array"), "[1, 2]", json!([1, 2]));
        check(json!("object"), r#"{"a": 1}"#, json!({"a": 1}));
        check(json!("null"), "null", json!(null));
        check(json!(["integer", "null"]), "null", json!(null));
        check(json!(["integer", "string"]), "7", json!(7));
        check(json!(["integer", "string"]), "seven", json!("seven"));
        check(json!(["string", "null"]), "null", json!("null"));
    }

    #[test]
    fn invalid_text_returns_the_expected_type() {
        fn check(schema: Value, text: &str, expected: &str) {
            let outcome = convert(text, Schema::new(&schema));
            assert_eq!(
                outcome,
                Err(Expected(expected.to_owned())),
                "{schema} {text}"
            );
        }
        check(json!({"type": "integer"}), "1.5", "an integer");
        check(json!({"type": "integer"}), "", "an integer");
        check(
            json!({"type": "integer"}),
            "18446744073709551616",
            "an integer that fits into 64 bits",
        );
        check(json!({"type": "number"}), "inf", "a number");
        check(json!({"type": "number"}), "NaN", "a number");
        check(json!({"type": "boolean"}), "yes", "true or false");
        check(json!({"type": "object"}), "[]", "a JSON object");
        check(
            json!({"type": ["array", "null"]}),
            "x",
            "a JSON array, or null",
        );
        check(json!({"enum": ["a", 1]}), "b", "one of a, 1");
    }

    #[test]
    fn most_specific_of_several_schemas_is_used() {
        fn check(schemas: &[Value], text: &str, expected: Result<Value, &str>) {
            let schemas: Vec<_> = schemas.iter().map(Schema::new).collect();
            let converted = convert_any(text, &schemas).map_err(|expected| expected.0);
            assert_eq!(converted, expected.map_err(str::to_owned), "{text}");
        }
        let string = json!({"type": "string"});
        let integer = json!({"type": "integer"});
        let boolean = json!({"type": "boolean"});
        let (red, blue) = (json!({"const": "red"}), json!({"enum": ["blue", "green"]}));
        check(&[string.clone(), integer.clone()], "3", Ok(json!(3)));
        check(&[string.clone(), integer.clone()], "x", Ok(json!("x")));
        check(
            &[integer, boolean],
            "x",
            Err("an integer, or true or false"),
        );
        check(&[red.clone(), blue.clone()], "green", Ok(json!("green")));
        check(&[red.clone(), blue], "x", Err("one of red, blue, green"));
        check(&[red, string], "x", Ok(json!("x")));
        check(&[], "1", Ok(json!(1)));
    }

    #[test]
    fn without_a_schema_json_is_parsed() {
        assert_eq!(untyped("1"), json!(1));
        assert_eq!(untyped("one"), json!("one"));
        assert_eq!(convert("[]", Schema::new(&json!({}))), Ok(json!([])));
    }

    #[test]
    fn numbers_in_an_enum_stay_numbers() {
        let schema = json!({"enum": [1, 2]});
        assert_eq!(convert("2", Schema::new(&schema)), Ok(json!(2)));
    }
}
