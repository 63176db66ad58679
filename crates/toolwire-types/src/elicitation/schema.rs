//! The schema of an elicitation form: a flat JSON Schema object with properties of primitive types.
//!
//! A property of a type that the specification does not define is stored unchanged.

use indexmap::IndexMap;
use serde::de::{Error as _, IgnoredAny};
use serde::{Deserialize, Deserializer, Serialize};

use crate::elicitation::choices::{
    LegacyTitledEnumSchema, TitledMultiSelectEnumSchema, TitledSingleSelectEnumSchema,
    UntitledMultiSelectEnumSchema, UntitledSingleSelectEnumSchema,
};
use crate::elicitation::fields::{BooleanSchema, NumberSchema, StringSchema};
use crate::raw::RawJson;
use crate::result::Extra;
use crate::setters::setters;

/// The schema of a form. The fields are in display order.
///
/// ```
/// use toolwire_types::{BooleanSchema, ElicitSchema, StringSchema};
///
/// let schema = ElicitSchema::new()
///     .with_required("name", StringSchema::new().with_title("Your name"))
///     .with_optional("newsletter", BooleanSchema::new().with_default(false));
/// assert_eq!(schema.properties.len(), 2);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ElicitSchema {
    /// The JSON Schema dialect (since 2025-11-25).
    #[serde(rename = "$schema", default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    #[serde(rename = "type")]
    kind: ObjectKind,
    /// The fields by name.
    pub properties: IndexMap<String, PrimitiveSchema>,
    /// The names of the required fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<Vec<String>>,
    /// Members that this crate does not define.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ElicitSchema {
    /// Creates a form without fields.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a required field.
    #[must_use]
    pub fn with_required(
        mut self,
        name: impl Into<String>,
        field: impl Into<PrimitiveSchema>,
    ) -> Self {
        let name = name.into();
        self.required.get_or_insert_default().push(name.clone());
        self.with_optional(name, field)
    }

    /// Adds an optional field.
    #[must_use]
    pub fn with_optional(
        mut self,
        name: impl Into<String>,
        field: impl Into<PrimitiveSchema>,
    ) -> Self {
        self.properties.insert(name.into(), field.into());
        self
    }

    /// Returns `true` if the field is required.
    #[must_use]
    pub fn is_required(&self, name: &str) -> bool {
        let mut required = self.required.iter().flatten();
        required.any(|required| required == name)
    }
}

impl From<&ElicitSchema> for RawJson {
    fn from(schema: &ElicitSchema) -> Self {
        Self::from_serialize(schema).expect("every map in a form schema has string keys")
    }
}

impl From<ElicitSchema> for RawJson {
    fn from(schema: ElicitSchema) -> Self {
        Self::from(&schema)
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum ObjectKind {
    #[default]
    Object,
}

/// One field of a form.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum PrimitiveSchema {
    /// A string field.
    String(StringSchema),
    /// A number or integer field.
    Number(NumberSchema),
    /// A boolean field.
    Boolean(BooleanSchema),
    /// A single-select field without titles.
    UntitledSingleSelect(UntitledSingleSelectEnumSchema),
    /// A single-select field with titles (since 2025-11-25).
    TitledSingleSelect(TitledSingleSelectEnumSchema),
    /// A single-select field with the titles in a second array, the older form.
    LegacyTitledEnum(LegacyTitledEnumSchema),
    /// A multi-select field without titles (since 2025-11-25).
    UntitledMultiSelect(UntitledMultiSelectEnumSchema),
    /// A multi-select field with titles (since 2025-11-25).
    TitledMultiSelect(TitledMultiSelectEnumSchema),
    /// A schema that the specification does not define, stored unchanged.
    Unknown(RawJson),
}

/// The keywords that distinguish the types of fields.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Shape {
    #[serde(rename = "type")]
    kind: String,
    #[serde(rename = "enum")]
    values: Option<IgnoredAny>,
    enum_names: Option<IgnoredAny>,
    one_of: Option<IgnoredAny>,
    items: Option<ItemsShape>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ItemsShape {
    any_of: Option<IgnoredAny>,
}

impl PrimitiveSchema {
    fn from_raw(raw: &RawJson) -> serde_json::Result<Self> {
        let shape: Shape = raw.parse()?;
        match (shape.kind.as_str(), &shape) {
            (
                "string",
                Shape {
                    enum_names: Some(_),
                    ..
                },
            ) => raw.parse().map(Self::LegacyTitledEnum),
            (
                "string",
                Shape {
                    values: Some(_), ..
                },
            ) => raw.parse().map(Self::UntitledSingleSelect),
            (
                "string",
                Shape {
                    one_of: Some(_), ..
                },
            ) => raw.parse().map(Self::TitledSingleSelect),
            ("string", _) => raw.parse().map(Self::String),
            ("number" | "integer", _) => raw.parse().map(Self::Number),
            ("boolean", _) => raw.parse().map(Self::Boolean),
            (
                "array",
                Shape {
                    items: Some(items), ..
                },
            ) if items.any_of.is_some() => raw.parse().map(Self::TitledMultiSelect),
            ("array", _) => raw.parse().map(Self::UntitledMultiSelect),
            (kind, _) => Err(serde_json::Error::custom(format_args!(
                "unknown field type {kind:?}"
            ))),
        }
    }
}

impl<'de> Deserialize<'de> for PrimitiveSchema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        Ok(Self::from_raw(&raw).unwrap_or(Self::Unknown(raw)))
    }
}

/// Implements the members that all types of fields share, and the conversion into [`PrimitiveSchema`].
macro_rules! impl_field {
    ($($schema:ident => $variant:ident,)*) => {$(
        impl $schema {
            setters! {
                /// Sets the label of the field.
                with_title(title: into String);
                /// Sets the explanation of the field.
                with_description(description: into String);
            }
        }

        impl From<$schema> for PrimitiveSchema {
            fn from(schema: $schema) -> Self {
                Self::$variant(schema)
            }
        }
    )*};
}

impl_field! {
    StringSchema => String,
    NumberSchema => Number,
    BooleanSchema => Boolean,
    UntitledSingleSelectEnumSchema => UntitledSingleSelect,
    TitledSingleSelectEnumSchema => TitledSingleSelect,
    LegacyTitledEnumSchema => LegacyTitledEnum,
    UntitledMultiSelectEnumSchema => UntitledMultiSelect,
    TitledMultiSelectEnumSchema => TitledMultiSelect,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::elicitation::{EnumOption, StringFormat};
    use crate::round_trip::check;

    #[test]
    fn fields_are_parsed_by_type() {
        macro_rules! check_variant {
            ($wire:tt, $variant:ident) => {
                let field = check::<PrimitiveSchema>(json!($wire));
                assert!(matches!(field, PrimitiveSchema::$variant(_)), "{field:?}");
            };
        }
        check_variant!({"type": "string"}, String);
        check_variant!({"type": "string", "title": "t", "description": "d", "minLength": 1, "maxLength": 2,
            "format": "date-time", "default": "x", "pattern": "a"}, String);
        check_variant!({"type": "string", "format": "hostname"}, String);
        check_variant!({"type": "number", "minimum": 0.5, "maximum": 10, "default": 1}, Number);
        check_variant!({"type": "integer", "title": "t", "multipleOf": 5}, Number);
        check_variant!({"type": "boolean", "default": true, "description": "d", "x": null}, Boolean);
        check_variant!({"type": "string", "enum": ["a", "b"], "default": "a"}, UntitledSingleSelect);
        check_variant!({"type": "string", "enum": ["a"], "enumNames": ["A"]}, LegacyTitledEnum);
        check_variant!({"type": "string", "oneOf": [{"const": "a", "title": "A", "x": 1}]}, TitledSingleSelect);
        check_variant!({"type": "array", "items": {"type": "string", "enum": ["a"], "x": 1}, "minItems": 1,
            "maxItems": 2, "default": ["a"]}, UntitledMultiSelect);
        check_variant!({"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}], "x": 1},
            "uniqueItems": true}, TitledMultiSelect);
    }

    #[test]
    fn schemas_of_unknown_types_round_trip() {
        for wire in [
            json!({"type": "object", "properties": {}}),
            json!({"type": ["string", "null"]}),
            json!({"type": "array", "items": {"type": "number"}}),
            json!({"type": "array"}),
            json!({"type": "string", "minLength": "one"}),
            json!({"$ref": "#/x"}),
            json!({}),
            json!(true),
            json!(["string"]),
        ] {
            let field = check::<PrimitiveSchema>(wire);
            assert!(matches!(field, PrimitiveSchema::Unknown(_)), "{field:?}");
        }
    }

    #[test]
    fn form_schemas_round_trip_with_field_order_and_unknown_members() {
        let form = check::<ElicitSchema>(json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "required": ["z"],
            "properties": {"z": {"type": "string"}, "a": {"type": "boolean"}}, "additionalProperties": false,
        }));
        assert!(form.is_required("z") && !form.is_required("a"));
        let text =
            r#"{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"boolean"}}}"#;
        let form: ElicitSchema = serde_json::from_str(text).unwrap();
        assert_eq!(RawJson::from(form).get(), text);
    }

    #[test]
    fn form_schema_without_type_object_or_properties_is_rejected() {
        for wire in [
            json!({"type": "object"}),
            json!({"properties": {}}),
            json!({"type": "array", "properties": {}}),
            json!([]),
        ] {
            assert!(
                serde_json::from_value::<ElicitSchema>(wire.clone()).is_err(),
                "{wire}"
            );
        }
    }

    #[test]
    fn built_form_serializes_to_wire_format() {
        let form = ElicitSchema::new()
            .with_required(
                "mail",
                StringSchema::new()
                    .with_title("Mail")
                    .with_format(StringFormat::Email)
                    .with_length(3, 50)
                    .with_default("a@b.c"),
            )
            .with_optional("age", NumberSchema::integer().with_range(0.0, 150.0))
            .with_optional("half", NumberSchema::number().with_default(0.5))
            .with_optional(
                "ok",
                BooleanSchema::new()
                    .with_default(true)
                    .with_description("d"),
            )
            .with_optional(
                "plain",
                UntitledSingleSelectEnumSchema::new(["a", "b"]).with_default("a"),
            )
            .with_optional(
                "named",
                TitledSingleSelectEnumSchema::new([EnumOption::new("a", "A")]),
            )
            .with_optional("old", LegacyTitledEnumSchema::new(["a"], ["A"]))
            .with_optional(
                "some",
                UntitledMultiSelectEnumSchema::new(["a"]).with_count(0, 1),
            )
            .with_optional(
                "few",
                TitledMultiSelectEnumSchema::new([EnumOption::new("a", "A")]).with_default(["a"]),
            );
        assert_eq!(
            serde_json::to_value(form).unwrap(),
            json!({
                "type": "object",
                "properties": {
                    "mail": {
                        "type": "string", "title": "Mail", "minLength": 3, "maxLength": 50, "format": "email",
                        "default": "a@b.c",
                    },
                    "age": {"type": "integer", "minimum": 0, "maximum": 150},
                    "half": {"type": "number", "default": 0.5},
                    "ok": {"type": "boolean", "default": true, "description": "d"},
                    "plain": {"type": "string", "enum": ["a", "b"], "default": "a"},
                    "named": {"type": "string", "oneOf": [{"const": "a", "title": "A"}]},
                    "old": {"type": "string", "enum": ["a"], "enumNames": ["A"]},
                    "some": {"type": "array", "minItems": 0, "maxItems": 1, "items": {"type": "string", "enum": ["a"]}},
                    "few": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}, "default": ["a"]},
                },
                "required": ["mail"],
            })
        );
    }
}
