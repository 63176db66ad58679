//! Reads YAML, the format of Goose.
//!
//! Only what JSON can express is read: one document with texts as keys, without tags, anchors and aliases. A file of a
//! host needs no more, and a text that is edited must have one meaning.

use std::path::Path;

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Value};

/// The maximum depth of nested values.
const MAX_DEPTH: usize = 64;

/// Returns `true` if the name of a file says that it is YAML.
pub(super) fn is_yaml(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "yaml" || extension == "yml")
}

/// Parses a document. An empty one is an empty object. An error contains line and column, and no text of the file, which
/// may be a secret.
pub(crate) fn parse(text: &str) -> Result<Value, String> {
    let mut builder = Builder::default();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            let (line, column) = (error.marker().line(), error.marker().col() + 1);
            format!("{} at line {line}, column {column}", error.info())
        })?;
        builder
            .add(event)
            .map_err(|reason| format!("{reason} at line {}", span.start.line()))?;
    }
    match builder.root {
        None | Some(Value::Null) => Ok(Value::Object(Map::new())),
        Some(value) => Ok(value),
    }
}

/// The values that are complete, and the collections that are not.
#[derive(Debug, Default)]
struct Builder {
    root: Option<Value>,
    open: Vec<Collection>,
}

/// A collection whose end is not parsed yet.
#[derive(Debug)]
enum Collection {
    Sequence(Vec<Value>),
    /// The complete members, and the key of the next one.
    Mapping(Map<String, Value>, Option<String>),
}

impl Builder {
    /// Adds the next event. The error is the reason why it is not read.
    fn add(&mut self, event: Event<'_>) -> Result<(), String> {
        const ANCHOR: &str = "an anchor or alias (`&` or `*`) is not supported";
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
            Event::DocumentStart(_) if self.root.is_some() => {
                return Err("a second document starts".to_owned());
            }
            Event::DocumentStart(_) => {}
            Event::Alias(_) => return Err(ANCHOR.to_owned()),
            Event::Scalar(_, _, _, Some(_))
            | Event::SequenceStart(_, Some(_))
            | Event::MappingStart(_, Some(_)) => return Err("a tag is not supported".to_owned()),
            Event::Scalar(_, _, anchor, _)
            | Event::SequenceStart(anchor, _)
            | Event::MappingStart(anchor, _)
                if anchor != 0 =>
            {
                return Err(ANCHOR.to_owned());
            }
            Event::Scalar(text, style, ..) => return self.add_scalar(&text, style),
            Event::SequenceStart(..) => return self.start(Collection::Sequence(Vec::new())),
            Event::MappingStart(..) => return self.start(Collection::Mapping(Map::new(), None)),
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(Collection::Sequence(values)) => self.add_value(Value::Array(values)),
                Some(Collection::Mapping(members, _)) => self.add_value(Value::Object(members)),
                None => {}
            },
        }
        Ok(())
    }

    fn add_scalar(&mut self, text: &str, style: ScalarStyle) -> Result<(), String> {
        if let Some(Collection::Mapping(members, key @ None)) = self.open.last_mut() {
            if members.contains_key(text) {
                return Err("a key is there twice".to_owned());
            }
            *key = Some(text.to_owned());
            return Ok(());
        }
        self.add_value(match style {
            ScalarStyle::Plain => plain_value(text),
            _ => Value::from(text),
        });
        Ok(())
    }

    fn start(&mut self, collection: Collection) -> Result<(), String> {
        if let Some(Collection::Mapping(_, None)) = self.open.last() {
            return Err("a key is not a text".to_owned());
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(format!("a value has more than {MAX_DEPTH} levels"));
        }
        self.open.push(collection);
        Ok(())
    }

    /// Puts a complete value where it belongs.
    fn add_value(&mut self, value: Value) {
        match self.open.last_mut() {
            None => self.root = Some(value),
            Some(Collection::Sequence(values)) => values.push(value),
            Some(Collection::Mapping(members, key)) => {
                members.insert(key.take().unwrap_or_default(), value);
            }
        }
    }
}

/// Returns the value of a plain scalar. A number that is not a whole one stays a text, so that `1.10` is not `1.1`.
fn plain_value(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => {
            let number = text.parse::<i64>();
            // `007` and `+1` would be written in another way.
            let number = number.ok().filter(|number| number.to_string() == text);
            number.map_or_else(|| Value::from(text), Value::from)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn mappings_become_objects() {
        fn check(text: &str, expected: Value) {
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
        check("", json!({}));
        check("# nothing\n---\n", json!({}));
        check(
            "GOOSE_MODEL: x # model\nextensions:\n  notes:\n    enabled: true\n    cmd: \"np\\u0078\"\n    args:\n    - -y\n    \
             - 'no tes'\n    envs: {KEY: 1.10}\n    timeout: 300\n    text: |\n      # a\n      b\n",
            json!({"GOOSE_MODEL": "x", "extensions": {"notes": {
                "enabled": true, "cmd": "npx", "args": ["-y", "no tes"], "envs": {"KEY": "1.10"}, "timeout": 300,
                "text": "# a\nb\n",
            }}}),
        );
        check(
            "a:\r\nb: ~\r\nc: 007\r\n",
            json!({"a": null, "b": null, "c": "007"}),
        );
    }

    #[test]
    fn error_has_its_line_and_no_text_of_the_file() {
        fn check(text: &str, part: &str) {
            let problem = parse(text).expect_err("the document is rejected");
            assert!(problem.contains(part), "{text}: {problem}");
            assert!(!problem.contains("hunter2"), "{problem}");
        }
        check("a: 1\n\tb: hunter2\n", "found a tab at line 1, column 4");
        check("a: 'hunter2\n", "line ");
        check("a: &x hunter2\nb: 1\n", "an anchor or alias");
        check("a: 1\nb: *x\n", "line 2");
        check("a: !!str hunter2\n", "a tag is not supported at line 1");
        check("a: 1\nb: 2\na: hunter2\n", "a key is there twice at line 3");
        check("[a]: hunter2\n", "a key is not a text at line 1");
        check(
            "a: 1\n---\nb: hunter2\n",
            "a second document starts at line 2",
        );
    }

    #[test]
    fn depth_is_limited() {
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(parse(&nested(MAX_DEPTH)).is_ok());
        let problem = parse(&nested(MAX_DEPTH + 1));
        assert!(problem.is_err_and(|problem| problem.contains("more than 64 levels")));
    }
}
