//! Forms that ask for secrets.
//!
//! Spec 2026-07-28, client/elicitation, "Security Considerations": servers must not request sensitive information, such as
//! passwords and keys, with a form. They use the URL mode. A relay to servers of others can reject such forms.

use serde_json::Value;
use serde_json::value::RawValue;

use crate::secret_names::{SecretValue, secret_value};

/// Returns `true` if a field asks for a secret: by its format, or by a name or title such as `apiKey` or `Password`. Members
/// with values that are not valid do not hide it.
fn asks_for_secret(name: &str, field: &Value) -> bool {
    let text = |member: &str| field.get(member).and_then(Value::as_str);
    let is_write_only = field.get("writeOnly").and_then(Value::as_bool) == Some(true);
    if text("format") == Some("password") || is_write_only {
        return true;
    }
    let kind = text("type");
    let is_number = matches!(kind, Some("number" | "integer"));
    let is_entered = kind != Some("boolean") && !is_choice(field);
    let mut names = [Some(name), text("title")].into_iter().flatten();
    is_entered
        && names.any(|name| match secret_value(name) {
            Some(SecretValue::Any) => true,
            Some(SecretValue::Text) => !is_number,
            None => false,
        })
}

/// Returns `true` if the user selects one or several of the given texts, so that the field cannot ask for a secret. The
/// type decides where a client reads the choices: those in another place do not make a field of text a choice.
fn is_choice(field: &Value) -> bool {
    let kind = field.get("type").and_then(Value::as_str);
    let (choices, of_constants) = match kind {
        Some("string") => (Some(field), "oneOf"),
        Some("array") => (field.get("items"), "anyOf"),
        _ => return false,
    };
    choices.is_some_and(|choices| {
        are_all(choices.get("enum"), Value::is_string)
            || are_all(choices.get(of_constants), is_text_constant)
    })
}

fn are_all(choices: Option<&Value>, is_text: fn(&Value) -> bool) -> bool {
    let choices = choices.and_then(Value::as_array);
    choices.is_some_and(|choices| !choices.is_empty() && choices.iter().all(is_text))
}

fn is_text_constant(choice: &Value) -> bool {
    choice.get("const").is_some_and(Value::is_string)
}

/// Returns the name of a field of a form that asks for a secret. `params` are those of `elicitation/create`; other
/// modes than forms have no fields.
///
/// ```
/// use toolwire_proto::relay::secret_forms::secret_field;
///
/// let params = r#"{"message":"Log in","requestedSchema":{"properties":{"password":{"type":"string"}}}}"#;
/// let params = serde_json::from_str(params).unwrap();
/// assert_eq!(secret_field(params), Some("password".to_owned()));
/// ```
#[must_use]
pub fn secret_field(params: &RawValue) -> Option<String> {
    let params: Value = serde_json::from_str(params.get()).ok()?;
    let fields = params.get("requestedSchema")?.get("properties")?;
    let mut fields = fields.as_object()?.iter();
    let (name, _) = fields.find(|(name, field)| asks_for_secret(name, field))?;
    Some(name.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolwire_types::RawJson;

    use super::*;

    #[test]
    fn fields_with_secrets_are_found() {
        let check = |name: &str, field: Value, is_secret: bool| {
            let schema =
                json!({"type": "object", "properties": {"a": {"type": "string"}, name: field}});
            let params = RawJson::from(json!({"message": "?", "requestedSchema": schema}));
            let expected = is_secret.then(|| name.to_owned());
            assert_eq!(secret_field(params.as_raw_value()), expected, "{params:?}");
        };
        let text = || json!({"type": "string"});
        for name in ["password", "api_key", "clientSecret", "Access-Token"] {
            check(name, text(), true);
        }
        check("b", json!({"type": "string", "format": "password"}), true);
        check("b", json!({"type": "string", "writeOnly": true}), true);
        check(
            "b",
            json!({"type": "string", "title": "Your password"}),
            true,
        );
        check("pin_of_password", json!({"type": "integer"}), true);
        // Invalid members do not hide a secret.
        check(
            "password",
            json!({"type": 1, "title": 2, "format": 3}),
            true,
        );
        check("password", json!({"writeOnly": "no", "enum": "no"}), true);
        check("password", json!(true), true);
        check("name", text(), false);
        check("b", json!({"type": "string", "format": "email"}), false);
        check("keep_password", json!({"type": "boolean"}), false);
        check("max_tokens", json!({"type": "integer"}), false);
        let choices = json!([{"const": "jwt", "title": "Signed"}, {"const": "opaque"}]);
        for field in [
            json!({"type": "string", "enum": ["jwt", "opaque"]}),
            json!({"type": "string", "oneOf": choices}),
            json!({"type": "array", "items": {"type": "string", "enum": ["jwt"]}}),
            json!({"type": "array", "items": {"anyOf": choices}}),
        ] {
            check("token", field, false);
        }
        // Choices without texts do not hide a secret.
        for field in [
            json!({"type": "string", "enum": []}),
            json!({"type": "string", "enum": [1]}),
            json!({"type": "string", "oneOf": [{}]}),
            json!({"type": "array", "items": {"type": "string"}}),
            json!({"type": "array", "items": {}, "enum": ["a"]}),
            json!({"type": "string", "items": {"enum": ["a"]}}),
            json!({"type": "string", "anyOf": choices}),
            json!({"type": "array", "items": {"oneOf": choices}}),
            json!({"enum": ["a"]}),
            json!({"type": "object"}),
        ] {
            check("password", field, true);
        }
    }

    #[test]
    fn other_parameters_have_no_fields() {
        for params in [
            json!({"mode": "url", "url": "https://example.com/password", "message": "password"}),
            json!({"requestedSchema": {"type": "object"}}),
            json!({"requestedSchema": 1}),
            json!([]),
        ] {
            let params = RawJson::from(params);
            assert_eq!(secret_field(params.as_raw_value()), None);
        }
    }
}
