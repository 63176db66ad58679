//! Elicitation results: filling in the defaults of a form and checking the result against the form.
//!
//! Clients use this module before they send a result, servers when they receive one. It checks only the keywords that
//! the specification defines for forms. The peer that wrote `pattern` and other JSON Schema keywords checks those.
//! Messages name fields and rules but never repeat user input.
//! Spec 2026-07-28, client/elicitation, "Requested Schema" and "Response Actions".

mod fields;
mod formats;
mod invalid;

use serde_json::Value;
use toolwire_types::{
    ClientCapabilities, ElicitAction, ElicitRequestFormParams, ElicitRequestParams, ElicitResult,
    ElicitSchema, ErrorObject, PrimitiveSchema,
};

pub use invalid::{FieldError, InvalidElicitResult, UnreadableSchema};

/// Checks that a client supports the requested mode of elicitation.
///
/// # Errors
/// Returns −32602 for a mode that was not declared, and −32601 if elicitation was not declared at all.
/// Spec 2025-11-25, client/elicitation, "Error Handling".
pub fn check_mode(
    params: &ElicitRequestParams,
    declared: &ClientCapabilities,
) -> Result<(), ErrorObject> {
    let Some(elicitation) = &declared.elicitation else {
        return Err(ErrorObject::method_not_found(
            "this client does not offer elicitation",
        ));
    };
    let (is_offered, message) = match params {
        ElicitRequestParams::Url(_) => (
            elicitation.supports_url(),
            "this client does not offer URL elicitation",
        ),
        _ => (
            elicitation.supports_form(),
            "this client does not offer form elicitation",
        ),
    };
    if is_offered {
        Ok(())
    } else {
        Err(ErrorObject::invalid_params(message))
    }
}

/// The maximum number of fields of a form, and of names in its list of required fields. Each field is compared with
/// that list.
pub const MAX_FIELDS: usize = 1000;

/// Parses the form of an elicitation. The specification must define the kind of every field.
///
/// # Errors
/// Returns an error if the schema is not a flat object or a field has another kind, for example an object. The same
/// holds if a required field does not exist, or if the form has more than [`MAX_FIELDS`] fields.
pub fn read_schema(params: &ElicitRequestFormParams) -> Result<ElicitSchema, UnreadableSchema> {
    let schema = params
        .schema()
        .map_err(|error| UnreadableSchema::new(None, error.to_string()))?;
    let required = schema.required.as_ref().map_or(0, Vec::len);
    if schema.properties.len().max(required) > MAX_FIELDS {
        let reason = format!("a form has at most {MAX_FIELDS} fields");
        return Err(UnreadableSchema::new(None, reason));
    }
    for (name, field) in &schema.properties {
        if !fields::is_readable(field) {
            return Err(UnreadableSchema::new(
                Some(name),
                "a field is a string, a number, an integer, a boolean or a choice of strings",
            ));
        }
    }
    let required = schema.required.iter().flatten();
    match required
        .into_iter()
        .find(|name| !schema.properties.contains_key(*name))
    {
        Some(name) => Err(UnreadableSchema::new(
            Some(name),
            "it is required but not a property",
        )),
        None => Ok(schema),
    }
}

/// Fills in the fields that an accepted result omits and that have a default (SEP-1034).
///
/// A field that is `null` counts as omitted, because an empty optional field of a struct serializes as `null`. Without
/// a default it is removed. A default that violates the rules of its own field is not used.
///
/// ```
/// use toolwire_proto::elicit_validation::apply_defaults;
/// use toolwire_types::{BooleanSchema, ElicitResult, ElicitSchema};
///
/// let schema = ElicitSchema::new().with_optional("updates", BooleanSchema::new().with_default(true));
/// let mut result = ElicitResult::accept();
/// apply_defaults(&schema, &mut result);
/// assert_eq!(result.content.unwrap()["updates"], true);
/// ```
pub fn apply_defaults(schema: &ElicitSchema, result: &mut ElicitResult) {
    if result.action != ElicitAction::Accept {
        return;
    }
    if let Some(content) = &mut result.content {
        content.retain(|name, value| !(value.is_null() && schema.properties.contains_key(name)));
    }
    for (name, field) in &schema.properties {
        let is_filled_in = result
            .content
            .as_ref()
            .is_some_and(|content| content.contains_key(name));
        if is_filled_in {
            continue;
        }
        if let Some(default) = usable_default(field) {
            let content = result.content.get_or_insert_default();
            content.insert(name.clone(), default);
        }
    }
}

/// Writes whole numbers in integer fields as integers. JSON Schema treats `3.0` as an integer, and Rust does not.
pub fn write_whole_numbers(schema: &ElicitSchema, result: &mut ElicitResult) {
    for (name, value) in result.content.iter_mut().flatten() {
        if let Some(field) = schema.properties.get(name) {
            fields::write_whole(field, value);
        }
    }
}

fn usable_default(field: &PrimitiveSchema) -> Option<Value> {
    fields::default(field).filter(|default| fields::check(field, default).is_ok())
}

/// Checks the result of a form elicitation.
///
/// Acceptance without content counts as a form with no field filled in. Members that are not fields of the form are
/// rejected: the peer did not request them, and dropping them would hide a mistake.
///
/// # Errors
/// Returns the first problem, in the order of the form.
pub fn check_elicit_result(
    schema: &ElicitSchema,
    result: &ElicitResult,
) -> Result<(), InvalidElicitResult> {
    let content = result
        .content
        .as_ref()
        .filter(|content| !content.is_empty());
    if result.action != ElicitAction::Accept {
        return no_content(content.is_some());
    }
    let value = |name: &str| content.and_then(|content| content.get(name));
    for (name, field) in &schema.properties {
        match value(name) {
            Some(value) => fields::check(field, value),
            None if schema.is_required(name) => Err(FieldError::Missing),
            None => Ok(()),
        }
        .map_err(|problem| InvalidElicitResult::in_field(name, problem))?;
    }
    for name in schema.required.iter().flatten() {
        if value(name).is_none() {
            return Err(InvalidElicitResult::in_field(name, FieldError::Missing));
        }
    }
    let mut names = content.into_iter().flat_map(|content| content.keys());
    match names.find(|name| !schema.properties.contains_key(*name)) {
        Some(name) => {
            let allowed = schema.properties.keys().cloned().collect();
            Err(InvalidElicitResult::in_field(
                name,
                FieldError::UnknownField { allowed },
            ))
        }
        None => Ok(()),
    }
}

/// Checks the result of an elicitation by URL, which has no content.
///
/// # Errors
/// Returns an error if the result has content.
pub fn check_url_result(result: &ElicitResult) -> Result<(), InvalidElicitResult> {
    no_content(
        result
            .content
            .as_ref()
            .is_some_and(|content| !content.is_empty()),
    )
}

fn no_content(has_content: bool) -> Result<(), InvalidElicitResult> {
    if has_content {
        return Err(InvalidElicitResult::of_the_whole(
            FieldError::UnexpectedContent,
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
