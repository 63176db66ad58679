//! Converts one YAML mapping to JSON.
//!
//! The parser returns events. The values are built with an explicit stack, so that no input can exhaust the stack of the
//! thread.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::Value;
use toolwire_types::skills::JsonObject;

use crate::http::truncated_for_display;
use crate::skills::front_matter::scalar::resolve;
use crate::skills::front_matter::{FrontMatterError, MAX_DEPTH};

/// The maximum size of all values after the expansion of aliases: the bytes of their texts, and one for each value.
const MAX_EXPANDED: usize = 256 * 1024;

/// Parses a text that is one YAML mapping.
pub(super) fn parse_mapping(text: &str) -> Result<JsonObject, FrontMatterError> {
    let mut builder = Builder::default();
    for event in Parser::new_from_str(text) {
        // The first line of the file is the `---` before this text.
        let (event, span) = event.map_err(|error| FrontMatterError::Yaml {
            line: error.marker().line() + 1,
            reason: format!("the YAML is invalid: {}", error.info()),
        })?;
        let added = builder.add(event);
        added.map_err(|reason| FrontMatterError::Yaml {
            line: span.start.line() + 1,
            reason,
        })?;
    }
    match builder.root {
        Some(Value::Object(fields)) => Ok(fields),
        _ => Err(FrontMatterError::NotMapping),
    }
}

/// The values that are complete, and the collections that are not.
#[derive(Default)]
struct Builder {
    root: Option<Value>,
    open: Vec<Collection>,
    /// The complete values with an anchor.
    anchors: HashMap<usize, Value>,
    size: usize,
    has_document: bool,
}

/// A collection whose end is not parsed yet.
struct Collection {
    /// The id of its anchor. 0 means none.
    anchor: usize,
    content: Content,
}

enum Content {
    Sequence(Vec<Value>),
    /// The complete members, and the key of the next one.
    Mapping(JsonObject, Option<String>),
}

impl Builder {
    /// Adds the next event. The error is the reason why a front matter must not have it.
    fn add(&mut self, event: Event<'_>) -> Result<(), String> {
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
            Event::DocumentStart(_) if self.has_document => {
                Err("a second YAML document starts; remove the line `...`".to_owned())
            }
            Event::DocumentStart(_) => {
                self.has_document = true;
                Ok(())
            }
            Event::Alias(anchor) => self.add_alias(anchor),
            Event::Scalar(_, _, _, Some(_))
            | Event::SequenceStart(_, Some(_))
            | Event::MappingStart(_, Some(_)) => Err("tags are not allowed; remove it".to_owned()),
            Event::Scalar(text, style, anchor, None) => self.add_scalar(&text, style, anchor),
            Event::SequenceStart(anchor, None) => self.start(anchor, Content::Sequence(Vec::new())),
            Event::MappingStart(anchor, None) => {
                self.start(anchor, Content::Mapping(JsonObject::new(), None))
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(),
        }
    }

    fn add_scalar(&mut self, text: &str, style: ScalarStyle, anchor: usize) -> Result<(), String> {
        self.charge(text.len() + 1)?;
        if let Some(key) = self.expected_key() {
            return key.set(text).map(|()| {
                if anchor != 0 {
                    self.anchors.insert(anchor, Value::from(text));
                }
            });
        }
        let value = match style {
            ScalarStyle::Plain => resolve(text)?,
            _ => Value::from(text),
        };
        self.add_value(anchor, value);
        Ok(())
    }

    fn add_alias(&mut self, anchor: usize) -> Result<(), String> {
        self.reject_key()?;
        let Some(value) = self.anchors.get(&anchor).cloned() else {
            return Err("the alias refers to a value that contains it".to_owned());
        };
        self.charge(size(&value))?;
        check_depth(self.open.len() + depth(&value))?;
        self.add_value(0, value);
        Ok(())
    }

    fn start(&mut self, anchor: usize, content: Content) -> Result<(), String> {
        self.reject_key()?;
        self.charge(1)?;
        check_depth(self.open.len() + 1)?;
        self.open.push(Collection { anchor, content });
        Ok(())
    }

    fn end(&mut self) -> Result<(), String> {
        let collection = self.open.pop();
        let collection = collection.ok_or("the YAML is invalid: a value ends twice")?;
        let value = match collection.content {
            Content::Sequence(items) => Value::Array(items),
            Content::Mapping(members, _) => Value::Object(members),
        };
        self.add_value(collection.anchor, value);
        Ok(())
    }

    /// Puts a complete value where it belongs.
    fn add_value(&mut self, anchor: usize, value: Value) {
        if anchor != 0 {
            self.anchors.insert(anchor, value.clone());
        }
        match self.open.last_mut().map(|open| &mut open.content) {
            None => self.root = Some(value),
            Some(Content::Sequence(items)) => items.push(value),
            Some(Content::Mapping(members, key)) => {
                let key = key.take().unwrap_or_default();
                members.insert(key, value);
            }
        }
    }

    /// Returns the mapping in which the next value is a key.
    fn expected_key(&mut self) -> Option<MissingKey<'_>> {
        match &mut self.open.last_mut()?.content {
            Content::Mapping(members, key) if key.is_none() => Some(MissingKey { members, key }),
            _ => None,
        }
    }

    fn reject_key(&mut self) -> Result<(), String> {
        match self.expected_key() {
            Some(_) => Err("a key is not a text; write it as a text".to_owned()),
            None => Ok(()),
        }
    }

    fn charge(&mut self, size: usize) -> Result<(), String> {
        self.size += size;
        if self.size > MAX_EXPANDED {
            return Err("the aliases make the front matter too large; write fewer".to_owned());
        }
        Ok(())
    }
}

/// A mapping whose next value is a key.
struct MissingKey<'b> {
    members: &'b JsonObject,
    key: &'b mut Option<String>,
}

impl MissingKey<'_> {
    fn set(self, text: &str) -> Result<(), String> {
        if self.members.contains_key(text) {
            let text = truncated_for_display(text);
            return Err(format!("the key {text:?} is there twice; remove one"));
        }
        *self.key = Some(text.to_owned());
        Ok(())
    }
}

fn check_depth(depth: usize) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err(format!(
            "the values are nested too deeply; use at most {MAX_DEPTH} levels"
        ));
    }
    Ok(())
}

/// Returns the number of nested collections. A value has at most [`MAX_DEPTH`].
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// Returns the size of a value, as [`MAX_EXPANDED`] counts it.
fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 1,
        Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(key, value)| key.len() + 1 + size(value));
            1 + members.sum::<usize>()
        }
        _ => 1,
    }
}
