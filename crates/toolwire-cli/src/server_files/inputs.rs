//! Values that a configuration file asks the user for: `${input:id}`.
//!
//! A value comes from `--input`, from an environment variable, or from the user at the terminal.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::failure::Failure;
use crate::screen::Screen;
use crate::terminal_input::ask_line;

/// A description of an input, in the format of VS Code.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct InputDefinition {
    id: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    default: Option<String>,
    /// `true` if the terminal must not show the value.
    #[serde(default)]
    password: bool,
    /// The values to choose from: texts, or objects with a `value`.
    #[serde(default)]
    options: Vec<Value>,
}

impl InputDefinition {
    /// Creates a description for an input that the file does not describe. It may be a secret.
    fn undescribed(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            description: None,
            default: None,
            password: true,
            options: Vec::new(),
        }
    }

    fn options(&self) -> Vec<&str> {
        let options = self.options.iter();
        options
            .filter_map(|option| option.get("value").unwrap_or(option).as_str())
            .collect()
    }

    /// Returns the text that asks for the value.
    fn prompt(&self) -> String {
        let mut prompt = self.description.clone().unwrap_or_else(|| self.id.clone());
        let options = self.options();
        if !options.is_empty() {
            prompt = format!("{prompt} ({})", options.join(", "));
        }
        match &self.default {
            Some(default) if !self.password => format!("{prompt} [{default}]: "),
            _ => format!("{prompt}: "),
        }
    }

    /// Checks the typed text.
    fn read(&self, typed: &str) -> Result<String, String> {
        let text = match (typed, &self.default) {
            ("", Some(default)) => default.as_str(),
            ("", None) => return Err("a value is required".to_owned()),
            (typed, _) => typed,
        };
        let options = self.options();
        if options.is_empty() || options.contains(&text) {
            Ok(text.to_owned())
        } else {
            Err(format!("type one of {}", options.join(", ")))
        }
    }
}

/// Returns the values of the inputs with these ids.
pub(super) async fn values(
    ids: &[String],
    definitions: &[InputDefinition],
    given: &[(String, String)],
    screen: &Screen,
) -> Result<BTreeMap<String, String>, Failure> {
    if let Some((unused, _)) = given.iter().find(|(id, _)| !ids.contains(id)) {
        let failure = Failure::usage(format!("it has no input `{unused}`"));
        return Err(if ids.is_empty() {
            failure.with_advice("remove --input")
        } else {
            failure.with_advice(format!("one of {}", ids.join(", ")))
        });
    }
    let mut values = BTreeMap::new();
    for id in ids {
        let definition = definitions.iter().find(|definition| definition.id == *id);
        let definition = definition
            .cloned()
            .unwrap_or_else(|| InputDefinition::undescribed(id));
        let value = match from_options(&definition, given, &|name| std::env::var(name).ok())? {
            Some(value) => value,
            None => ask(&definition, screen).await?,
        };
        values.insert(id.clone(), value);
    }
    Ok(values)
}

/// Returns the value from `--input` or from the environment.
fn from_options(
    definition: &InputDefinition,
    given: &[(String, String)],
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<String>, Failure> {
    let id = &definition.id;
    let option = given.iter().rfind(|(known, _)| known == id);
    let value = option
        .map(|(_, value)| value.clone())
        .or_else(|| environment(&variable_name(id)));
    let checked = value.map(|value| definition.read(&value)).transpose();
    checked.map_err(|problem| Failure::usage(format!("the input {id} is invalid: {problem}")))
}

async fn ask(definition: &InputDefinition, screen: &Screen) -> Result<String, Failure> {
    let id = &definition.id;
    if !Screen::is_interactive() {
        if let Some(default) = &definition.default {
            return Ok(default.clone());
        }
        let description = definition.description.as_ref();
        let description = description.map(|text| format!(" ({text})"));
        return Err(Failure::usage(format!(
            "it needs the input {id}{}, and there is no terminal to ask for it",
            description.unwrap_or_default()
        ))
        .with_advice(format!(
            "set the environment variable {}, or pass --input {id}=value",
            variable_name(id)
        )));
    }
    loop {
        let typed = ask_line(&definition.prompt(), definition.password).await;
        let typed =
            typed.ok_or_else(|| Failure::usage(format!("the input {id} was not entered")))?;
        match definition.read(typed.trim()) {
            Ok(value) => return Ok(value),
            Err(problem) => screen.show_line(&format!("  {problem}")),
        }
    }
}

/// Returns the environment variable for an input: `TOOLWIRE_INPUT_API_KEY` for `api-key`.
fn variable_name(id: &str) -> String {
    let name: String = id
        .chars()
        .map(|c| match c {
            c if c.is_ascii_alphanumeric() => c.to_ascii_uppercase(),
            _ => '_',
        })
        .collect();
    format!("TOOLWIRE_INPUT_{name}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn definition(value: Value) -> InputDefinition {
        serde_json::from_value(value).expect("a definition")
    }

    #[test]
    fn option_precedes_the_environment() {
        let key = definition(json!({"id": "api-key", "type": "promptString"}));
        let environment =
            |name: &str| (name == "TOOLWIRE_INPUT_API_KEY").then(|| "exported".to_owned());
        let given = [("api-key".to_owned(), "given".to_owned())];
        let value = from_options(&key, &given, &environment).unwrap();
        assert_eq!(value.as_deref(), Some("given"));
        let value = from_options(&key, &[], &environment).unwrap();
        assert_eq!(value.as_deref(), Some("exported"));
        assert_eq!(from_options(&key, &[], &|_| None).unwrap(), None);
    }

    #[test]
    fn prompt_shows_the_choices_and_the_default() {
        let region = definition(json!({
            "id": "region", "type": "pickString", "description": "Which region?", "default": "eu",
            "options": ["eu", {"label": "America", "value": "us"}],
        }));
        assert_eq!(region.prompt(), "Which region? (eu, us) [eu]: ");
        assert_eq!(region.read(""), Ok("eu".to_owned()));
        assert_eq!(region.read("us"), Ok("us".to_owned()));
        assert_eq!(region.read("mars"), Err("type one of eu, us".to_owned()));
    }

    #[test]
    fn default_of_a_secret_is_not_shown() {
        let key = definition(json!({"id": "key", "password": true, "default": "s3cret"}));
        assert_eq!(key.prompt(), "key: ");
        assert_eq!(key.read(""), Ok("s3cret".to_owned()));
        let required = InputDefinition::undescribed("key");
        assert!(required.password);
        assert!(required.read("").is_err());
    }
}
