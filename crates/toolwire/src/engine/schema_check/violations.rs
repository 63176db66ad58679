//! The text of schema violations: where a value is wrong, and why.
//!
//! A value that matches no alternative of `oneOf` or `anyOf` violates each of them, and a list of all violations does
//! not help. The value was probably meant for one alternative: the one whose tag it has, or which it matches to the
//! greatest depth. The violations of that alternative are reported.

use std::cmp::Reverse;

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

/// The maximum characters of one violation in an error.
pub(super) const SHOWN_CHARS: usize = 500;

/// The violations of one alternative.
type Alternative = Vec<ValidationError<'static>>;

/// Adds the lines of a violation. `root` names the checked value.
pub(super) fn describe(violation: &ValidationError<'_>, root: &str, lines: &mut Vec<String>) {
    let here = path(violation);
    let alternatives = match violation.kind() {
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            context.as_slice()
        }
        _ => &[],
    };
    if let Some(alternative) = meant_alternative(here, alternatives) {
        for violation in alternative {
            describe(violation, root, lines);
        }
    } else if let Some(violation) = common_violation(alternatives) {
        describe(violation, root, lines);
    } else if let Some((tag, problem)) = unknown_tag(here, alternatives) {
        lines.push(line(root, tag, &problem));
    } else {
        lines.push(line(root, here, &violation.to_string()));
    }
}

/// Returns one line. A violation contains the value, which may be large.
fn line(root: &str, pointer: &str, problem: &str) -> String {
    let line = format!("{root}{}: {problem}", dotted(pointer));
    match line.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Returns the alternative that the value at `here` was meant for, or `None` if that is ambiguous.
fn meant_alternative<'a>(here: &str, alternatives: &'a [Alternative]) -> Option<&'a Alternative> {
    let mut possible: Vec<_> = alternatives
        .iter()
        .filter(|violations| {
            !violations
                .iter()
                .any(|violation| is_other_tag(here, violation))
        })
        .filter_map(|violations| Some((least_depth(violations)?, violations)))
        .collect();
    possible.sort_by_key(|(depth, _)| Reverse(*depth));
    match possible.as_slice() {
        [(_, only)] => Some(only),
        [(first, violations), (second, _), ..] if first > second => Some(violations),
        _ => None,
    }
}

/// Returns a violation of the first alternative that all others have too, for example a missing tag.
fn common_violation(alternatives: &[Alternative]) -> Option<&ValidationError<'static>> {
    let (first, others) = alternatives.split_first()?;
    let is_same = |one: &ValidationError<'_>, other: &ValidationError<'_>| {
        path(one) == path(other) && one.to_string() == other.to_string()
    };
    first.iter().find(|violation| {
        let mut others = others.iter();
        others.all(|other| other.iter().any(|other| is_same(violation, other)))
    })
}

/// Returns the path of a tag that no alternative has, and the problem with the permitted tags.
fn unknown_tag<'a>(here: &str, alternatives: &'a [Alternative]) -> Option<(&'a str, String)> {
    let mut permitted: Vec<&Value> = Vec::new();
    let mut found: Option<&ValidationError<'_>> = None;
    for violation in alternatives.iter().flatten() {
        let tags = match violation.kind() {
            ValidationErrorKind::Constant { expected_value } => {
                std::slice::from_ref(&**expected_value)
            }
            ValidationErrorKind::Enum { options } => options.as_array()?.as_slice(),
            _ => continue,
        };
        if !is_other_tag(here, violation) {
            continue;
        }
        if found.is_some_and(|found| path(found) != path(violation)) {
            return None;
        }
        found = Some(violation);
        permitted.extend(tags);
    }
    let found = found?;
    let permitted: Vec<String> = permitted.into_iter().map(Value::to_string).collect();
    let problem = format!(
        "{} is not one of {}",
        found.instance(),
        permitted.join(", ")
    );
    Some((path(found), problem))
}

/// Returns `true` if a violation shows that the value at `here` is not meant for the alternative: it has another type,
/// or it or one of its members has another constant.
fn is_other_tag(here: &str, violation: &ValidationError<'_>) -> bool {
    let is_here = path(violation) == here;
    let is_member = depth(path(violation)) == depth(here) + 1;
    match violation.kind() {
        ValidationErrorKind::Type { .. } => is_here,
        ValidationErrorKind::Constant { .. } => is_here || is_member,
        ValidationErrorKind::Enum { options } => {
            let is_constant = options.as_array().is_some_and(|options| options.len() == 1);
            is_here || is_member && is_constant
        }
        _ => false,
    }
}

/// Returns the depth of the violation that is closest to the root.
fn least_depth(violations: &[ValidationError<'_>]) -> Option<usize> {
    let depths = violations.iter().map(|violation| depth(path(violation)));
    depths.min()
}

/// Returns the JSON pointer to the value.
fn path<'a>(violation: &'a ValidationError<'_>) -> &'a str {
    violation.instance_path().as_str()
}

fn depth(pointer: &str) -> usize {
    pointer.bytes().filter(|byte| *byte == b'/').count()
}

/// Converts a JSON pointer to a path: `/items/2/price` to `.items[2].price`.
fn dotted(pointer: &str) -> String {
    let mut path = String::new();
    for segment in pointer.split('/').skip(1) {
        let segment = segment.replace("~1", "/").replace("~0", "~");
        if !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_digit()) {
            path.push_str(&format!("[{segment}]"));
        } else {
            path.push('.');
            path.push_str(&segment);
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use schemars::generate::SchemaSettings;
    use serde_json::json;

    use super::*;

    /// Returns the lines for an object whose member `shape` has the schema of `T`.
    fn lines<T: JsonSchema>(shape: &Value) -> Vec<String> {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        });
        let member = settings.into_generator().into_root_schema_for::<T>();
        let schema = json!({"properties": {"shape": member}});
        let validator = jsonschema::validator_for(&schema).unwrap();
        let value = json!({"shape": shape});
        let mut lines = Vec::new();
        for violation in validator.iter_errors(&value) {
            describe(&violation, "arguments", &mut lines);
        }
        lines
    }

    fn check<T: JsonSchema>(shape: Value, expected: &[&str]) {
        assert_eq!(lines::<T>(&shape), expected, "{shape}");
    }

    #[derive(JsonSchema)]
    #[serde(tag = "kind", rename_all = "lowercase")]
    #[expect(dead_code, reason = "only the schema is used")]
    enum Tagged {
        Circle { radius: f64, color: Option<Color> },
        Square { side: f64 },
        Group { first: Inner },
    }

    #[derive(JsonSchema)]
    #[serde(tag = "type")]
    #[expect(dead_code, reason = "only the schema is used")]
    enum Inner {
        Dot { at: Vec<f64> },
        Line { length: f64 },
    }

    #[derive(JsonSchema)]
    #[serde(rename_all = "lowercase")]
    #[expect(dead_code, reason = "only the schema is used")]
    enum Color {
        Red,
        Blue,
    }

    #[test]
    fn violation_of_a_tagged_variant_names_the_member() {
        check::<Tagged>(
            json!({"kind": "circle", "radius": "x"}),
            &["arguments.shape.radius: \"x\" is not of type \"number\""],
        );
        check::<Tagged>(
            json!({"kind": "square", "radius": 1}),
            &["arguments.shape: \"side\" is a required property"],
        );
        check::<Tagged>(
            json!({"kind": "group", "first": {"type": "Dot", "at": [1, "y"]}}),
            &["arguments.shape.first.at[1]: \"y\" is not of type \"number\""],
        );
    }

    #[test]
    fn choice_in_a_variant_is_not_its_tag() {
        let shape = json!({"kind": "circle", "radius": 1, "color": "green"});
        let lines = lines::<Tagged>(&shape);
        let [line] = lines.as_slice() else {
            panic!("{lines:?}");
        };
        assert!(
            line.starts_with("arguments.shape.color: \"green\" "),
            "{line}"
        );
    }

    #[test]
    fn unknown_or_missing_tag_is_reported_with_the_permitted_ones() {
        check::<Tagged>(
            json!({"kind": "star"}),
            &["arguments.shape.kind: \"star\" is not one of \"circle\", \"square\", \"group\""],
        );
        check::<Tagged>(
            json!({"radius": 1}),
            &["arguments.shape: \"kind\" is a required property"],
        );
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only the schema is used")]
    enum External {
        Dot,
        Circle { radius: f64 },
        Square { side: f64 },
    }

    #[test]
    fn violation_of_an_externally_tagged_variant_names_the_member() {
        check::<External>(
            json!({"Circle": {"radius": "x"}}),
            &["arguments.shape.Circle.radius: \"x\" is not of type \"number\""],
        );
        check::<External>(
            json!("Line"),
            &["arguments.shape: \"Line\" is not one of \"Dot\""],
        );
    }

    #[derive(JsonSchema)]
    #[serde(untagged)]
    #[expect(dead_code, reason = "only the schema is used")]
    enum Untagged {
        Count(u8),
        Named { name: String, size: f64 },
        Other { id: String },
    }

    #[test]
    fn untagged_value_is_compared_with_the_closest_alternative() {
        check::<Untagged>(
            json!({"name": 3, "size": 1}),
            &["arguments.shape.name: 3 is not of type \"string\""],
        );
        // Ambiguous: two alternatives lack a member.
        check::<Untagged>(
            json!({}),
            &[
                "arguments.shape: {} is not valid under any of the schemas listed in the 'anyOf' keyword",
            ],
        );
    }

    #[test]
    fn pointers_are_converted_to_paths() {
        assert_eq!(dotted("/items/2/price"), ".items[2].price");
        assert_eq!(dotted(""), "");
        assert_eq!(dotted("/a~1b/~0"), ".a/b.~");
    }
}
