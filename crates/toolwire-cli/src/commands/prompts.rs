//! Lists prompts, and gets one with its arguments.

use serde_json::{Map, Value, json};
use toolwire::types::{GetPromptResult, Prompt};
use toolwire_proto::similar_names::similar;

use crate::commands::call::missing_arguments;
use crate::commands::{Session, failed, first_and_rest, is_unknown_method};
use crate::failure::{Exit, Failure};
use crate::request_arguments::ArgumentRequest;
use crate::show::{self, Style};
use crate::snippet_form::SnippetForm;
use crate::snippets::{Exchange, ExchangeKind};
use crate::tool_arguments::{ParsedArguments, missing, strings};

/// Lists prompts, or shows one prompt.
pub(crate) async fn list_prompts(session: &Session, name: Option<String>) -> Result<Exit, Failure> {
    let screen = &session.screen;
    let prompts = offered_prompts(session).await?;
    match (name, prompts) {
        (None, None) => return session.no_list("prompts"),
        (None, Some(prompts)) if screen.json => screen.print_json(&prompts)?,
        (None, Some(prompts)) => screen.print(&show::prompts(&prompts, screen.style))?,
        (Some(name), prompts) => {
            let prompts = prompts.unwrap_or_default();
            let prompt = find_prompt(&name, &prompts)?;
            if screen.json {
                screen.print_json(prompt)?;
            } else {
                screen.print(&show::prompt(prompt, screen.style))?;
            }
        }
    }
    Ok(Exit::Success)
}

/// Returns all prompts. Returns `None` if the server does not offer a list of prompts.
pub(super) async fn offered_prompts(session: &Session) -> Result<Option<Vec<Prompt>>, Failure> {
    if !session.declares(|capabilities| capabilities.prompts.is_some()) {
        return Ok(None);
    }
    match session.client.list_prompts().await {
        Ok(prompts) => Ok(Some(prompts)),
        Err(error) if is_unknown_method(&error) => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

/// A prompt and its arguments.
#[derive(Debug)]
pub(crate) struct PromptPlan {
    prompt: String,
    given: ParsedArguments,
    print: Option<SnippetForm>,
}

impl PromptPlan {
    pub(crate) fn new(prompt: &ArgumentRequest, words: Vec<String>) -> Result<Self, Failure> {
        let example = "toolwire prompt SERVER PROMPT name=value";
        let (name, rest) = first_and_rest(words, "prompt", example)?;
        Ok(Self {
            prompt: name,
            given: ParsedArguments::read(prompt.args.as_deref(), &rest)?,
            print: prompt.print,
        })
    }

    pub(crate) async fn run(self, session: &Session) -> Result<Exit, Failure> {
        let (client, screen) = (&session.client, &session.screen);
        // Nothing is sent for a prompt that is not in the list. Without a list, the server decides.
        let prompts = offered_prompts(session).await?;
        let known = match &prompts {
            Some(prompts) => Some(find_prompt(&self.prompt, prompts)?),
            None => None,
        };
        let arguments = self.arguments(known)?;
        if let Some(form) = self.print {
            let exchange = Exchange {
                kind: ExchangeKind::Prompts,
                name: self.prompt,
                arguments: Value::from(arguments).into(),
                schema: None,
            };
            return session.print_request(form, &exchange);
        }
        let params = json!({"name": self.prompt, "arguments": arguments});
        let raw = client
            .request("prompts/get", params)
            .await
            .map_err(failed)?;
        let result: GetPromptResult = raw.parse().map_err(|error| {
            Failure::new(Exit::Protocol, format!("the result is invalid: {error}"))
        })?;
        if screen.json {
            screen.print_raw(&raw)?;
        } else {
            screen.print(&show::prompt_result(&result, screen.style))?;
        }
        Ok(Exit::Success)
    }

    fn arguments(&self, known: Option<&Prompt>) -> Result<Map<String, Value>, Failure> {
        if let Some(prompt) = known {
            let usage = |failure: Failure| {
                failure.with_details(format!("\n{}", show::prompt(prompt, Style::default())))
            };
            let arguments = prompt.arguments.iter().flatten();
            let required = arguments.filter(|argument| argument.required == Some(true));
            let missing = missing(&self.given, required.map(|argument| argument.name.as_str()));
            if !missing.is_empty() {
                return Err(usage(missing_arguments(&missing)));
            }
        }
        let arguments = strings(&self.given)?.into_iter();
        Ok(arguments.map(|(name, text)| (name, text.into())).collect())
    }
}

/// Returns the prompt with this name. The failure names similar prompts.
fn find_prompt<'a>(name: &str, prompts: &'a [Prompt]) -> Result<&'a Prompt, Failure> {
    let prompt = prompts.iter().find(|prompt| prompt.name == name);
    prompt.ok_or_else(|| {
        let message = format!("the server has no prompt `{name}`");
        let failure = Failure::new(Exit::Protocol, message);
        let candidates = similar(name, prompts.iter().map(|prompt| prompt.name.as_str()));
        if candidates.is_empty() {
            failure.with_advice("`toolwire prompts` lists the prompts")
        } else {
            failure.with_advice(candidates.join(" or "))
        }
    })
}
