//! Assembles the arguments of a call from the command line.

use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::tool_arguments::argument_path::{ArgumentPath, warning};
use crate::tool_arguments::parse::{ArgumentValue, ParsedArguments};
use crate::tool_arguments::schema::Schema;
use crate::tool_arguments::variants::members;

/// The arguments of a call, and warnings about them.
#[derive(Debug)]
pub(crate) struct AssembledArguments {
    pub(crate) values: Map<String, Value>,
    /// Sentences about arguments that the schema does not contain. The server decides whether it accepts them.
    pub(crate) warnings: Vec<String>,
}

/// Returns the arguments as a JSON object that follows the tool's schema.
pub(crate) fn object(
    given: &ParsedArguments,
    schema: Schema<'_>,
) -> Result<AssembledArguments, Failure> {
    let mut values = given.whole.clone().unwrap_or_default();
    let mut warnings = Vec::new();
    let variants = schema.variants();
    for name in values.keys() {
        if members(&variants, name).is_empty() {
            warnings.extend(warning(name, name, &variants));
        }
    }
    let mut set = Vec::new();
    for assignment in &given.assignments {
        let path = ArgumentPath::find(&assignment.key, schema, &given.assignments)?;
        let again = set.contains(&assignment.key);
        set.push(assignment.key.clone());
        if !again {
            warnings.extend(path.warning.clone());
        }
        path.put(&mut values, assignment, again)?;
    }
    Ok(AssembledArguments { values, warnings })
}

/// Returns the arguments of a prompt, which are strings.
pub(crate) fn strings(given: &ParsedArguments) -> Result<Vec<(String, String)>, Failure> {
    let whole = given.whole.iter().flatten();
    let mut all: Vec<(String, String)> = Vec::new();
    let assigned = given.assignments.iter().map(|assignment| {
        let value = match &assignment.value {
            ArgumentValue::Text(text) => Value::from(text.as_str()),
            ArgumentValue::Json(value) => value.clone(),
        };
        (assignment.key.clone(), value)
    });
    let whole = whole.map(|(key, value)| (key.clone(), value.clone()));
    for (key, value) in whole.chain(assigned) {
        let Value::String(text) = value else {
            return Err(Failure::usage(format!("`{key}` must be a string"))
                .with_advice(format!("arguments of prompts are strings: {key}=text")));
        };
        all.retain(|(known, _)| *known != key);
        all.push((key, text));
    }
    Ok(all)
}

/// Returns the required arguments that are missing. Returns none if all arguments were given as one object.
pub(crate) fn missing<'a>(
    given: &ParsedArguments,
    required: impl IntoIterator<Item = &'a str>,
) -> Vec<&'a str> {
    if given.whole.is_some() {
        // A user who writes the whole object may want to see the server's own check.
        return Vec::new();
    }
    let is_given = |name: &str| {
        given.assignments.iter().any(|assignment| {
            let rest = assignment.key.strip_prefix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    };
    required
        .into_iter()
        .filter(|name| !is_given(name))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn assemble(schema: &Value, words: &[&str]) -> Result<Value, String> {
        let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
        let given = ParsedArguments::read(None, &words).map_err(|failure| failure.text())?;
        object(&given, Schema::new(schema))
            .map(|assembled| Value::Object(assembled.values))
            .map_err(|failure| failure.text())
    }

    fn warnings(schema: &Value, args: Option<&str>, words: &[&str]) -> Vec<String> {
        let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
        let given = ParsedArguments::read(args, &words).expect("valid words");
        let assembled = object(&given, Schema::new(schema));
        assembled.expect("valid arguments").warnings
    }

    fn place() -> Value {
        json!({
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "count": {"type": "integer"},
                "tags": {"type": "array", "items": {"type": "string"}},
                "ids": {"type": "array", "items": {"type": "integer"}},
                "dotted.name": {"type": "string"},
                "place": {"$ref": "#/$defs/Place"},
            },
            "$defs": {"Place": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "zip": {"type": "integer"}},
            }},
        })
    }

    #[test]
    fn every_syntax_sets_its_argument() {
        fn check(words: &[&str], expected: Value) {
            assert_eq!(assemble(&place(), words), Ok(expected), "{words:?}");
        }
        check(&["count=3"], json!({"count": 3}));
        check(&["tags=1"], json!({"tags": ["1"]}));
        check(&["tags=a", "tags=b"], json!({"tags": ["a", "b"]}));
        check(&["ids=[1, 2]"], json!({"ids": [1, 2]}));
        check(&["dotted.name=x"], json!({"dotted.name": "x"}));
        check(
            &["place.city=Oslo", "place.zip=150"],
            json!({"place": {"city": "Oslo", "zip": 150}}),
        );
        check(&["place={\"zip\": 1}"], json!({"place": {"zip": 1}}));
        check(&["count:=\"any\""], json!({"count": "any"}));
        check(
            &["place.other.deep=1"],
            json!({"place": {"other": {"deep": 1}}}),
        );
    }

    #[test]
    fn errors_name_the_argument_and_an_example() {
        fn check(words: &[&str], parts: &[&str]) {
            let text = assemble(&place(), words).unwrap_err();
            for part in parts {
                assert!(text.contains(part), "{words:?}: {text}");
            }
        }
        check(
            &["count=x"],
            &["`count` must be an integer, not \"x\"", "try: count=1"],
        );
        check(
            &["ids=1", "ids=b"],
            &["`ids` must be an integer", "ids=1 ids=1"],
        );
        check(
            &["place=x"],
            &["`place` must be a JSON object", "place.city=text"],
        );
        check(
            &["cuont=1"],
            &[
                "no argument `cuont`; did you mean `count`?",
                "one of count, tags",
            ],
        );
        check(&["count=1", "count=2"], &["`count` is given twice"]);
        check(&["count:=1", "count:=2"], &["`count` is given twice"]);
        check(&["place:=1", "place.city=x"], &["a member of `place`"]);
        check(&["place..city=x"], &["empty name"]);
    }

    /// A tagged enum, as serde and schemars describe it.
    fn reminder() -> Value {
        json!({
            "type": "object",
            "properties": {"repeat": {"$ref": "#/$defs/Repeat"}, "note": {"type": "string"}},
            "$defs": {"Repeat": {"oneOf": [
                {
                    "type": "object",
                    "properties": {
                        "kind": {"type": "string", "const": "every"},
                        "value": {"type": "integer"},
                    },
                    "required": ["kind", "value"],
                },
                {
                    "type": "object",
                    "properties": {
                        "kind": {"type": "string", "const": "once"},
                        "value": {"type": "string"},
                    },
                    "required": ["kind", "value"],
                },
                {"type": "object", "properties": {"kind": {"enum": ["never"]}}},
                {
                    "type": "object",
                    "properties": {"Weekly": {
                        "type": "object",
                        "properties": {"days": {"type": "array", "items": {"type": "string"}}},
                    }},
                    "additionalProperties": false,
                },
            ]}},
        })
    }

    #[test]
    fn members_of_every_variant_of_a_tagged_enum_are_accepted() {
        fn check(words: &[&str], expected: Value) {
            let expected = json!({ "repeat": expected });
            assert_eq!(assemble(&reminder(), words), Ok(expected), "{words:?}");
        }
        check(
            &["repeat.kind=every", "repeat.value=3"],
            json!({"kind": "every", "value": 3}),
        );
        check(
            &["repeat.value=3", "repeat.kind=once"],
            json!({"value": "3", "kind": "once"}),
        );
        check(&["repeat.kind=never"], json!({"kind": "never"}));
        check(
            &["repeat.Weekly.days=Mon", "repeat.Weekly.days=Tue"],
            json!({"Weekly": {"days": ["Mon", "Tue"]}}),
        );
        // Without a tag, the most specific variant is used.
        check(&["repeat.value=3"], json!({"value": 3}));
        check(&["repeat.value=noon"], json!({"value": "noon"}));
    }

    #[test]
    fn invalid_tag_names_the_tags_of_all_variants() {
        let text = assemble(&reminder(), &["repeat.kind=evry"]).unwrap_err();
        assert!(text.contains("one of every, once, never"), "{text}");
        assert!(text.contains("try: repeat.kind=every"), "{text}");
        let text = assemble(&reminder(), &["repeat.kind=every", "repeat.value=x"]).unwrap_err();
        assert!(text.contains("`repeat.value` must be an integer"), "{text}");
    }

    #[test]
    fn unknown_arguments_are_warned_about() {
        fn check(schema: Value, words: &[&str], expected: &[&str]) {
            let warnings = warnings(&schema, None, words);
            assert_eq!(warnings.len(), expected.len(), "{warnings:?}");
            for (warning, part) in warnings.iter().zip(expected) {
                assert!(warning.contains(part), "{warning}");
            }
        }
        check(
            reminder(),
            &["noet=x"],
            &["no argument `noet`; did you mean `note`?"],
        );
        check(
            reminder(),
            &["colour=red"],
            &["no argument `colour`, only repeat, note"],
        );
        check(
            reminder(),
            &["repeat.kidn=every"],
            &["no argument `repeat.kidn`; did you mean `kind`?"],
        );
        check(reminder(), &["note=x", "repeat.kind=never"], &[]);
        let nothing = json!({"type": "object", "properties": {}});
        check(nothing, &["a=1"], &["the tool has no arguments"]);
        let open = json!({"type": "object", "properties": {"a": {}}, "additionalProperties": true});
        check(open, &["b=1"], &[]);
        check(json!({"type": "object"}), &["b=1"], &[]);
        check(json!({}), &["b=1"], &[]);
    }

    #[test]
    fn unknown_members_of_the_whole_object_are_warned_about() {
        let args = r#"{"note": "x", "noet": "y"}"#;
        let warnings = warnings(&reminder(), Some(args), &[]);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].contains("did you mean `note`?"), "{warnings:?}");
    }

    #[test]
    fn without_a_schema_every_argument_is_accepted() {
        let schema = json!({});
        let made = assemble(&schema, &["a=1", "b.c=x", "d=[1]"]);
        assert_eq!(made, Ok(json!({"a": 1, "b": {"c": "x"}, "d": [1]})));
    }

    #[test]
    fn single_values_replace_members_of_the_object() {
        let given =
            ParsedArguments::read(Some(r#"{"a": 1, "tags": ["x"]}"#), &["tags=y".to_owned()])
                .unwrap();
        let made = object(&given, Schema::new(&place())).unwrap();
        assert_eq!(Value::Object(made.values), json!({"a": 1, "tags": ["y"]}));
    }

    #[test]
    fn missing_required_arguments_are_named() {
        let given = ParsedArguments::read(None, &["a=1".to_owned(), "b.c=1".to_owned()]).unwrap();
        assert_eq!(missing(&given, ["a", "b", "bc"]), ["bc"]);
        let whole = ParsedArguments::read(Some("{}"), &[]).unwrap();
        assert_eq!(missing(&whole, ["a"]), [""; 0]);
    }

    #[test]
    fn prompt_arguments_are_strings() {
        let given = ParsedArguments::read(None, &["a=1".to_owned()]).unwrap();
        assert_eq!(strings(&given).unwrap(), [("a".to_owned(), "1".to_owned())]);
        let given = ParsedArguments::read(None, &["a:=1".to_owned()]).unwrap();
        assert!(
            strings(&given)
                .unwrap_err()
                .text()
                .contains("`a` must be a string")
        );
    }
}
