//! Elicitation: forms and URLs in the form of each revision.

use std::ops::RangeInclusive;

use serde_json::Value;
use toolwire_types::{
    ElicitAction, ElicitRequestFormParams, ElicitRequestParams, ElicitRequestURLParams,
    ElicitResult, ElicitSchema, EnumOption, ErrorObject, LegacyTitledEnumSchema, PrimitiveSchema,
    ProtocolVersion, RawJson, TitledMultiSelectEnumSchema, TitledSingleSelectEnumSchema,
    UntitledMultiSelectEnumSchema, UntitledSingleSelectEnumSchema,
};

use crate::features::VersionFeatures;
use crate::stamp::{Stamp, Target, keep_if, stamp_meta};

/// Converts the parameters of `elicitation/create` to a revision.
///
/// In 2025-06-18 multiple choices become single choices, so the value is a string instead of an array. If no choice is
/// required, the field may be empty.
///
/// # Errors
/// Returns an error if the revision has no elicitation or not this mode, or if it requires an `elicitationId` that is
/// missing. The same holds if a form that must be rewritten is not an object with `properties`, or if one value cannot
/// satisfy a multiple choice.
pub fn project_elicitation(
    mut params: ElicitRequestParams,
    version: ProtocolVersion,
) -> Result<ElicitRequestParams, ErrorObject> {
    if let Some(reason) = rejection_reason(&params, version) {
        let message = format!("{reason} (protocol version {version})");
        return Err(ErrorObject::invalid_request(message));
    }
    params.stamp(&Target::new(version));
    Ok(params)
}

/// Converts the result of a form that [`project_elicitation`] simplified to a result of the original form.
///
/// A single choice that replaces a multiple choice becomes an array of one. A required choice that is empty becomes an
/// empty array.
#[must_use]
pub fn restore_elicitation(
    request: &ElicitRequestParams,
    response: RawJson,
    version: ProtocolVersion,
) -> RawJson {
    let ElicitRequestParams::Form(form) = request else {
        return response;
    };
    if version.has_rich_elicitation_schema() {
        return response;
    }
    let (Ok(schema), Ok(mut result)) = (form.schema(), response.parse::<ElicitResult>()) else {
        return response;
    };
    if result.action != ElicitAction::Accept {
        return response;
    }
    for (name, field) in &schema.properties {
        let Some(counts) = counts(field) else {
            continue;
        };
        let content = result.content.get_or_insert_default();
        match content.get_mut(name) {
            Some(value) if value.is_string() => *value = Value::Array(vec![value.take()]),
            None if schema.is_required(name) && counts.contains(&0) => {
                content.insert(name.clone(), Value::Array(Vec::new()));
            }
            _ => {}
        }
    }
    RawJson::from_serialize(&result).unwrap_or(response)
}

/// Returns the reason why these parameters cannot be sent in this revision, if there is one.
fn rejection_reason(
    params: &ElicitRequestParams,
    version: ProtocolVersion,
) -> Option<&'static str> {
    match params {
        _ if !version.has_elicitation() => Some("the client does not support elicitation"),
        ElicitRequestParams::Form(_) if version.has_rich_elicitation_schema() => None,
        ElicitRequestParams::Form(form) => match form.schema() {
            Err(_) => Some("the form is not an object with properties"),
            Ok(schema) => {
                let mut counts = schema.properties.values().filter_map(counts);
                let is_unsupported = counts.any(|counts| !counts.contains(&1));
                is_unsupported.then_some("the client does not support multiple choices")
            }
        },
        ElicitRequestParams::Url(_) if !version.has_url_elicitation() => {
            Some("the client does not support URL elicitation")
        }
        ElicitRequestParams::Url(url) => {
            let lacks_id = version.has_elicitation_id() && url.elicitation_id.is_none();
            lacks_id.then_some("URL elicitation requires an elicitationId")
        }
        _ => None,
    }
}

/// Returns the permitted number of values of a multiple choice. Returns `None` for other fields.
fn counts(field: &PrimitiveSchema) -> Option<RangeInclusive<u64>> {
    let (min_items, max_items) = match field {
        PrimitiveSchema::UntitledMultiSelect(choice) => (choice.min_items, choice.max_items),
        PrimitiveSchema::TitledMultiSelect(choice) => (choice.min_items, choice.max_items),
        _ => return None,
    };
    Some(min_items.unwrap_or(0)..=max_items.unwrap_or(u64::MAX))
}

impl Stamp for ElicitRequestParams {
    fn stamp(&mut self, target: &Target<'_>) {
        match self {
            Self::Form(params) => params.stamp(target),
            Self::Url(params) => params.stamp(target),
            _ => {}
        }
    }
}

impl Stamp for ElicitRequestURLParams {
    fn stamp(&mut self, target: &Target<'_>) {
        keep_if(
            target.version.has_elicitation_id(),
            &mut self.elicitation_id,
        );
        keep_if(target.version.has_core_tasks(), &mut self.task);
        stamp_meta(&mut self.meta, target);
    }
}

impl Stamp for ElicitRequestFormParams {
    fn stamp(&mut self, target: &Target<'_>) {
        keep_if(target.version.has_url_elicitation(), &mut self.mode);
        keep_if(target.version.has_core_tasks(), &mut self.task);
        stamp_meta(&mut self.meta, target);
        if !target.version.has_rich_elicitation_schema()
            && let Ok(mut schema) = self.schema()
        {
            schema.stamp(target);
            self.requested_schema = schema.into();
        }
    }
}

impl Stamp for ElicitSchema {
    fn stamp(&mut self, target: &Target<'_>) {
        if !target.version.has_rich_elicitation_schema() {
            self.schema = None;
            if let Some(required) = &mut self.required {
                let may_be_empty = |name: &String| {
                    let field = self.properties.get(name);
                    field
                        .and_then(counts)
                        .is_some_and(|counts| counts.contains(&0))
                };
                required.retain(|name| !may_be_empty(name));
                if required.is_empty() {
                    self.required = None;
                }
            }
            for field in self.properties.values_mut() {
                simplify(field);
            }
        }
    }
}

/// Rewrites a field for 2025-06-18: only boolean fields have defaults, choices are single, and display names are in
/// `enumNames`.
fn simplify(field: &mut PrimitiveSchema) {
    match field {
        PrimitiveSchema::String(text) => text.default = None,
        PrimitiveSchema::Number(number) => number.default = None,
        PrimitiveSchema::UntitledSingleSelect(choice) => choice.default = None,
        PrimitiveSchema::LegacyTitledEnum(choice) => choice.default = None,
        PrimitiveSchema::TitledSingleSelect(choice) => *field = one_titled(choice),
        PrimitiveSchema::UntitledMultiSelect(choice) => *field = one_of_many(choice),
        PrimitiveSchema::TitledMultiSelect(choice) => *field = one_of_many_titled(choice),
        _ => {}
    }
}

fn one_titled(choice: &TitledSingleSelectEnumSchema) -> PrimitiveSchema {
    let mut single = with_names(&choice.one_of);
    single.title.clone_from(&choice.title);
    single.description.clone_from(&choice.description);
    single.extra.clone_from(&choice.extra);
    PrimitiveSchema::LegacyTitledEnum(single)
}

fn one_of_many(choice: &UntitledMultiSelectEnumSchema) -> PrimitiveSchema {
    let mut single = UntitledSingleSelectEnumSchema::new(choice.items.values.iter().cloned());
    single.title.clone_from(&choice.title);
    single.description.clone_from(&choice.description);
    single.extra.clone_from(&choice.extra);
    PrimitiveSchema::UntitledSingleSelect(single)
}

fn one_of_many_titled(choice: &TitledMultiSelectEnumSchema) -> PrimitiveSchema {
    let mut single = with_names(&choice.items.any_of);
    single.title.clone_from(&choice.title);
    single.description.clone_from(&choice.description);
    single.extra.clone_from(&choice.extra);
    PrimitiveSchema::LegacyTitledEnum(single)
}

fn with_names(options: &[EnumOption]) -> LegacyTitledEnumSchema {
    LegacyTitledEnumSchema::new(
        options.iter().map(|option| option.value.clone()),
        options.iter().map(|option| option.title.clone()),
    )
}

#[cfg(test)]
mod tests {
    use ProtocolVersion::{V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28};
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn single_choice_becomes_an_array() {
        let form = json!({"message": "m", "requestedSchema": {"type": "object", "properties": {
            "colours": {"type": "array", "items": {"type": "string", "enum": ["red", "blue"]}},
            "name": {"type": "string"},
        }}});
        let form: ElicitRequestParams = serde_json::from_value(form).unwrap();
        let check = |version, expected: Value| {
            let response = json!({"action": "accept", "content": {"colours": "red", "name": "x"}});
            let restored = restore_elicitation(&form, response.into(), version);
            assert_eq!(restored.to_value().unwrap()["content"]["colours"], expected);
        };
        check(V2025_06_18, json!(["red"]));
        check(V2025_11_25, json!("red"));
        let declined = RawJson::from(json!({"action": "decline"}));
        assert_eq!(
            restore_elicitation(&form, declined.clone(), V2025_06_18),
            declined
        );
    }

    #[test]
    fn optional_choice_may_be_empty_in_2025_06_18() {
        let form = |minimum: u64| {
            json!({"message": "m", "requestedSchema": {"type": "object", "required": ["c"], "properties": {
                "c": {"type": "array", "minItems": minimum, "items": {"type": "string", "enum": ["red", "blue"]}},
            }}})
        };
        let required = |minimum| {
            let projected = project(&form(minimum), V2025_06_18).unwrap();
            projected["requestedSchema"]["required"].clone()
        };
        assert_eq!(required(0), json!(null));
        assert_eq!(required(1), json!(["c"]));
        let check = |minimum, expected: Value| {
            let request = serde_json::from_value(form(minimum)).unwrap();
            let response = json!({"action": "accept"}).into();
            let restored = restore_elicitation(&request, response, V2025_06_18);
            assert_eq!(restored.to_value().unwrap()["content"]["c"], expected);
        };
        check(0, json!([]));
        check(1, json!(null));
    }

    #[test]
    fn choice_of_several_values_is_an_error_in_2025_06_18() {
        let form = |counts: &str| {
            let field = format!(
                r#"{{"type":"array","items":{{"anyOf":[{{"const":"a","title":"A"}}]}}{counts}}}"#
            );
            let field: Value = serde_json::from_str(&field).unwrap();
            json!({"message": "m", "requestedSchema": {"type": "object", "properties": {"f": field}}})
        };
        for (counts, possible) in [
            ("", true),
            (r#","minItems":1"#, true),
            (r#","minItems":0,"maxItems":1"#, true),
            (r#","minItems":2"#, false),
            (r#","maxItems":0"#, false),
        ] {
            assert_eq!(
                project(&form(counts), V2025_06_18).is_ok(),
                possible,
                "{counts}"
            );
            assert!(project(&form(counts), V2025_11_25).is_ok());
        }
    }

    fn project(params: &Value, version: ProtocolVersion) -> Result<Value, ErrorObject> {
        let params = serde_json::from_str(&params.to_string()).unwrap();
        let projected = project_elicitation(params, version)?;
        Ok(serde_json::to_value(projected).unwrap())
    }

    /// Checks a field in 2025-06-18 and in later revisions.
    fn check_field(field: &Value, simple: &Value) {
        let form = |field: &Value| json!({"message": "m", "requestedSchema": {"type": "object", "properties": {"f": field}}});
        let projected = |version| project(&form(field), version).unwrap();
        assert_eq!(projected(V2025_06_18), form(simple));
        assert_eq!(projected(V2025_11_25), form(field));
        assert_eq!(projected(V2026_07_28), form(field));
    }

    #[test]
    fn only_boolean_fields_keep_their_default_in_2025_06_18() {
        check_field(
            &json!({"type": "string", "title": "T", "maxLength": 3, "format": "email", "default": "x"}),
            &json!({"type": "string", "title": "T", "maxLength": 3, "format": "email"}),
        );
        check_field(
            &json!({"type": "integer", "minimum": 1, "default": 2}),
            &json!({"type": "integer", "minimum": 1}),
        );
        let boolean = json!({"type": "boolean", "default": true});
        check_field(&boolean, &boolean);
        check_field(
            &json!({"type": "string", "enum": ["a"], "default": "a"}),
            &json!({"type": "string", "enum": ["a"]}),
        );
        check_field(
            &json!({"type": "string", "enum": ["a"], "enumNames": ["A"], "default": "a"}),
            &json!({"type": "string", "enum": ["a"], "enumNames": ["A"]}),
        );
    }

    #[test]
    fn choices_become_enum_and_enum_names_in_2025_06_18() {
        let options = json!([{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]);
        check_field(
            &json!({"type": "string", "title": "T", "oneOf": options, "default": "a", "x-later": 1}),
            &json!({"type": "string", "title": "T", "enum": ["a", "b"], "enumNames": ["A", "B"], "x-later": 1}),
        );
        check_field(
            &json!({"type": "array", "description": "d", "minItems": 1, "items": {"anyOf": options}, "default": ["a"]}),
            &json!({"type": "string", "description": "d", "enum": ["a", "b"], "enumNames": ["A", "B"]}),
        );
        check_field(
            &json!({"type": "array", "maxItems": 1, "items": {"type": "string", "enum": ["a", "b"]}}),
            &json!({"type": "string", "enum": ["a", "b"]}),
        );
    }

    #[test]
    fn unknown_fields_and_the_order_of_fields_stay() {
        let field = json!({"type": "colour", "default": 1});
        check_field(&field, &field);
        let schema =
            r#"{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"string"}}}"#;
        let params: ElicitRequestParams =
            serde_json::from_str(&format!(r#"{{"message":"m","requestedSchema":{schema}}}"#))
                .unwrap();
        let ElicitRequestParams::Form(form) = project_elicitation(params, V2025_06_18).unwrap()
        else {
            panic!("a form stays a form");
        };
        assert_eq!(form.requested_schema.get(), schema);
    }

    #[test]
    fn members_beside_the_form_follow_the_revision() {
        let full = json!({
            "mode": "form", "message": "m", "task": {"ttl": 1},
            "requestedSchema": {"$schema": "s", "type": "object", "properties": {}},
        });
        let check =
            |version, expected: Value| assert_eq!(project(&full, version).unwrap(), expected);
        check(
            V2025_06_18,
            json!({"message": "m", "requestedSchema": {"type": "object", "properties": {}}}),
        );
        check(V2025_11_25, full.clone());
        check(
            V2026_07_28,
            json!({
                "mode": "form", "message": "m",
                "requestedSchema": {"$schema": "s", "type": "object", "properties": {}},
            }),
        );
    }

    #[test]
    fn only_2025_11_25_has_the_elicitation_id() {
        let named =
            json!({"mode": "url", "message": "m", "url": "https://a.b", "elicitationId": "e"});
        let unnamed = json!({"mode": "url", "message": "m", "url": "https://a.b"});
        assert_eq!(project(&named, V2025_11_25), Ok(named.clone()));
        assert_eq!(project(&named, V2026_07_28), Ok(unnamed.clone()));
        assert_eq!(project(&unnamed, V2026_07_28), Ok(unnamed.clone()));
        assert_eq!(project(&unnamed, V2025_11_25).unwrap_err().code, -32600);
    }

    #[test]
    fn unsupported_elicitation_is_an_error() {
        let form = json!({"message": "m", "requestedSchema": {"type": "object", "properties": {}}});
        let url =
            json!({"mode": "url", "message": "m", "url": "https://a.b", "elicitationId": "e"});
        for version in [V2024_11_05, V2025_03_26] {
            assert!(project(&form, version).is_err());
            assert!(project(&url, version).is_err());
        }
        let error = project(&url, V2025_06_18).unwrap_err();
        assert!(error.message.contains("URL") && error.message.contains("2025-06-18"));
        let odd = json!({"message": "m", "requestedSchema": true});
        assert!(project(&odd, V2025_06_18).is_err());
        assert_eq!(project(&odd, V2025_11_25), Ok(odd));
    }
}
