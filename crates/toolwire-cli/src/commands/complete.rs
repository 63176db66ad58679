//! Completes an argument.

use toolwire::types::{
    CompleteRequestParams, CompletionArgument, CompletionReference, PromptReference,
    ResourceTemplateReference,
};

use crate::commands::{Session, failed, first_and_rest};
use crate::failure::{Exit, Failure};
use crate::request_arguments::{Complete, ReferenceKind};
use crate::show::plain_text;
use crate::tool_arguments::{ParsedArguments, strings};

/// The argument to complete, and the values of the others.
#[derive(Debug)]
pub(crate) struct CompletePlan {
    params: CompleteRequestParams,
}

impl CompletePlan {
    pub(crate) fn new(complete: &Complete, words: Vec<String>) -> Result<Self, Failure> {
        const EXAMPLE: &str = "toolwire complete SERVER PROMPT name=typed";
        let (name, rest) = first_and_rest(words, "prompt or template", EXAMPLE)?;
        let mut arguments = strings(&ParsedArguments::read(None, &rest)?)?;
        let Some((argument, typed)) = arguments.pop() else {
            return Err(Failure::usage("no argument to complete").with_advice(EXAMPLE));
        };
        let kind = complete.kind.unwrap_or(if name.contains(':') {
            ReferenceKind::Template
        } else {
            ReferenceKind::Prompt
        });
        let reference: CompletionReference = match kind {
            ReferenceKind::Prompt => PromptReference::new(name).into(),
            ReferenceKind::Template => ResourceTemplateReference::new(name).into(),
        };
        let argument = CompletionArgument::new(argument, typed);
        let mut params = CompleteRequestParams::new(reference, argument);
        for (known, value) in arguments {
            params = params.with_known_argument(known, value);
        }
        Ok(Self { params })
    }

    pub(crate) async fn run(self, session: &Session) -> Result<Exit, Failure> {
        let (client, screen) = (&session.client, &session.screen);
        if screen.json {
            let raw = client.request("completion/complete", &self.params).await;
            screen.print_raw(&raw.map_err(failed)?)?;
            return Ok(Exit::Success);
        }
        let completion = client
            .complete_with(self.params)
            .await
            .map_err(failed)?
            .completion;
        let mut text = String::new();
        for value in &completion.values {
            text.push_str(&plain_text(value));
            text.push('\n');
        }
        screen.print(&text)?;
        if completion.has_more == Some(true) {
            screen.show_line("the server has more values");
        }
        Ok(Exit::Success)
    }
}
