//! Parses one word of the command line: `name=value`, `name:=json`, a JSON object, `@file` or `-`.

use std::io::Read;

use serde_json::Value;

use crate::failure::Failure;
use crate::shell_words::in_shell;

/// All arguments from the command line.
#[derive(Debug, Default)]
pub(crate) struct ParsedArguments {
    /// All arguments as one object, from `--args`, a word, a file or standard input.
    pub(crate) whole: Option<serde_json::Map<String, Value>>,
    pub(crate) assignments: Vec<Assignment>,
}

/// A value for one argument.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Assignment {
    /// The name, with dots between objects and their members.
    pub(crate) key: String,
    pub(crate) value: ArgumentValue,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ArgumentValue {
    /// Text that is converted to the type in the schema.
    Text(String),
    /// JSON that is used unchanged.
    Json(Value),
}

impl ParsedArguments {
    /// Parses the words and reads the files that they name.
    pub(crate) fn read(args: Option<&str>, words: &[String]) -> Result<Self, Failure> {
        let mut given = Self::default();
        if let Some(args) = args {
            given.whole = Some(object(args, "--args")?);
        }
        for word in words {
            let whole = match word.as_str() {
                "-" => Some(content("-")?),
                object if object.starts_with('{') => Some(object.to_owned()),
                _ => word.strip_prefix('@').map(content).transpose()?,
            };
            match whole {
                None => given.assignments.push(Assignment::parse(word)?),
                Some(_) if given.whole.is_some() => {
                    return Err(
                        Failure::usage(format!("`{word}` gives all arguments again")).with_advice(
                            "use only one of --args, an object, @FILE and -, and name=value for the rest",
                        ),
                    );
                }
                Some(text) => given.whole = Some(object(&text, word)?),
            }
        }
        Ok(given)
    }
}

impl Assignment {
    /// Parses `name=value` or `name:=json`. Reads the value from a file if the word names one.
    pub(crate) fn parse(word: &str) -> Result<Self, Failure> {
        let Some((key, text)) = word.split_once('=') else {
            return Err(Failure::usage(format!("`{word}` is not an argument"))
                .with_advice(form_of_an_argument(word)));
        };
        let (key, json) = match key.strip_suffix(':') {
            Some(key) => (key, true),
            None => (key, false),
        };
        if key.is_empty() {
            return Err(
                Failure::usage(format!("`{word}` has no name before the `=`"))
                    .with_advice("write it as name=value"),
            );
        }
        let text = match text.strip_prefix('@') {
            Some(escaped) if escaped.starts_with('@') => escaped.to_owned(),
            Some(path) => content(path).map_err(|failure| failure.about(key))?,
            None => text.to_owned(),
        };
        let value = if json {
            ArgumentValue::Json(serde_json::from_str(&text).map_err(|error| {
                Failure::usage(format!("`{key}` is not JSON: {error}")).with_advice(format!(
                    "quote it for the shell, for example {key}:='[1, \"two\"]'; {key}=value needs no JSON"
                ))
            })?)
        } else {
            ArgumentValue::Text(text)
        };
        Ok(Self {
            key: key.to_owned(),
            value,
        })
    }
}

/// Returns how to write a word as an argument. The word may be the name or the value of an argument.
fn form_of_an_argument(word: &str) -> String {
    let is_name = word.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && word
            .chars()
            .all(|c| c.is_alphanumeric() || "_-.".contains(c));
    if word.starts_with('-') || word.contains("://") {
        "write arguments as name=value, and options before --".to_owned()
    } else if is_name {
        format!("write it as name=value: {word}=value, or name={word}")
    } else {
        format!("write it as name=value: name={}", in_shell(word))
    }
}

impl Failure {
    /// Prefixes the message with the name of the argument.
    fn about(self, key: &str) -> Self {
        self.with_context(&format!("`{key}`: "))
    }
}

fn object(text: &str, source: &str) -> Result<serde_json::Map<String, Value>, Failure> {
    let advice = "give a JSON object, for example '{\"name\": \"value\"}'";
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(
            Failure::usage(format!("`{source}` is JSON, but not an object")).with_advice(advice),
        ),
        Err(error) => {
            Err(Failure::usage(format!("`{source}` is not JSON: {error}")).with_advice(advice))
        }
    }
}

/// Returns the content of a file or of standard input.
fn content(path: &str) -> Result<String, Failure> {
    let (name, outcome) = match path {
        "-" => {
            let mut text = String::new();
            let outcome = std::io::stdin().read_to_string(&mut text);
            ("standard input", outcome.map(|_| text))
        }
        _ => (path, std::fs::read_to_string(path)),
    };
    outcome.map_err(|error| {
        let advice = match error.kind() {
            std::io::ErrorKind::InvalidData => "only text in UTF-8 can be an argument",
            _ => "check the path; for a text that begins with @, write @@",
        };
        Failure::usage(format!("{name} cannot be read: {error}")).with_advice(advice)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(key: &str, value: &str) -> Assignment {
        Assignment {
            key: key.to_owned(),
            value: ArgumentValue::Text(value.to_owned()),
        }
    }

    #[test]
    fn words_are_parsed() {
        fn check(word: &str, expected: Assignment) {
            assert_eq!(Assignment::parse(word).unwrap(), expected, "{word}");
        }
        check("a=1", text("a", "1"));
        check("a=", text("a", ""));
        check("url=http://x/?q=1", text("url", "http://x/?q=1"));
        check("a=@@home", text("a", "@home"));
        check(
            "a:=[1]",
            Assignment {
                key: "a".to_owned(),
                value: ArgumentValue::Json(json!([1])),
            },
        );
    }

    #[test]
    fn invalid_words_name_the_problem() {
        fn check(word: &str, part: &str) {
            let text = Assignment::parse(word).unwrap_err().text();
            assert!(text.contains(part), "{word}: {text}");
        }
        check("count", "`count` is not an argument");
        check(
            "count",
            "try: write it as name=value: count=value, or name=count\n",
        );
        check("1", "try: write it as name=value: name=1\n");
        check(
            "two words",
            "try: write it as name=value: name='two words'\n",
        );
        check("http://x/mcp", "try: write arguments as name=value");
        check("=1", "no name");
        check(":=1", "no name");
        check("a:=oops", "`a` is not JSON");
        check("a=@/no/such/file", "`a`: /no/such/file cannot be read");
    }

    #[test]
    fn arguments_as_one_object_are_accepted_once() {
        let words = ["@x".to_owned()];
        assert!(ParsedArguments::read(Some("[]"), &[]).is_err());
        assert!(ParsedArguments::read(Some("{"), &[]).is_err());
        let twice = ParsedArguments::read(Some("{}"), &words)
            .unwrap_err()
            .text();
        assert!(twice.contains("x cannot be read"), "{twice}");
        let given = ParsedArguments::read(Some(r#"{"a": 1}"#), &["b=2".to_owned()]).unwrap();
        assert_eq!(given.whole.unwrap()["a"], 1);
        assert_eq!(given.assignments, [text("b", "2")]);
        let words = [r#"{"a": 1}"#.to_owned(), "b=2".to_owned()];
        let given = ParsedArguments::read(None, &words).unwrap();
        assert_eq!(given.whole.unwrap()["a"], 1);
        assert_eq!(given.assignments, [text("b", "2")]);
        for (args, word, part) in [
            (Some("{}"), "{}", "`{}` gives all arguments again"),
            (None, "{a: 1}", "`{a: 1}` is not JSON"),
        ] {
            let failed = ParsedArguments::read(args, &[word.to_owned()]).unwrap_err();
            assert!(failed.text().contains(part), "{}", failed.text());
        }
    }
}
