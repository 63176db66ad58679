//! Property test: random handlers have the same result, effects and input requests in both eras.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use serde_json::json;
use toolwire::ask::{self, ElicitOutcome};
use toolwire::types::{
    CreateMessageRequestParams, CreateMessageResult, ElicitResult, Root, SamplingMessage,
    SamplingMessageContentBlock, Tool, ToolUseContent,
};
use toolwire::{
    ClientBuilder, ClientLimits, Error, ErrorObject, ProtocolVersion, RequestContext, Server,
};
use toolwire_tests::peer::plain;

use super::{LEGACY, MODERN, Name, Recorder, result_text};

/// The action of the user. The message of an input request contains it, so that the client needs no script.
#[derive(Debug, Clone, Copy)]
enum UserAction {
    Accept,
    Decline,
    Cancel,
}

/// One step of a handler.
#[derive(Debug, Clone)]
enum Step {
    /// A form whose outcome is a value for every action.
    Form(UserAction),
    /// A form that must be accepted.
    Must(UserAction),
    Url(UserAction),
    Model,
    Roots,
    /// Input requests of every kind in one round.
    Together(UserAction, UserAction),
    /// Any number of forms in one round.
    Each(Vec<UserAction>),
    /// Two concurrent forms.
    Side(UserAction, UserAction),
    /// A model that uses a tool, which may send a form.
    Tools(Option<UserAction>),
    Once,
    TryOnce,
    /// An effect that sends a form first and ignores its error.
    Inside(UserAction),
    /// An effect that fails. The handler fails as well, or continues.
    Fails {
        is_caught: bool,
    },
    /// Repeated effects with a form between them, under numbered keys.
    Loop(u8, UserAction),
    /// Runs the first steps if the last form was accepted, the second otherwise.
    Branch(Vec<Step>, Vec<Step>),
    /// An external resource that is not ready this many times.
    NotYet(u8),
}

fn action() -> impl Strategy<Value = UserAction> {
    prop_oneof![
        4 => Just(UserAction::Accept),
        1 => Just(UserAction::Decline),
        1 => Just(UserAction::Cancel),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let leaf = prop_oneof![
        action().prop_map(Step::Form),
        action().prop_map(Step::Must),
        action().prop_map(Step::Url),
        Just(Step::Model),
        Just(Step::Roots),
        (action(), action()).prop_map(|(form, url)| Step::Together(form, url)),
        prop::collection::vec(action(), 0..4).prop_map(Step::Each),
        (action(), action()).prop_map(|(one, other)| Step::Side(one, other)),
        prop::option::of(action()).prop_map(Step::Tools),
        Just(Step::Once),
        Just(Step::TryOnce),
        action().prop_map(Step::Inside),
        Just(Step::Fails { is_caught: true }),
        Just(Step::Fails { is_caught: false }),
        (0..4u8, action()).prop_map(|(times, action)| Step::Loop(times, action)),
        (1..3u8).prop_map(Step::NotYet),
    ];
    leaf.prop_recursive(2, 12, 3, |inner| {
        let steps = || prop::collection::vec(inner.clone(), 0..3);
        (steps(), steps()).prop_map(|(yes, no)| Step::Branch(yes, no))
    })
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
struct ExternalState {
    effects: Recorder,
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
                let form = |(number, action)| {
                    ask::form::<ElicitOutcome<Name>>(format!("{key}.{number}"), message(action))
                };
                let input_requests: Vec<_> = actions.iter().enumerate().map(form).collect();
                self.push_value(ctx.ask_all(input_requests).await?);
            }
            Step::Side(one, other) => {
                let (one_key, other_key) = (format!("{key}.one"), format!("{key}.other"));
                let (one, other) = tokio::join!(
                    ctx.ask::<ElicitOutcome<Name>>(one_key, message(one)),
                    ctx.ask::<ElicitOutcome<Name>>(other_key, message(other)),
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

/// The outcome of a script.
#[derive(Debug, PartialEq)]
struct Outcome {
    text: String,
    effects: Vec<String>,
    /// Sorted, because the input requests of one round have no order.
    requested: Vec<String>,
}

async fn run_script(script: Vec<Step>, version: ProtocolVersion) -> Outcome {
    let (external, requested) = (ExternalState::default(), Recorder::default());
    let inside = external.clone();
    let handler = plain("run_script", move |ctx: RequestContext| {
        let (script, external) = (script.clone(), inside.clone());
        async move {
            let mut run = Run {
                ctx: &ctx,
                external: &external,
                values: Vec::new(),
            };
            run.run_steps("", &script).await?;
            Ok::<_, Error>(run.values.join(", "))
        }
    });
    let server = Server::new("scripts", "1").tool(handler);
    let client = scripted_client(version, &requested)
        .in_process(&server)
        .await
        .expect("the client connects");
    let text = result_text(client.call_tool("run_script", json!({})).await);
    let mut requested = requested.take();
    requested.sort();
    Outcome {
        text,
        effects: external.effects.take(),
        requested,
    }
}

/// Returns a client that performs the action in the message.
fn scripted_client(version: ProtocolVersion, requested: &Recorder) -> ClientBuilder {
    fn elicit_result(requested: &Recorder, message: &str) -> ElicitResult {
        requested.record(message);
        let (_, action) = message.rsplit_once(' ').expect("a key and an action");
        let result = match action {
            "Accept" => json!({"action": "accept", "content": {"name": message}}),
            other => json!({"action": other.to_lowercase()}),
        };
        serde_json::from_value(result).expect("an elicit result")
    }
    let (forms, urls, models) = (requested.clone(), requested.clone(), requested.clone());
    let mut limits = ClientLimits::default();
    limits.rounds = 1000;
    ClientBuilder::new("test", "1")
        .with_versions([version])
        .with_limits(limits)
        .on_elicitation(move |input_request| {
            let result = elicit_result(&forms, &input_request.message);
            async move { Ok(result) }
        })
        .on_url_elicitation(move |input_request| {
            let mut result = elicit_result(&urls, &input_request.message);
            result.content = None;
            async move { Ok(result) }
        })
        .on_sampling_with_tools(move |input_request| {
            let message = input_request
                .messages
                .first()
                .map(|first| first.content.text());
            let model = message.unwrap_or_default();
            models.record(&*model);
            let first = input_request.messages.len() == 1;
            let content = match (input_request.tools, input_request.messages.last()) {
                (Some(_), _) if first => {
                    let used = ToolUseContent::new("1", "tool", json!({}));
                    SamplingMessageContentBlock::ToolUse(used)
                }
                (_, last) => {
                    let message = serde_json::to_string(&last).expect("a message is JSON");
                    SamplingMessageContentBlock::text(message)
                }
            };
            async move { Ok(CreateMessageResult::new(model, content)) }
        })
        .with_roots([Root::new("file:///project")])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn handler_has_the_same_outcome_in_both_eras(script in prop::collection::vec(step(), 0..6)) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime");
        let [modern, legacy] = [MODERN, LEGACY].map(|version| {
            runtime.block_on(run_script(script.clone(), version))
        });
        prop_assert_eq!(modern, legacy);
    }
}
