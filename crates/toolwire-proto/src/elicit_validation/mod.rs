//! The answer to an elicitation: what the form fills in by itself, and whether the rest fits the form.
//!
//! Both sides use this: a client before it sends an answer, a server when it receives one. Only the keywords the
//! specification gives to forms are checked; `pattern` and other keywords of JSON Schema are left to the peer that
//! wrote them. Messages name fields and rules but never repeat what the user typed.
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

/// Checks that a client offers the kind of elicitation it is asked for.
///
/// # Errors
/// −32602 for a mode that was not declared, −32601 when elicitation was not declared at all.
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
    let (offered, refusal) = match params {
        ElicitRequestParams::Url(_) => (
            elicitation.supports_url(),
            "this client does not offer URL elicitation",
        ),
        _ => (
            elicitation.supports_form(),
            "this client does not offer form elicitation",
        ),
    };
    match offered {
        true => Ok(()),
        false => Err(ErrorObject::invalid_params(refusal)),
    }
}

/// Fields of one form, and names in its list of required fields. Checking compares each field with that list.
pub const MAX_FIELDS: usize = 1000;

/// Reads the form of an elicitation, all of whose fields must be of kinds the specification knows.
///
/// # Errors
/// When the schema is no flat object, a field is of another kind (an object, say), a field that does not exist is
/// required, or there are more than [`MAX_FIELDS`] fields.
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
            "it is required but is no property",
        )),
        None => Ok(schema),
    }
}

/// Fills in the fields that an accepted answer leaves out and that have a default (SEP-1034).
///
/// A field that is `null` counts as left out, for that is how an empty optional field of a struct is written; without
/// a default it is removed. A default that breaks the rules of its own field is not used.
///
/// ```
/// use toolwire_proto::elicit_validation::apply_defaults;
/// use toolwire_types::{BooleanSchema, ElicitResult, ElicitSchema};
///
/// let schema = ElicitSchema::new().with_optional("news", BooleanSchema::new().with_default(true));
/// let mut answer = ElicitResult::accept();
/// apply_defaults(&schema, &mut answer);
/// assert_eq!(answer.content.unwrap()["news"], true);
/// ```
pub fn apply_defaults(schema: &ElicitSchema, answer: &mut ElicitResult) {
    if answer.action != ElicitAction::Accept {
        return;
    }
    if let Some(content) = &mut answer.content {
        content.retain(|name, value| !(value.is_null() && schema.properties.contains_key(name)));
    }
    for (name, field) in &schema.properties {
        let answered = answer
            .content
            .as_ref()
            .is_some_and(|content| content.contains_key(name));
        if answered {
            continue;
        }
        if let Some(default) = usable_default(field) {
            let content = answer.content.get_or_insert_default();
            content.insert(name.clone(), default);
        }
    }
}

/// Writes whole numbers in integer fields as integers: JSON Schema takes `3.0` for one, and Rust does not.
pub fn write_whole_numbers(schema: &ElicitSchema, answer: &mut ElicitResult) {
    for (name, value) in answer.content.iter_mut().flatten() {
        if let Some(field) = schema.properties.get(name) {
            fields::write_whole(field, value);
        }
    }
}

fn usable_default(field: &PrimitiveSchema) -> Option<Value> {
    fields::default(field).filter(|default| fields::check(field, default).is_ok())
}

/// Checks the answer to a form.
///
/// Accepting without content is accepting with no field filled in. Members that are no fields of the form are refused:
/// the peer did not ask for them, and dropping them would hide a mistake.
///
/// # Errors
/// The first thing that is wrong, in the order of the form.
pub fn check_elicit_result(
    schema: &ElicitSchema,
    answer: &ElicitResult,
) -> Result<(), InvalidElicitResult> {
    let content = answer
        .content
        .as_ref()
        .filter(|content| !content.is_empty());
    if answer.action != ElicitAction::Accept {
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

/// Checks the answer to an elicitation by URL, which never has content.
///
/// # Errors
/// When there is content all the same.
pub fn check_url_result(answer: &ElicitResult) -> Result<(), InvalidElicitResult> {
    no_content(
        answer
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
