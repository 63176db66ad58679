//! Assembles the arguments of a call from the command line.

use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::tool_arguments::convert::convert;
use crate::tool_arguments::parse::{ArgumentValue, Assignment, ParsedArguments};
use crate::tool_arguments::schema::Schema;

/// Returns the arguments as a JSON object that follows the tool's schema.
pub(crate) fn object(
    given: &ParsedArguments,
    schema: Schema<'_>,
) -> Result<Map<String, Value>, Failure> {
    let mut arguments = given.whole.clone().unwrap_or_default();
    let mut set = Vec::new();
    for assignment in &given.assignments {
        let path = ArgumentPath::find(&assignment.key, schema)?;
        let again = set.contains(&assignment.key);
        set.push(assignment.key.clone());
        path.put(&mut arguments, assignment, again)?;
    }
    Ok(arguments)
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

/// The position of an argument: the names of the objects around it, and its schema.
struct ArgumentPath<'a, 'k> {
    path: Vec<&'k str>,
    schema: Option<Schema<'a>>,
}

impl<'a, 'k> ArgumentPath<'a, 'k> {
    /// Finds the position of a key. A property whose name contains dots is preferred to a member of an object.
    fn find(key: &'k str, schema: Schema<'a>) -> Result<Self, Failure> {
        let mut path = Vec::new();
        let mut here = Some(schema);
        let mut rest = key;
        while let Some(object) = here {
            if let Some(member) = object.property(rest) {
                path.push(rest);
                return Ok(Self {
                    path,
                    schema: Some(member),
                });
            }
            let dots = rest.match_indices('.').map(|(at, _)| at);
            let known = dots
                .rev()
                .find_map(|at| Some((at, object.property(&rest[..at])?)));
            let Some((at, member)) = known else {
                if object.is_closed() {
                    return Err(unknown(key, rest, object));
                }
                break;
            };
            path.push(&rest[..at]);
            rest = &rest[at + 1..];
            here = Some(member);
        }
        path.extend(rest.split('.'));
        if path.iter().any(|name| name.is_empty()) {
            return Err(
                Failure::usage(format!("`{key}` has an empty name beside a dot"))
                    .with_advice("write members of objects as place.city=Oslo"),
            );
        }
        Ok(Self { path, schema: None })
    }

    fn put(
        &self,
        arguments: &mut Map<String, Value>,
        assignment: &Assignment,
        again: bool,
    ) -> Result<(), Failure> {
        let key = &assignment.key;
        let Some((last, parents)) = self.path.split_last() else {
            return Ok(());
        };
        let mut object = arguments;
        for name in parents {
            let member = object
                .entry(*name)
                .or_insert_with(|| Value::Object(Map::new()));
            let Value::Object(member) = member else {
                return Err(Failure::usage(format!(
                    "`{key}` is a member of `{name}`, which is not given as an object"
                )));
            };
            object = member;
        }
        match &assignment.value {
            ArgumentValue::Json(_) if again => return Err(twice(key)),
            ArgumentValue::Json(value) => {
                object.insert((*last).to_owned(), value.clone());
            }
            ArgumentValue::Text(text) => {
                let schema = self.schema.unwrap_or(Schema::new(&Value::Bool(true)));
                let kinds = schema.kinds();
                let collects = kinds.array && !kinds.is_any() && !kinds.string;
                if collects && !text.trim_start().starts_with('[') {
                    let items = schema.items().unwrap_or(Schema::new(&Value::Bool(true)));
                    let element = convert(text, items)
                        .map_err(|expected| unfit(key, text, &expected.0, schema))?;
                    match object.get_mut(*last).filter(|_| again) {
                        Some(Value::Array(elements)) => elements.push(element),
                        _ => {
                            object.insert((*last).to_owned(), vec![element].into());
                        }
                    }
                } else if again {
                    return Err(twice(key));
                } else {
                    let value = convert(text, schema)
                        .map_err(|expected| unfit(key, text, &expected.0, schema))?;
                    object.insert((*last).to_owned(), value);
                }
            }
        }
        Ok(())
    }
}

fn twice(key: &str) -> Failure {
    Failure::usage(format!("`{key}` is given twice")).with_advice("give it once")
}

fn unfit(key: &str, text: &str, expected: &str, schema: Schema<'_>) -> Failure {
    Failure::usage(format!("`{key}` must be {expected}, not {text:?}"))
        .with_advice(schema.example(key))
}

fn unknown(key: &str, name: &str, object: Schema<'_>) -> Failure {
    let known: Vec<_> = object.properties().iter().map(|(name, _)| *name).collect();
    let failure = Failure::usage(if key == name {
        format!("there is no argument `{key}`")
    } else {
        format!("there is no argument `{key}`: `{name}` is not a member")
    });
    if known.is_empty() {
        failure.with_advice("it takes no arguments")
    } else {
        failure.with_advice(format!("one of {}", known.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn assemble(schema: &Value, words: &[&str]) -> Result<Value, String> {
        let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
        let given = ParsedArguments::read(None, &words).map_err(|failure| failure.text())?;
        object(&given, Schema::new(schema))
            .map(Value::Object)
            .map_err(|failure| failure.text())
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
        check(&["cuont=1"], &["no argument `cuont`", "one of count, tags"]);
        check(&["count=1", "count=2"], &["`count` is given twice"]);
        check(&["count:=1", "count:=2"], &["`count` is given twice"]);
        check(&["place:=1", "place.city=x"], &["a member of `place`"]);
        check(&["place..city=x"], &["empty name"]);
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
        assert_eq!(Value::Object(made), json!({"a": 1, "tags": ["y"]}));
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
