//! Arguments of a mounted tool that its callers do not set.

use indexmap::IndexMap;
use serde_json::Value;
use serde_json::value::RawValue;
use toolwire_types::RawJson;

/// The arguments that are hidden from callers, with the values that the tool gets.
#[derive(Debug, Clone, Default)]
pub(crate) struct HiddenArguments {
    /// `None` for an argument that the tool does not get.
    pub(crate) values: IndexMap<String, Option<RawJson>>,
}

impl HiddenArguments {
    /// Returns the schema without the hidden arguments.
    pub(crate) fn without_hidden(&self, schema: &RawJson) -> RawJson {
        let Ok(Value::Object(mut schema)) = schema.to_value() else {
            return schema.clone();
        };
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            properties.retain(|name, _| !self.values.contains_key(name));
        }
        if let Some(Value::Array(required)) = schema.get_mut("required") {
            required.retain(|name| {
                name.as_str()
                    .is_none_or(|name| !self.values.contains_key(name))
            });
            if required.is_empty() {
                schema.remove("required");
            }
        }
        RawJson::from(Value::Object(schema))
    }

    /// Returns the arguments that the tool gets. What the caller sets for a hidden argument is ignored.
    pub(crate) fn complete(&self, arguments: &RawValue) -> RawJson {
        let given: IndexMap<String, RawJson> =
            serde_json::from_str(arguments.get()).unwrap_or_default();
        let mut arguments: IndexMap<&str, &RawJson> = given
            .iter()
            .filter(|(name, _)| !self.values.contains_key(*name))
            .map(|(name, value)| (name.as_str(), value))
            .collect();
        for (name, value) in &self.values {
            if let Some(value) = value {
                arguments.insert(name, value);
            }
        }
        RawJson::from_serialize(&arguments).expect("JSON values can be written")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hidden_arguments_are_neither_listed_nor_accepted() {
        let values = [
            (
                "key".to_owned(),
                Some(RawJson::from_value(&json!("secret"))),
            ),
            ("debug".to_owned(), None),
        ];
        let hidden = HiddenArguments {
            values: values.into_iter().collect(),
        };
        let schema = json!({
            "type": "object",
            "properties": {"city": {"type": "string"}, "key": {}, "debug": {}},
            "required": ["key"],
        });
        let reduced = hidden.without_hidden(&RawJson::from_value(&schema));
        assert_eq!(
            reduced.to_value().unwrap(),
            json!({"type": "object", "properties": {"city": {"type": "string"}}})
        );
        let given =
            RawJson::from_string(r#"{"city":"Bonn","key":"mine","n":1.0,"debug":true}"#.to_owned());
        let completed = hidden.complete(given.unwrap().as_raw_value());
        assert_eq!(completed.get(), r#"{"city":"Bonn","n":1.0,"key":"secret"}"#);
    }
}
