//! Lists the types of events of a server, and shows events as they happen.

use serde_json::{Value, json};
use toolwire::events::{EventItem, EventOccurrence, EventType};
use toolwire::types::events::EXTENSION_ID;
use toolwire_proto::similar_names::similar;

use crate::commands::{Session, failed, first_and_rest};
use crate::event_arguments::Watch;
use crate::failure::{Exit, Failure};
use crate::show::{self, plain_text};
use crate::tool_arguments::{ParsedArguments, Schema, object};

/// Lists the types of events.
pub(crate) async fn list_events(session: &Session, (): ()) -> Result<Exit, Failure> {
    let screen = &session.screen;
    if !has_events(session) {
        return session.no_list("events");
    }
    let types = session.client.list_events().await.map_err(failed)?;
    if screen.json {
        screen.print_json(&types)?;
    } else {
        screen.print(&show::event_types(&types, screen.style))?;
    }
    Ok(Exit::Success)
}

fn has_events(session: &Session) -> bool {
    session.declares(|capabilities| capabilities.extension(EXTENSION_ID).is_some())
}

/// A type of events, the arguments of the subscription, and the number of events to show.
#[derive(Debug)]
pub(crate) struct WatchPlan {
    name: String,
    given: ParsedArguments,
    count: Option<u64>,
}

impl WatchPlan {
    pub(crate) fn new(watch: &Watch, words: Vec<String>) -> Result<Self, Failure> {
        let example = "toolwire events watch SERVER EVENT name=value";
        let (name, rest) = first_and_rest(words, "event", example)?;
        Ok(Self {
            name,
            given: ParsedArguments::read(watch.args.as_deref(), &rest)?,
            count: watch.count,
        })
    }

    pub(crate) async fn run(self, session: &Session) -> Result<Exit, Failure> {
        let (client, screen) = (&session.client, &session.screen);
        if !has_events(session) {
            return Err(Failure::new(
                Exit::Protocol,
                "the server does not offer events",
            ));
        }
        let types = client.list_events().await.map_err(failed)?;
        let schema = find(&self.name, &types)?.input_schema.to_value();
        let schema = schema.unwrap_or(Value::Bool(true));
        let arguments = object(&self.given, Schema::new(&schema))?;
        for warning in &arguments.warnings {
            screen.warn(warning);
        }
        let subscribing = client.subscribe_events(&self.name, arguments.values);
        let mut events = subscribing.await.map_err(failed)?;
        screen.show_line(&format!("watching {}", plain_text(&self.name)));
        let mut seen = 0;
        while self.count.is_none_or(|count| seen < count) {
            match events.next().await.map_err(failed)? {
                Some(EventItem::Event(event)) => {
                    seen += 1;
                    if screen.json {
                        screen.print_json_line(&json!(event))?;
                    } else {
                        screen.print(&line(&event))?;
                    }
                }
                Some(EventItem::Gap) => screen.warn("events were missed"),
                Some(EventItem::Failed(error)) => screen.warn(&error.message),
                Some(_) => {}
                None => {
                    return Err(Failure::new(
                        Exit::NoConnection,
                        "the server ended the subscription",
                    ));
                }
            }
        }
        Ok(Exit::Success)
    }
}

fn find<'t>(name: &str, types: &'t [EventType]) -> Result<&'t EventType, Failure> {
    types
        .iter()
        .find(|entry| entry.name == name)
        .ok_or_else(|| {
            let names = types.iter().map(|entry| entry.name.as_str());
            let failure = Failure::new(Exit::Protocol, format!("the server has no event `{name}`"));
            let candidates = similar(name, names);
            if candidates.is_empty() {
                failure.with_advice("`toolwire events list` lists the events")
            } else {
                failure.with_advice(candidates.join(" or "))
            }
        })
}

fn line(event: &EventOccurrence) -> String {
    let text = format!(
        "{} {} {}",
        event.timestamp,
        event.event_id,
        event.data.get()
    );
    format!("{}\n", plain_text(&text))
}
