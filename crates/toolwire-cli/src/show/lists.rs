//! Formats servers and their tools, resources and prompts.

use std::fmt::Write;

use serde_json::Value;
use toolwire::apps::host::{ToolCaller, is_visible_to, view_uri};
use toolwire::types::{Prompt, Resource, ResourceTemplate};
use toolwire::{Client, Tool};

use crate::show::usage::{argument_names, result_summary, usage};
use crate::show::{Style, Table, plain_text, size};
use crate::tool_arguments::Schema;

/// Returns the name, the revision and the capabilities of a server, one per line with a label.
pub(crate) fn server_info(client: &Client, style: Style) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let label = format!("{name:<13}");
        let _ = writeln!(text, "{} {}", style.paint.dim(&label), plain_text(value));
    };
    let server = client.server();
    if let Some(info) = server.as_ref().and_then(|server| server.info.as_ref()) {
        let title = info.title.as_deref().filter(|title| *title != info.name);
        let name = format!("{} {}", info.name, info.version);
        match title {
            Some(title) => line("server", &format!("{title} ({name})")),
            None => line("server", &name),
        }
    }
    let era = crate::connect::era_name(client.detected_era());
    line("revision", &format!("{} ({era})", client.version()));
    let Some(server) = server else {
        return text;
    };
    if server.versions.len() > 1 {
        line("supports", &server.versions.join(", "));
    }
    let capabilities = serde_json::to_value(&server.capabilities).unwrap_or_default();
    let names = capability_names(&capabilities);
    if !names.is_empty() {
        line("capabilities", &names.join(", "));
    }
    if let Some(instructions) = &server.instructions {
        line("instructions", instructions);
    }
    text
}

/// Returns the names of capabilities: `tools`, `resources (subscribe)`, …
fn capability_names(capabilities: &Value) -> Vec<String> {
    let members = capabilities.as_object().into_iter().flatten();
    members
        .map(|(name, value)| {
            let details = value.as_object().into_iter().flatten();
            let details: Vec<_> = details
                .filter(|(_, value)| **value != Value::Bool(false))
                .map(|(name, _)| name.as_str())
                .collect();
            if details.is_empty() {
                name.clone()
            } else {
                format!("{name} ({})", details.join(", "))
            }
        })
        .collect()
}

pub(crate) fn tools(tools: &[Tool], style: Style) -> String {
    let mut table = Table::new(&["TOOL", "ARGUMENTS", "DESCRIPTION"]);
    for tool in tools {
        let schema = tool.input_schema.to_value().unwrap_or_default();
        let arguments = argument_names(Schema::new(&schema)).join(" ");
        let description = tool.description.as_deref().or(tool.title.as_deref());
        table.row([&tool.name, &arguments, first_paragraph(description)]);
    }
    table_or_message(&table, "no tools", style)
}

/// Formats one tool in detail.
pub(crate) fn tool(tool: &Tool, style: Style) -> String {
    let mut text = style.paint.bold(&plain_text(&tool.name));
    if let Some(title) = &tool.title {
        let _ = write!(text, " ({})", plain_text(title));
    }
    text.push('\n');
    if let Some(description) = &tool.description {
        let _ = writeln!(text, "{}", plain_text(description.trim_end()));
    }
    let schema = tool.input_schema.to_value().unwrap_or_default();
    let _ = write!(text, "\n{}", usage(&tool.name, Schema::new(&schema), style));
    let hints = hints(tool);
    if !hints.is_empty() {
        let _ = writeln!(text, "\nhints: {}", hints.join(", "));
    }
    if let Some(output) = &tool.output_schema {
        let output = output.to_value().unwrap_or_default();
        let summary = result_summary(Schema::new(&output));
        let _ = writeln!(text, "\nresult: {}", plain_text(&summary));
    }
    if let Some(view) = view_uri(tool) {
        let _ = writeln!(text, "\nview: {}", plain_text(&view));
    }
    if !is_visible_to(tool, ToolCaller::Model) {
        let _ = writeln!(text, "\nfor views only, not for the model");
    }
    text
}

fn hints(tool: &Tool) -> Vec<&'static str> {
    let Some(annotations) = &tool.annotations else {
        return Vec::new();
    };
    let named = [
        (annotations.read_only_hint, "read-only", "changes something"),
        (annotations.destructive_hint, "destructive", "only adds"),
        (annotations.idempotent_hint, "idempotent", "not idempotent"),
        (annotations.open_world_hint, "open world", "closed world"),
    ];
    named
        .iter()
        .filter_map(|(hint, yes, no)| hint.map(|hint| if hint { *yes } else { *no }))
        .collect()
}

pub(crate) fn resources(resources: &[Resource], style: Style) -> String {
    let mut table = Table::new(&["RESOURCE", "NAME", "TYPE", "SIZE", "DESCRIPTION"]);
    for resource in resources {
        let bytes = resource.size.and_then(|bytes| usize::try_from(bytes).ok());
        let description = resource
            .description
            .as_deref()
            .or(resource.title.as_deref());
        table.row([
            &resource.uri,
            &resource.name,
            resource.mime_type.as_deref().unwrap_or(""),
            &bytes.map(size).unwrap_or_default(),
            first_paragraph(description),
        ]);
    }
    table_or_message(&table, "no resources", style)
}

pub(crate) fn templates(templates: &[ResourceTemplate], style: Style) -> String {
    let mut table = Table::new(&["TEMPLATE", "NAME", "TYPE", "DESCRIPTION"]);
    for template in templates {
        let description = template
            .description
            .as_deref()
            .or(template.title.as_deref());
        table.row([
            &template.uri_template,
            &template.name,
            template.mime_type.as_deref().unwrap_or(""),
            first_paragraph(description),
        ]);
    }
    table_or_message(&table, "no templates", style)
}

pub(crate) fn prompts(prompts: &[Prompt], style: Style) -> String {
    let mut table = Table::new(&["PROMPT", "ARGUMENTS", "DESCRIPTION"]);
    for prompt in prompts {
        let arguments = prompt.arguments.iter().flatten();
        let arguments = arguments.map(|argument| match argument.required {
            Some(true) => argument.name.clone(),
            _ => format!("[{}]", argument.name),
        });
        let arguments = arguments.collect::<Vec<_>>().join(" ");
        let description = prompt.description.as_deref().or(prompt.title.as_deref());
        table.row([&prompt.name, &arguments, first_paragraph(description)]);
    }
    table_or_message(&table, "no prompts", style)
}

/// Formats one prompt in detail.
pub(crate) fn prompt(prompt: &Prompt, style: Style) -> String {
    let mut text = style.paint.bold(&plain_text(&prompt.name));
    if let Some(title) = &prompt.title {
        let _ = write!(text, " ({})", plain_text(title));
    }
    text.push('\n');
    if let Some(description) = &prompt.description {
        let _ = writeln!(text, "{}", plain_text(description.trim_end()));
    }
    let _ = write!(text, "\nusage: {}", plain_text(&prompt.name));
    let mut table = Table::new(&["ARGUMENT", "", "DESCRIPTION"]);
    for argument in prompt.arguments.iter().flatten() {
        let name = plain_text(&argument.name);
        let need = match argument.required {
            Some(true) => {
                let _ = write!(text, " {name}=TEXT");
                "required"
            }
            _ => {
                let _ = write!(text, " [{name}=TEXT]");
                "optional"
            }
        };
        let description = argument
            .description
            .as_deref()
            .or(argument.title.as_deref());
        table.row([&argument.name, need, first_paragraph(description)]);
    }
    text.push('\n');
    if !table.is_empty() {
        let _ = write!(text, "\n{}", table.render(style));
    }
    text
}

fn table_or_message(table: &Table, message: &str, style: Style) -> String {
    if table.is_empty() {
        format!("{}\n", style.paint.dim(message))
    } else {
        table.render(style)
    }
}

/// Returns the first paragraph of a description.
pub(super) fn first_paragraph(text: Option<&str>) -> &str {
    let text = text.unwrap_or_default().trim();
    text.split("\n\n").next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tool_shows_its_usage() {
        let countdown = Tool::new(
            "countdown",
            json!({
                "type": "object",
                "properties": {
                    "from": {"type": "integer", "description": "Where to begin."},
                    "unit": {"enum": ["s", "ms"], "default": "s"},
                },
                "required": ["from"],
            }),
        )
        .with_description("Counts down.\n\nMore words.");
        let text = tool(&countdown, Style::default());
        assert_eq!(
            text,
            "countdown\n\
             Counts down.\n\n\
             More words.\n\n\
             usage: countdown from=INTEGER [unit=s|ms]\n\n\
             ARGUMENT  TYPE                  DESCRIPTION\n\
             from      integer  required     Where to begin.\n\
             unit      s|ms     default \"s\"\n"
        );
        let list = tools(&[countdown], Style::default());
        assert_eq!(
            list,
            "TOOL       ARGUMENTS    DESCRIPTION\n\
             countdown  from [unit]  Counts down.\n"
        );
    }

    #[test]
    fn names_and_schemas_of_a_tool_are_escaped() {
        let hidden = "\u{1b}\u{9b}\u{202e}\u{200b}\u{e0041}";
        let schema = json!({
            "type": "object",
            "properties": {hidden: {
                "enum": [hidden], "default": hidden, "description": hidden,
            }},
            "required": [hidden],
        });
        let mut bad = Tool::new(hidden, schema.clone()).with_description(hidden);
        bad.title = Some(hidden.to_owned());
        bad.output_schema = Some(schema.into());
        for text in [
            tool(&bad, Style::default()),
            tools(&[bad], Style::default()),
        ] {
            let is_hidden = |c: &char| hidden.contains(*c);
            assert_eq!(text.chars().find(is_hidden), None, "{text:?}");
        }
    }

    #[test]
    fn empty_list_shows_a_message() {
        assert_eq!(tools(&[], Style::default()), "no tools\n");
    }

    #[test]
    fn capabilities_are_named_with_their_settings() {
        let capabilities = json!({"tools": {"listChanged": true}, "logging": {}, "resources": {"subscribe": false}});
        assert_eq!(
            capability_names(&capabilities),
            ["tools (listChanged)", "logging", "resources"]
        );
    }
}
