//! Adds and removes an entry in the text of a JSON document. Comments, order, indentation and line ends stay.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::Value;

/// The member of VS Code with the definitions of inputs.
pub(super) const INPUTS: &str = "inputs";

/// Returns the text with an entry in the object at `path`, and with the inputs that it does not define yet.
pub(super) fn insert(
    text: &str,
    path: &[&str],
    name: &str,
    entry: &Value,
    inputs: &[Value],
) -> Result<String, String> {
    let root = parse(text)?;
    let document = root.object_value_or_create().ok_or(NO_OBJECT)?;
    let mut object = document.clone();
    for member in path {
        let inner = object.object_value_or_create(member);
        object = inner.ok_or_else(|| format!("`{member}` is not an object"))?;
    }
    match object.get(name) {
        Some(property) => property.set_value(input_value(entry)),
        None => {
            object.append(name, input_value(entry));
        }
    }
    for input in inputs {
        let array = document.array_value_or_create(INPUTS);
        let array = array.ok_or_else(|| format!("`{INPUTS}` is not an array"))?;
        let mut elements = array.elements().into_iter();
        let is_defined = elements.any(|element| {
            let object = element.as_object();
            object
                .is_some_and(|object| text_member(&object, "id").as_deref() == input["id"].as_str())
        });
        if !is_defined {
            array.append(input_value(input));
        }
    }
    let mut text = root.to_string();
    if !text.ends_with(['\n', '}']) {
        text.push('\n');
    }
    Ok(text)
}

/// Returns the text without an entry of the object at `path`, and without these inputs.
pub(super) fn remove(
    text: &str,
    path: &[&str],
    name: &str,
    inputs: &[Value],
) -> Result<String, String> {
    let root = parse(text)?;
    let document = root.object_value().ok_or(NO_OBJECT)?;
    let mut object = document.clone();
    for member in path {
        let inner = object.object_value(member);
        object = inner.ok_or_else(|| format!("`{member}` is not an object"))?;
    }
    if let Some(property) = object.get(name) {
        property.remove();
    }
    let elements = document.array_value(INPUTS);
    for element in elements.map(|array| array.elements()).unwrap_or_default() {
        let id = element
            .as_object()
            .and_then(|object| text_member(&object, "id"));
        if id.is_some_and(|id| inputs.iter().any(|input| input["id"].as_str() == Some(&id))) {
            element.remove();
        }
    }
    Ok(root.to_string())
}

const NO_OBJECT: &str = "the document is not an object";

fn parse(text: &str) -> Result<CstRootNode, String> {
    // Only comments and trailing commas are accepted besides JSON, as in editors.
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    CstRootNode::parse(text, &options).map_err(|error| {
        let (line, column) = (error.line_display(), error.column_display());
        format!("{} at line {line}, column {column}", error.kind())
    })
}

fn text_member(object: &CstObject, name: &str) -> Option<String> {
    object
        .get(name)?
        .value()?
        .as_string_lit()?
        .decoded_value()
        .ok()
}

fn input_value(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(value) => CstInputValue::Number(value.to_string()),
        Value::String(value) => CstInputValue::String(value.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(input_value).collect()),
        Value::Object(members) => {
            let members = members.iter();
            CstInputValue::Object(
                members
                    .map(|(name, value)| (name.clone(), input_value(value)))
                    .collect(),
            )
        }
    }
}
