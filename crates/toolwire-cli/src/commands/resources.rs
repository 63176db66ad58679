//! Lists resources and reads them.

use std::path::PathBuf;

use serde_json::json;
use toolwire::RawJson;
use toolwire::types::ReadResourceResult;
use toolwire_proto::uri_template::{UriTemplate, Values};

use crate::commands::save::save;
use crate::commands::{Session, failed, first_and_rest, is_unknown_method};
use crate::failure::{Exit, Failure};
use crate::request_arguments::Read;
use crate::show;
use crate::snippet_form::SnippetForm;
use crate::snippets::{Exchange, ExchangeKind};
use crate::tool_arguments::{ParsedArguments, missing, strings};

/// Lists resources and templates.
pub(crate) async fn list_resources(
    session: &Session,
    only_templates: bool,
) -> Result<Exit, Failure> {
    let (client, screen) = (&session.client, &session.screen);
    let style = screen.style;
    if !session.declares(|capabilities| capabilities.resources.is_some()) {
        return session.no_list("resources");
    }
    if !only_templates {
        let resources = match client.list_resources().await {
            Err(error) if is_unknown_method(&error) => return session.no_list("resources"),
            outcome => outcome.map_err(failed)?,
        };
        if screen.json {
            screen.print_json(&resources)?;
        } else {
            screen.print(&show::resources(&resources, style))?;
        }
        if screen.json {
            return Ok(Exit::Success);
        }
    }
    let templates = match client.list_resource_templates().await {
        Ok(templates) => templates,
        // Servers without templates may not support this method.
        Err(error) if is_unknown_method(&error) && !only_templates => Vec::new(),
        Err(error) if is_unknown_method(&error) => return session.no_list("resource templates"),
        Err(error) => return Err(failed(error)),
    };
    if screen.json {
        screen.print_json(&templates)?;
    } else if only_templates {
        screen.print(&show::templates(&templates, style))?;
    } else if !templates.is_empty() {
        screen.print(&format!("\n{}", show::templates(&templates, style)))?;
    }
    Ok(Exit::Success)
}

/// A resource, and the file for its contents.
#[derive(Debug)]
pub(crate) struct ReadPlan {
    uri: String,
    output: Option<PathBuf>,
    print: Option<SnippetForm>,
}

impl ReadPlan {
    pub(crate) fn new(read: &Read, words: Vec<String>) -> Result<Self, Failure> {
        let (uri, variables) =
            first_and_rest(words, "resource", "toolwire read SERVER demo://notes/first")?;
        Ok(Self {
            uri: expanded(&uri, &variables)?,
            output: read.output.clone(),
            print: read.print,
        })
    }

    pub(crate) async fn run(self, session: &Session) -> Result<Exit, Failure> {
        let screen = &session.screen;
        if let Some(form) = self.print {
            let exchange = Exchange {
                kind: ExchangeKind::Resources,
                name: self.uri,
                arguments: RawJson::empty_object(),
                schema: None,
            };
            return session.print_request(form, &exchange);
        }
        let request = session
            .client
            .request("resources/read", json!({"uri": self.uri}));
        let raw = request.await.map_err(failed)?;
        let result: ReadResourceResult = raw.parse().map_err(|error| {
            Failure::new(Exit::Protocol, format!("the result is invalid: {error}"))
        })?;
        if let Some(path) = &self.output {
            let contents: Vec<_> = result
                .contents
                .iter()
                .filter_map(show::of_resource)
                .collect();
            if save(path, &contents, screen)? || !screen.json {
                return Ok(Exit::Success);
            }
        }
        if screen.json {
            screen.print_raw(&raw)?;
        } else {
            screen.print(&show::contents(&result, screen.style))?;
        }
        Ok(Exit::Success)
    }
}

/// Expands a template with the values of its variables.
fn expanded(uri: &str, words: &[String]) -> Result<String, Failure> {
    let template = UriTemplate::parse(uri);
    let variables = template
        .as_ref()
        .map(UriTemplate::variables)
        .unwrap_or_default();
    if words.is_empty() && variables.is_empty() {
        return Ok(uri.to_owned());
    }
    let template = template
        .as_ref()
        .map_err(|error| Failure::usage(format!("`{uri}` is not a valid URI template: {error}")))?;
    let given = ParsedArguments::read(None, words)?;
    let missing = missing(&given, variables.iter().copied());
    if let Some(name) = missing.first() {
        return Err(
            Failure::usage(format!("the template needs a value for `{name}`"))
                .with_advice(format!("toolwire read SERVER '{uri}' {name}=value")),
        );
    }
    let mut values = Values::new();
    for (name, value) in strings(&given)? {
        if !variables.contains(&name.as_str()) {
            let failure = Failure::usage(format!("`{uri}` has no variable `{name}`"));
            return Err(if variables.is_empty() {
                failure.with_advice("remove it")
            } else {
                failure.with_advice(format!("one of {}", variables.join(", ")))
            });
        }
        values.insert(name, value);
    }
    template
        .expand(&values)
        .map_err(|error| Failure::usage(format!("`{uri}` cannot be expanded: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_expanded() {
        fn check(uri: &str, words: &[&str], expected: Result<&str, &str>) {
            let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
            match (expanded(uri, &words), expected) {
                (Ok(made), expected) => assert_eq!(Ok(made.as_str()), expected),
                (Err(failure), Err(part)) => {
                    assert!(failure.text().contains(part), "{}", failure.text());
                }
                (Err(failure), _) => panic!("{}", failure.text()),
            }
        }
        check("demo://notes/first", &[], Ok("demo://notes/first"));
        check(
            "demo://notes/{name}",
            &["name=a b"],
            Ok("demo://notes/a%20b"),
        );
        check("demo://notes/{name}", &[], Err("a value for `name`"));
        check(
            "demo://notes/{name}",
            &["name=a", "x=1"],
            Err("no variable `x`"),
        );
        check("demo://notes", &["x=1"], Err("no variable `x`"));
    }
}
