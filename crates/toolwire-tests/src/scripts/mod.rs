//! Handlers that run a script of steps, and a client that responds to them, for property tests.

mod client;
mod recorder;

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use serde::Deserialize;
use serde_json::json;
use toolwire::ask::{self, ElicitOutcome};
use toolwire::types::{CreateMessageRequestParams, SamplingMessage, Tool};
use toolwire::{Elicit, Error, ErrorObject, RequestContext, ToolHandler};

use crate::peer::plain;

pub use client::scripted_client;
pub use recorder::Recorder;

/// The action of the user. The message of an input request contains it, so that the client needs no script.
#[derive(Debug, Clone, Copy)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the protocol defines these actions"
)]
pub enum UserAction {
    /// Fills in the form.
    Accept,
    /// Declines.
    Decline,
    /// Cancels.
    Cancel,
}

/// One step of a handler.
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_enums, reason = "the tests of this package use it")]
pub enum Step {
    /// A form whose outcome is a value for every action.
    Form(UserAction),
    /// A form that must be accepted.
    Must(UserAction),
    /// A page that the user opens.
    Url(UserAction),
    /// A message to the model.
    Model,
    /// The roots of the client.
    Roots,
    /// Input requests of every kind in one round.
    Together(UserAction, UserAction),
    /// Any number of forms in one round.
    Each(Vec<UserAction>),
    /// Two concurrent forms.
    Side(UserAction, UserAction),
    /// A model that uses a tool, which may send a form.
    Tools(Option<UserAction>),
    /// An effect.
    Once,
    /// An effect that may fail, and does not.
    TryOnce,
    /// An effect that sends a form first and ignores its error.
    Inside(UserAction),
    /// An effect that fails. The handler fails as well, or continues.
    Fails {
        /// `true` if the handler continues.
        is_caught: bool,
    },
    /// Repeated effects with a form between them, under numbered keys.
    Loop(u8, UserAction),
    /// Runs the first steps if the last form was accepted, the second otherwise.
    Branch(Vec<Step>, Vec<Step>),
    /// An external resource that is not ready this many times.
    NotYet(u8),
    /// A progress notification.
    Progress,
}

/// Returns the tool `run_script`. Its text has the values that the steps of the script receive.
pub fn scripted_tool(script: Vec<Step>, external: &ExternalState) -> ToolHandler {
    let external = external.clone();
    plain("run_script", move |ctx: RequestContext| {
        let (script, external) = (script.clone(), external.clone());
        async move {
            let mut run = Run {
                ctx: &ctx,
                external: &external,
                values: Vec::new(),
            };
            run.run_steps("", &script).await?;
            Ok::<_, Error>(run.values.join(", "))
        }
    })
}

#[derive(Debug, Deserialize, Elicit)]
struct Name {
    name: String,
}

/// One run of the handler.
struct Run<'a> {
    ctx: &'a RequestContext,
    external: &'a ExternalState,
    /// The values that the handler has received, in order.
    values: Vec<String>,
}

/// State outside of the handler: the effects, and how often each external resource was not ready.
#[derive(Debug, Clone, Default)]
pub struct ExternalState {
    /// The effects, in order.
    pub effects: Recorder,
    waited: Arc<Mutex<HashMap<String, u8>>>,
}

impl ExternalState {
    /// Returns `true` for the first `times` calls with this key.
    fn is_not_ready(&self, key: &str, times: u8) -> bool {
        let mut waited = self.waited.lock().expect("the lock is not poisoned");
        let seen = waited.entry(key.to_owned()).or_default();
        *seen += 1;
        *seen <= times
    }
}

impl Run<'_> {
    /// Runs the steps. The function is recursive, because handlers may ask at any depth.
    fn run_steps<'s>(
        &'s mut self,
        path: &'s str,
        steps: &'s [Step],
    ) -> Pin<Box<dyn Future<Output = Result<(), Error>> + Send + 's>> {
        Box::pin(async move {
            for (number, step) in steps.iter().enumerate() {
                self.step(&format!("{path}.{number}"), step).await?;
            }
            Ok(())
        })
    }

    async fn step(&mut self, key: &str, step: &Step) -> Result<(), Error> {
        let ctx = self.ctx;
        let message = |action: &UserAction| format!("{key} {action:?}");
        match step {
            Step::Form(action) => {
                let response: ElicitOutcome<Name> = ctx.ask(key, message(action)).await?;
                self.push_value(response.map(|name| name.name));
            }
            Step::Must(action) => {
                let response: Name = ctx.ask(key, message(action)).await?;
                self.push_value(response.name);
            }
            Step::Url(action) => {
                let address = format!("https://example.com/{action:?}");
                self.push_value(ctx.ask_url(key, message(action), address).await?);
            }
            Step::Model => self.push_value(ctx.ask_model(key, to_model(key)).await?.model),
            Step::Roots => self.push_value(ctx.ask_roots(key).await?.len()),
            Step::Together(form, url) => {
                let address = format!("https://example.com/{url:?}");
                let input_requests = (
                    ask::form::<ElicitOutcome<Name>>(format!("{key}.form"), message(form)),
                    ask::url(format!("{key}.url"), message(url), address),
                    ask::model(format!("{key}.model"), to_model(key)),
                    ask::roots(format!("{key}.roots")),
                );
                self.push_value(ctx.ask_all(input_requests).await?.1);
            }
            Step::Each(actions) => {
                let form = |(number, action): (usize, &UserAction)| {
                    let key = format!("{key}.{number}");
                    let message = format!("{key} {action:?}");
                    ask::form::<ElicitOutcome<Name>>(key, message)
                };
                let input_requests: Vec<_> = actions.iter().enumerate().map(form).collect();
                self.push_value(ctx.ask_all(input_requests).await?);
            }
            Step::Side(one, other) => {
                let (one_key, other_key) = (format!("{key}.one"), format!("{key}.other"));
                let one_message = format!("{one_key} {one:?}");
                let other_message = format!("{other_key} {other:?}");
                let (one, other) = tokio::join!(
                    ctx.ask::<ElicitOutcome<Name>>(one_key, one_message),
                    ctx.ask::<ElicitOutcome<Name>>(other_key, other_message),
                );
                self.push_value((one?, other?));
            }
            Step::Tools(asks) => {
                let input_request = asks.as_ref().map(message);
                let response = {
                    let use_tool = |_| self.use_tool(key, input_request.clone());
                    let request = to_model(key).with_tools([tool()]);
                    ctx.ask_model_with_tools(key, request, 2, use_tool).await?
                };
                self.push_value(response.content.text());
            }
            Step::Once => {
                let number = ctx.once(key, self.effect(key)).await?;
                self.push_value(number);
            }
            Step::TryOnce => {
                let work = async { Ok::<_, Error>(self.effect(key).await) };
                let number = ctx.try_once(key, work).await?;
                self.push_value(number);
            }
            Step::Inside(action) => {
                let inner = format!("{key}.asks");
                let work = async {
                    let response: Option<ElicitOutcome<Name>> =
                        ctx.ask(inner, message(action)).await.ok();
                    let accepted = response.is_some_and(|response| response.is_accepted());
                    if accepted { self.effect(key).await } else { 0 }
                };
                let number = ctx.once(key, work).await?;
                self.push_value(number);
            }
            Step::Fails { is_caught } => {
                let work = async { Err::<(), Error>(ErrorObject::internal("broken").into()) };
                match ctx.try_once(key, work).await {
                    Err(error) if !is_caught => return Err(error),
                    outcome => self.push_value(outcome.is_ok()),
                }
            }
            Step::Loop(times, action) => {
                for repetition in 0..*times {
                    let key = format!("{key}.{repetition}");
                    let before = format!("{key}.before");
                    let after = format!("{key}.after");
                    self.push_value(ctx.once(&*before, self.effect(&before)).await?);
                    let response: ElicitOutcome<Name> = ctx.ask(&*key, message(action)).await?;
                    self.push_value(response.map(|name| name.name));
                    self.push_value(ctx.once(&*after, self.effect(&after)).await?);
                }
            }
            Step::Branch(yes, no) => {
                let last = self.values.last().map(String::as_str);
                let branch = if last.is_some_and(|last| last.contains("Accepted")) {
                    yes
                } else {
                    no
                };
                self.run_steps(key, branch).await?;
            }
            Step::NotYet(times) => {
                if self.external.is_not_ready(key, *times) {
                    return Err(ctx.retry_later());
                }
            }
            Step::Progress => ctx.report_steps(1, 2, Some(key)),
        }
        Ok(())
    }

    /// Runs the tool of the model.
    async fn use_tool(&self, key: &str, input_request: Option<String>) -> Result<String, Error> {
        if let Some(input_request) = input_request {
            let _: ElicitOutcome<Name> = self.ctx.ask(format!("{key}.tool"), input_request).await?;
        }
        Ok(self.effect(key).await.to_string())
    }

    fn push_value(&mut self, value: impl fmt::Debug) {
        self.values.push(format!("{value:?}"));
    }

    /// Runs an effect with a different result each time, so that a repeated effect changes all later values.
    async fn effect(&self, key: &str) -> usize {
        let last = self.values.last().cloned().unwrap_or_default();
        self.external.effects.record(format!("{key} after {last}"))
    }
}

fn to_model(text: &str) -> CreateMessageRequestParams {
    CreateMessageRequestParams::new([SamplingMessage::user(text)], 10)
}

fn tool() -> Tool {
    Tool::new("tool", json!({"type": "object"}))
}
