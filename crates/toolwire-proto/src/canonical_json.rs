//! The canonical text of JSON values, by which two of them are the same: the arguments of event subscriptions, and
//! pinned descriptors.

use serde_json::Value;
use toolwire_types::RawJson;

/// Returns the text of a JSON value without insignificant differences: members are sorted by name, and integers have no
/// fraction.
///
/// ```
/// use serde_json::json;
/// use toolwire_proto::canonical_json::canonical_text;
///
/// let text = canonical_text(&json!({"b": [1.0, 2], "a": {"d": 1, "c": null}}).into());
/// assert_eq!(text, r#"{"a":{"c":null,"d":1},"b":[1,2]}"#);
/// ```
#[must_use]
pub fn canonical_text(json: &RawJson) -> String {
    match json.to_value() {
        Ok(mut value) => {
            normalize(&mut value);
            value.to_string()
        }
        // Too deep to be parsed. Its own text is as good as another one.
        Err(_) => json.get().to_owned(),
    }
}

/// The integers that every JSON implementation can represent.
const SAFE_INTEGERS: f64 = 9_007_199_254_740_991.0;

fn normalize(root: &mut Value) {
    let mut pending = vec![root];
    while let Some(value) = pending.pop() {
        match value {
            Value::Object(object) => {
                object.sort_keys();
                pending.extend(object.values_mut());
            }
            Value::Array(items) => pending.extend(items),
            Value::Number(number) if number.is_f64() => {
                let integer = number
                    .as_f64()
                    .filter(|float| float.fract() == 0.0 && float.abs() <= SAFE_INTEGERS);
                if let Some(integer) = integer {
                    *number = (integer as i64).into();
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_arguments_have_one_text() {
        let check = |one: &str, other: &str, equal: bool| {
            let text = |json: &str| canonical_text(&RawJson::from_string(json.to_owned()).unwrap());
            assert_eq!(text(one) == text(other), equal, "{one} {other}");
        };
        check(r#"{"a":1,"b":2}"#, r#"{ "b": 2, "a": 1.0 }"#, true);
        check(r#"{"a":"\u0041"}"#, r#"{"a":"A"}"#, true);
        check(r#"{"a":[1,2]}"#, r#"{"a":[2,1]}"#, false);
        check(r#"{"a":1}"#, r#"{"a":"1"}"#, false);
        check(r#"{"a":null}"#, "{}", false);
        check("1e300", "1e301", false);
        check("-0.0", "0", true);
    }
}
