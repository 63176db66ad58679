//! JSON Schemas from Rust types.
//!
//! The schemas are simple, so that every host understands them: without references where the type allows it, and
//! without formats outside the JSON Schema vocabularies. `Option<T>` is an optional `T`.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::engine::schema_check::required_members;

/// Returns the schema of a tool's arguments: always an object, without references where the type allows it.
pub(crate) fn arguments_schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_deserialize();
    of_arguments(generator(settings).into_root_schema_for::<T>())
}

fn of_arguments(schema: Schema) -> Value {
    let mut schema = plain(schema);
    if let Some(object) = schema.as_object_mut() {
        object.entry("type").or_insert_with(|| json!("object"));
        relax_optional_members(object);
        if !object.contains_key("properties") {
            // Some hosts fail on a missing `properties`, so it is present even if empty.
            object.insert("properties".to_owned(), json!({}));
            object.entry("additionalProperties").or_insert(json!(false));
        }
    }
    schema
}

/// Returns the schema of a tool's result.
pub(crate) fn output_schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    plain(generator(settings).into_root_schema_for::<T>())
}

fn generator(settings: SchemaSettings) -> SchemaGenerator {
    let settings = settings.with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    settings.into_generator()
}

fn plain(schema: Schema) -> Value {
    let mut schema = schema.to_value();
    if let Some(object) = schema.as_object_mut() {
        object.remove("title");
    }
    strip_machine_formats(&mut schema);
    schema
}

/// Removes formats such as `int64`. They belong to no JSON Schema vocabulary, and validators in other languages warn
/// about them.
fn strip_machine_formats(root: &mut Value) {
    const MACHINE: [&str; 12] = [
        "int8", "int16", "int32", "int64", "int128", "int", "uint8", "uint16", "uint32", "uint64",
        "uint128", "uint",
    ];
    let mut pending = vec![root];
    while let Some(value) = pending.pop() {
        match value {
            Value::Object(object) => {
                let is_machine_format =
                    object
                        .get("format")
                        .and_then(Value::as_str)
                        .is_some_and(|format| {
                            MACHINE.contains(&format) || matches!(format, "float" | "double")
                        });
                if is_machine_format {
                    object.remove("format");
                }
                pending.extend(object.values_mut());
            }
            Value::Array(items) => pending.extend(items),
            _ => {}
        }
    }
}

/// Writes `Option<T>` as an optional `T`, which more hosts understand than `[T, null]`.
fn relax_optional_members(schema: &mut Map<String, Value>) {
    let required = required_members(schema);
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else {
        return;
    };
    for (_, property) in properties
        .iter_mut()
        .filter(|(name, _)| !required.contains(name))
    {
        let Some(property) = property.as_object_mut() else {
            continue;
        };
        lift_nullable(property);
        if let Some(Value::Array(types)) = property.get_mut("type") {
            types.retain(|kind| kind != "null");
            if let [only] = types.as_slice() {
                let only = only.clone();
                property.insert("type".to_owned(), only);
            }
        }
        if let Some(Value::Array(choices)) = property.get_mut("enum") {
            choices.retain(|choice| !choice.is_null());
        }
        if property.get("default").is_some_and(Value::is_null) {
            property.remove("default");
        }
    }
}

/// Replaces `{"anyOf": [T, {"type": "null"}]}`, the form of types without a `type` to extend, by `T`. The argument's
/// own description takes precedence over the description of its type.
fn lift_nullable(property: &mut Map<String, Value>) {
    let Some(Value::Array(branches)) = property.get("anyOf") else {
        return;
    };
    let [Value::Object(inner), null] = branches.as_slice() else {
        return;
    };
    let describes = |name: &str| matches!(name, "title" | "description" | "default");
    let disagrees = |name: &String| {
        !describes(name) && (name == "anyOf" || property.contains_key(name.as_str()))
    };
    if *null != json!({"type": "null"}) || inner.keys().any(disagrees) {
        return;
    }
    let inner = inner.clone();
    property.remove("anyOf");
    for (name, value) in inner {
        property.entry(name).or_insert(value);
    }
}

/// Keywords that serde enforces itself when it decodes a value into the type of the schema.
const KNOWN_TO_SERDE: [&str; 14] = [
    "type",
    "properties",
    "required",
    "description",
    "title",
    "default",
    "items",
    "enum",
    "const",
    "anyOf",
    "oneOf",
    "examples",
    "x-mcp-header",
    "format",
];

/// Returns `true` if a generated schema has constraints that serde does not check.
pub(crate) fn needs_validator(schema: &Value) -> bool {
    let mut pending = vec![schema];
    while let Some(schema) = pending.pop() {
        let Some(object) = schema.as_object() else {
            if schema.as_bool() == Some(true) {
                continue;
            }
            return true;
        };
        for (keyword, value) in object {
            match keyword.as_str() {
                "properties" => pending.extend(value.as_object().into_iter().flat_map(Map::values)),
                "items" => pending.push(value),
                "anyOf" | "oneOf" => pending.extend(value.as_array().into_iter().flatten()),
                // The minimum of unsigned types, and the closed object of a tool without arguments.
                "minimum" if value.as_f64() == Some(0.0) => {}
                "additionalProperties"
                    if object.get("properties").is_some_and(|p| p == &json!({})) => {}
                known if KNOWN_TO_SERDE.contains(&known) => {}
                _ => return true,
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only the schema is used")]
    struct Plain {
        /// How many.
        count: u32,
        label: Option<String>,
        tags: Vec<String>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only the schema is used")]
    struct Constrained {
        #[schemars(extend("maximum" = 10))]
        count: u32,
        note: Option<String>,
    }

    #[derive(Deserialize, JsonSchema)]
    struct Nothing {}

    #[test]
    fn generated_schemas_are_simple() {
        assert_eq!(
            arguments_schema::<Plain>(),
            json!({
                "type": "object",
                "properties": {
                    "count": {"description": "How many.", "type": "integer", "minimum": 0},
                    "label": {"type": "string"},
                    "tags": {"type": "array", "items": {"type": "string"}}
                },
                "required": ["count", "tags"]
            })
        );
        assert_eq!(
            arguments_schema::<Nothing>(),
            json!({"type": "object", "properties": {}, "additionalProperties": false})
        );
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Size {
        Small,
        Large,
    }

    /// A place.
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only the schema is used")]
    struct Place {
        city: String,
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only the schema is used")]
    struct Optional {
        size: Option<Size>,
        sizes: Option<Vec<Size>>,
        place: Option<Place>,
        /// Where it goes.
        target: Option<Place>,
    }

    #[test]
    fn optional_members_do_not_accept_null() {
        let sizes = json!({"type": "string", "enum": ["small", "large"]});
        let place = |description: &str| {
            json!({
                "description": description,
                "type": "object",
                "properties": {"city": {"type": "string"}},
                "required": ["city"]
            })
        };
        assert_eq!(
            arguments_schema::<Optional>()["properties"],
            json!({
                "size": sizes,
                "sizes": {"type": "array", "items": sizes},
                "place": place("A place."),
                "target": place("Where it goes."),
            })
        );
    }

    #[test]
    fn only_constraints_require_the_validator() {
        assert!(!needs_validator(&arguments_schema::<Plain>()));
        assert!(needs_validator(&arguments_schema::<Constrained>()));
    }
}
