//! Random handlers end the same way in both eras, and do the same on the way.

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

use super::{Diary, LEGACY, MODERN, Name, shown};
use crate::peer::plain;

/// What the user does. The message of a question says it, so that the client needs no script of its own.
#[derive(Debug, Clone, Copy)]
enum Reply {
    Accept,
    Decline,
    Cancel,
}

/// One step of a handler.
#[derive(Debug, Clone)]
enum Step {
    /// A form; whatever the user does is a value.
    Form(Reply),
    /// A form that has to be accepted.
    Must(Reply),
    Url(Reply),
    Model,
    Roots,
    /// Questions of every kind in one round.
    Together(Reply, Reply),
    /// Forms in one round, as many as there are.
    Each(Vec<Reply>),
    /// Two forms at the same time.
    Side(Reply, Reply),
    /// A model that uses a tool, which asks the user when there is something to ask.
    Tools(Option<Reply>),
    Once,
    TryOnce,
    /// An effect that asks first, and makes nothing of a question that is not answered.
    Inside(Reply),
    /// An effect that fails; the handler fails with it, or goes on.
    Fails {
        is_caught: bool,
    },
    /// Two effects with a question between them, under numbered keys.
    Loop(u8, Reply),
    /// Goes one way when the last answer was an accepted one, another way otherwise.
    Branch(Vec<Step>, Vec<Step>),
    /// Something outside is not ready this many times.
    NotYet(u8),
}

fn reply() -> impl Strategy<Value = Reply> {
    prop_oneof![
        4 => Just(Reply::Accept),
        1 => Just(Reply::Decline),
        1 => Just(Reply::Cancel),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let leaf = prop_oneof![
        reply().prop_map(Step::Form),
        reply().prop_map(Step::Must),
        reply().prop_map(Step::Url),
        Just(Step::Model),
        Just(Step::Roots),
        (reply(), reply()).prop_map(|(form, url)| Step::Together(form, url)),
        prop::collection::vec(reply(), 0..4).prop_map(Step::Each),
        (reply(), reply()).prop_map(|(one, other)| Step::Side(one, other)),
        prop::option::of(reply()).prop_map(Step::Tools),
        Just(Step::Once),
        Just(Step::TryOnce),
        reply().prop_map(Step::Inside),
        Just(Step::Fails { is_caught: true }),
        Just(Step::Fails { is_caught: false }),
        (0..4u8, reply()).prop_map(|(times, reply)| Step::Loop(times, reply)),
        (1..3u8).prop_map(Step::NotYet),
    ];
    leaf.prop_recursive(2, 12, 3, |inner| {
        let way = || prop::collection::vec(inner.clone(), 0..3);
        (way(), way()).prop_map(|(yes, no)| Step::Branch(yes, no))
    })
}

/// One run of the handler.
struct Run<'a> {
    ctx: &'a RequestContext,
    world: &'a World,
    /// What the handler has learned, in order.
    learned: Vec<String>,
}

/// What outlives a run: what has happened, and how often each thing that takes time was not ready.
#[derive(Debug, Clone, Default)]
struct World {
    effects: Diary,
    waited: Arc<Mutex<HashMap<String, u8>>>,
}

impl World {
    /// Whether something is still not ready; it is once it was looked at this often.
    fn is_late(&self, what: &str, times: u8) -> bool {
        let mut waited = self.waited.lock().expect("no test panics with it");
        let seen = waited.entry(what.to_owned()).or_default();
        *seen += 1;
        *seen <= times
    }
}

impl Run<'_> {
    /// A function that calls itself: handlers ask at any depth.
    fn walk<'s>(
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
        let message = |reply: &Reply| format!("{key} {reply:?}");
        match step {
            Step::Form(reply) => {
                let answer: ElicitOutcome<Name> = ctx.ask(key, message(reply)).await?;
                self.learn(answer.map(|name| name.name));
            }
            Step::Must(reply) => {
                let answer: Name = ctx.ask(key, message(reply)).await?;
                self.learn(answer.name);
            }
            Step::Url(reply) => {
                let address = format!("https://example.com/{reply:?}");
                self.learn(ctx.ask_url(key, message(reply), address).await?);
            }
            Step::Model => self.learn(ctx.ask_model(key, to_model(key)).await?.model),
            Step::Roots => self.learn(ctx.ask_roots(key).await?.len()),
            Step::Together(form, url) => {
                let address = format!("https://example.com/{url:?}");
                let questions = (
                    ask::form::<ElicitOutcome<Name>>(format!("{key}.form"), message(form)),
                    ask::url(format!("{key}.url"), message(url), address),
                    ask::model(format!("{key}.model"), to_model(key)),
                    ask::roots(format!("{key}.roots")),
                );
                self.learn(ctx.ask_all(questions).await?.1);
            }
            Step::Each(replies) => {
                let form = |(number, reply)| {
                    ask::form::<ElicitOutcome<Name>>(format!("{key}.{number}"), message(reply))
                };
                let questions: Vec<_> = replies.iter().enumerate().map(form).collect();
                self.learn(ctx.ask_all(questions).await?);
            }
            Step::Side(one, other) => {
                let (one_key, other_key) = (format!("{key}.one"), format!("{key}.other"));
                let (one, other) = tokio::join!(
                    ctx.ask::<ElicitOutcome<Name>>(one_key, message(one)),
                    ctx.ask::<ElicitOutcome<Name>>(other_key, message(other)),
                );
                self.learn((one?, other?));
            }
            Step::Tools(asks) => {
                let question = asks.as_ref().map(message);
                let said = {
                    let use_tool = |_| self.use_tool(key, question.clone());
                    let request = to_model(key).with_tools([tool()]);
                    ctx.ask_model_with_tools(key, request, 2, use_tool).await?
                };
                self.learn(said.content.text());
            }
            Step::Once => {
                let number = ctx.once(key, self.effect(key)).await?;
                self.learn(number);
            }
            Step::TryOnce => {
                let work = async { Ok::<_, Error>(self.effect(key).await) };
                let number = ctx.try_once(key, work).await?;
                self.learn(number);
            }
            Step::Inside(reply) => {
                let inner = format!("{key}.asks");
                let work = async {
                    let answer: Option<ElicitOutcome<Name>> =
                        ctx.ask(inner, message(reply)).await.ok();
                    let accepted = answer.is_some_and(|answer| answer.is_accepted());
                    match accepted {
                        true => self.effect(key).await,
                        false => 0,
                    }
                };
                let number = ctx.once(key, work).await?;
                self.learn(number);
            }
            Step::Fails { is_caught } => {
                let work = async { Err::<(), Error>(ErrorObject::internal("broken").into()) };
                match ctx.try_once(key, work).await {
                    Err(error) if !is_caught => return Err(error),
                    outcome => self.learn(outcome.is_ok()),
                }
            }
            Step::Loop(times, reply) => {
                for turn in 0..*times {
                    let key = format!("{key}.{turn}");
                    let before = format!("{key}.before");
                    let after = format!("{key}.after");
                    self.learn(ctx.once(&*before, self.effect(&before)).await?);
                    let answer: ElicitOutcome<Name> = ctx.ask(&*key, message(reply)).await?;
                    self.learn(answer.map(|name| name.name));
                    self.learn(ctx.once(&*after, self.effect(&after)).await?);
                }
            }
            Step::Branch(yes, no) => {
                let last = self.learned.last().map(String::as_str);
                let way = match last.is_some_and(|last| last.contains("Accepted")) {
                    true => yes,
                    false => no,
                };
                self.walk(key, way).await?;
            }
            Step::NotYet(times) => {
                if self.world.is_late(key, *times) {
                    return Err(ctx.retry_later());
                }
            }
        }
        Ok(())
    }

    /// What the model's tool does.
    async fn use_tool(&self, key: &str, question: Option<String>) -> Result<String, Error> {
        if let Some(question) = question {
            let _: ElicitOutcome<Name> = self.ctx.ask(format!("{key}.tool"), question).await?;
        }
        Ok(self.effect(key).await.to_string())
    }

    fn learn(&mut self, what: impl fmt::Debug) {
        self.learned.push(format!("{what:?}"));
    }

    /// Happens, and differs each time it does: a second one would be seen in all that follows.
    async fn effect(&self, key: &str) -> usize {
        let last = self.learned.last().cloned().unwrap_or_default();
        self.world.effects.note(format!("{key} after {last}"))
    }
}

fn to_model(text: &str) -> CreateMessageRequestParams {
    CreateMessageRequestParams::new([SamplingMessage::user(text)], 10)
}

fn tool() -> Tool {
    Tool::new("tool", json!({"type": "object"}))
}

/// What came of a script.
#[derive(Debug, PartialEq)]
struct Ending {
    text: String,
    effects: Vec<String>,
    /// Without their order: questions of one round have none.
    asked: Vec<String>,
}

async fn perform(script: Vec<Step>, version: ProtocolVersion) -> Ending {
    let (world, asked) = (World::default(), Diary::default());
    let inside = world.clone();
    let handler = plain("perform", move |ctx: RequestContext| {
        let (script, world) = (script.clone(), inside.clone());
        async move {
            let mut run = Run {
                ctx: &ctx,
                world: &world,
                learned: Vec::new(),
            };
            run.walk("", &script).await?;
            Ok::<_, Error>(run.learned.join(", "))
        }
    });
    let server = Server::new("scripts", "1").tool(handler);
    let client = answering(version, &asked)
        .in_process(&server)
        .await
        .expect("it connects");
    let text = shown(client.call_tool("perform", json!({})).await);
    let mut asked = asked.take();
    asked.sort();
    Ending {
        text,
        effects: world.effects.take(),
        asked,
    }
}

/// A client that does what the message says.
fn answering(version: ProtocolVersion, asked: &Diary) -> ClientBuilder {
    fn reply(asked: &Diary, message: &str) -> ElicitResult {
        asked.note(message);
        let (_, reply) = message.rsplit_once(' ').expect("a key and a reply");
        let result = match reply {
            "Accept" => json!({"action": "accept", "content": {"name": message}}),
            other => json!({"action": other.to_lowercase()}),
        };
        serde_json::from_value(result).expect("an answer")
    }
    let (forms, urls, models) = (asked.clone(), asked.clone(), asked.clone());
    let mut limits = ClientLimits::default();
    limits.rounds = 1000;
    ClientBuilder::new("test", "1")
        .with_versions([version])
        .with_limits(limits)
        .on_elicitation(move |question| {
            let result = reply(&forms, &question.message);
            async move { Ok(result) }
        })
        .on_url_elicitation(move |question| {
            let mut result = reply(&urls, &question.message);
            result.content = None;
            async move { Ok(result) }
        })
        .on_sampling_with_tools(move |question| {
            let asked = question.messages.first().map(|first| first.content.text());
            let model = asked.unwrap_or_default();
            models.note(&*model);
            let first = question.messages.len() == 1;
            let content = match (question.tools, question.messages.last()) {
                (Some(_), _) if first => {
                    let used = ToolUseContent::new("1", "tool", json!({}));
                    SamplingMessageContentBlock::ToolUse(used)
                }
                (_, last) => {
                    let told = serde_json::to_string(&last).expect("a message is JSON");
                    SamplingMessageContentBlock::text(told)
                }
            };
            async move { Ok(CreateMessageResult::new(model, content)) }
        })
        .with_roots([Root::new("file:///project")])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_handler_ends_the_same_way_in_both_eras(script in prop::collection::vec(step(), 0..6)) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime");
        let [modern, legacy] = [MODERN, LEGACY].map(|version| {
            runtime.block_on(perform(script.clone(), version))
        });
        prop_assert_eq!(modern, legacy);
    }
}
