//! The settings of a server that a user fills in, as `package.metadata.toolwire.settings` declares them.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::failure::Failure;

/// The settings by the name of their environment variable.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ServerSettings(BTreeMap<String, Setting>);

/// One setting.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Setting {
    title: Option<String>,
    description: String,
    #[serde(rename = "type", default)]
    kind: SettingKind,
    #[serde(default)]
    sensitive: bool,
    #[serde(default)]
    required: bool,
    default: Option<Value>,
}

/// The types of settings that bundles have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SettingKind {
    #[default]
    String,
    Number,
    Boolean,
    Directory,
    File,
}

impl SettingKind {
    fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Directory => "directory",
            Self::File => "file",
        }
    }

    /// Returns `true` if a value has this type.
    fn accepts(self, value: &Value) -> bool {
        match self {
            Self::String | Self::Directory | Self::File => value.is_string(),
            Self::Number => value.is_number(),
            Self::Boolean => value.is_boolean(),
        }
    }

    /// Returns the format in `server.json`.
    fn registry_format(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Directory | Self::File => "filepath",
        }
    }
}

impl ServerSettings {
    /// Reads the settings from the table `package.metadata.toolwire`.
    pub(crate) fn parse(metadata: &Value) -> Result<Self, Failure> {
        let settings = &metadata["settings"];
        if settings.is_null() {
            return Ok(Self::default());
        }
        let settings: BTreeMap<String, Setting> =
            serde_json::from_value(settings.clone()).map_err(|error| {
                Failure::usage(format!(
                    "package.metadata.toolwire.settings in Cargo.toml is invalid: {error}"
                ))
                .with_advice(
                    "a setting has a description, and may have a title, type, sensitive, required and default",
                )
            })?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if let Some(name) = settings.keys().find(|name| !name.chars().all(is_name)) {
            return Err(Failure::usage(format!(
                "the setting `{name}` is not the name of an environment variable"
            ))
            .with_advice("use ASCII letters, digits and `_`"));
        }
        for (name, setting) in &settings {
            let default = setting.default.as_ref();
            if default.is_some_and(|value| !setting.kind.accepts(value)) {
                let kind = setting.kind.name();
                return Err(Failure::usage(format!(
                    "the default of the setting `{name}` is not a value of its type, `{kind}`"
                ))
                .with_advice("a default of the type string, directory or file is a text"));
            }
        }
        Ok(Self(settings))
    }

    /// Returns the names of the environment variables.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Returns the member `env` of a bundle's command, which refers to the member `user_config`.
    pub(crate) fn bundle_environment(&self) -> Map<String, Value> {
        let names = self.0.keys();
        names
            .map(|name| {
                let reference = format!("${{user_config.{}}}", name.to_ascii_lowercase());
                (name.clone(), reference.into())
            })
            .collect()
    }

    /// Returns the member `user_config` of a bundle.
    pub(crate) fn bundle_user_config(&self) -> Map<String, Value> {
        let settings = self.0.iter();
        settings
            .map(|(name, setting)| {
                let mut value = json!({
                    "type": setting.kind.name(),
                    "title": setting.title.as_ref().unwrap_or(name),
                    "description": setting.description,
                    "required": setting.required,
                    "sensitive": setting.sensitive,
                });
                if let Some(default) = &setting.default {
                    value["default"] = default.clone();
                }
                (name.to_ascii_lowercase(), value)
            })
            .collect()
    }

    /// Returns the member `environmentVariables` of a package in `server.json`.
    pub(crate) fn registry_variables(&self) -> Vec<Value> {
        let settings = self.0.iter();
        settings
            .map(|(name, setting)| {
                let mut value = json!({
                    "name": name,
                    "description": setting.description,
                    "format": setting.kind.registry_format(),
                    "isRequired": setting.required,
                    "isSecret": setting.sensitive,
                });
                match &setting.default {
                    Some(Value::String(text)) => value["default"] = text.as_str().into(),
                    Some(default) => value["default"] = default.to_string().into(),
                    None => {}
                }
                value
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(settings: Value) -> Result<ServerSettings, String> {
        ServerSettings::parse(&json!({"settings": settings})).map_err(|failure| failure.text())
    }

    #[test]
    fn settings_have_both_forms() {
        let settings = parse(json!({
            "API_KEY": {"title": "API key", "description": "The key", "sensitive": true, "required": true},
            "DEPTH": {"description": "The depth", "type": "number", "default": 3},
        }));
        let settings = settings.expect("the settings are valid");
        assert_eq!(
            Value::from(settings.bundle_environment()),
            json!({"API_KEY": "${user_config.api_key}", "DEPTH": "${user_config.depth}"})
        );
        assert_eq!(
            Value::from(settings.bundle_user_config())["api_key"],
            json!({
                "type": "string", "title": "API key", "description": "The key", "required": true,
                "sensitive": true,
            })
        );
        assert_eq!(
            settings.registry_variables()[1],
            json!({
                "name": "DEPTH", "description": "The depth", "format": "number", "isRequired": false,
                "isSecret": false, "default": "3",
            })
        );
    }

    #[test]
    fn invalid_settings_are_named() {
        fn check(settings: Value, part: &str) {
            let text = parse(settings).expect_err("the settings are invalid");
            assert!(text.contains(part), "{text}");
        }
        check(json!({"A": {"title": "a"}}), "description");
        check(json!({"A": {"description": "a", "kind": "x"}}), "kind");
        check(json!({"A": {"description": "a", "type": "list"}}), "list");
        check(json!({"A-B": {"description": "a"}}), "A-B");
        for (kind, default) in [
            ("number", json!("3")),
            ("boolean", json!("true")),
            ("string", json!(3)),
            ("file", json!([])),
        ] {
            let setting = json!({"description": "a", "type": kind, "default": default});
            check(json!({"A": setting}), kind);
        }
        assert_eq!(
            ServerSettings::parse(&Value::Null).ok(),
            Some(ServerSettings::default())
        );
    }
}
