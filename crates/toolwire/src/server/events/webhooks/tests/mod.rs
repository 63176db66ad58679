//! Webhook delivery with a scripted receiver and a paused clock.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};
use toolwire_proto::events::webhook::secret::WebhookSecret;
use toolwire_proto::events::webhook::signature::{SignedHeaders, verify};
use toolwire_types::events::{
    CallbackFailure, DeliveryMode, SubscribeEventsParams, SubscribeEventsResult,
    UnsubscribeEventsParams, WebhookDelivery,
};
use toolwire_types::{ErrorObject, RawJson};

use super::*;
use crate::engine::{BoxFuture, TokenInfo, since_epoch};
use crate::server::events::{
    Emitter, Event, EventContext, EventPage, EventSource, NoArguments, Since,
};
use crate::store::{MemorySubscriptionStore, StoreError, SubscriptionRecord, SubscriptionStore};
use crate::sync::lock;

mod delivery;
mod record_order;
mod subscribing;

const URL: &str = "https://app.example/hook";

#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
struct Mail {
    text: String,
}

/// A receiver without a network. It responds to challenges, and to everything else with the scripted results, then with
/// 204.
#[derive(Debug, Default)]
struct Script {
    results: Mutex<VecDeque<Result<u16, CallbackFailure>>>,
    /// Whether challenges get a response that contains them.
    fails_challenges: bool,
    requests: Mutex<Vec<(Instant, WebhookRequest)>>,
    arrived: Notify,
}

impl WebhookSender for Script {
    fn send(
        &self,
        request: WebhookRequest,
    ) -> BoxFuture<'_, Result<WebhookResponse, CallbackFailure>> {
        Box::pin(async move {
            let body: Value = serde_json::from_slice(&request.body).unwrap();
            lock(&self.requests).push((Instant::now(), request));
            self.arrived.notify_waiters();
            if body["type"] == "verification" && !self.fails_challenges {
                let body = json!({"challenge": body["challenge"]}).to_string();
                return Ok(WebhookResponse {
                    status: 200,
                    body: Bytes::from(body),
                });
            }
            let result = lock(&self.results).pop_front().unwrap_or(Ok(204));
            result.map(|status| WebhookResponse {
                status,
                body: Bytes::new(),
            })
        })
    }

    fn permits_plain_loopback(&self) -> bool {
        false
    }
}

impl Script {
    fn respond(&self, results: impl IntoIterator<Item = u16>) {
        lock(&self.results).extend(results.into_iter().map(Ok));
    }

    /// Waits until this number of requests arrived, and returns them.
    async fn requests(&self, count: usize) -> Vec<WebhookRequest> {
        let arrival = async {
            loop {
                let arrived = self.arrived.notified();
                if lock(&self.requests).len() >= count {
                    return;
                }
                arrived.await;
            }
        };
        let waited = timeout(Duration::from_secs(24 * 60 * 60), arrival).await;
        let requests: Vec<_> = lock(&self.requests)
            .iter()
            .map(|(_, one)| one.clone())
            .collect();
        assert!(waited.is_ok(), "{:?}", summary(&requests));
        requests
    }

    fn count(&self) -> usize {
        lock(&self.requests).len()
    }

    /// Returns the seconds between the requests and the first of them.
    fn seconds(&self) -> Vec<u64> {
        let requests = lock(&self.requests);
        let start = requests[0].0;
        requests
            .iter()
            .map(|(at, _)| (*at - start).as_secs())
            .collect()
    }
}

fn header<'a>(request: &'a WebhookRequest, name: &str) -> &'a str {
    let found = request.headers.iter().find(|(found, _)| *found == name);
    found.map_or("", |(_, value)| value)
}

fn body(request: &WebhookRequest) -> Value {
    serde_json::from_slice(&request.body).unwrap()
}

/// Returns the text of each event, and the type of each other message.
fn summary(requests: &[WebhookRequest]) -> Vec<String> {
    let texts = requests.iter().map(|request| {
        let body = body(request);
        let text = body["type"].as_str().or(body["data"]["text"].as_str());
        text.unwrap_or_default().to_owned()
    });
    texts.collect()
}

struct Fixture {
    server: Server,
    script: Arc<Script>,
    mails: Emitter<NoArguments, Mail>,
}

impl Fixture {
    fn new() -> Self {
        Self::with_options(WebhookOptions::new(), Script::default())
    }

    fn with_options(options: WebhookOptions, script: Script) -> Self {
        let (script, mails) = (Arc::new(script), Emitter::new());
        let sender: Arc<dyn WebhookSender> = script.clone();
        let server = Server::new("mails", "1.0.0")
            .event("mail.received", mails.clone())
            .event("mail.deleted", Emitter::<NoArguments, Mail>::new())
            .install_webhooks(options, sender);
        Self {
            server,
            script,
            mails,
        }
    }

    fn emit(&self, text: &str) {
        let mail = Mail {
            text: text.to_owned(),
        };
        let event = Event::new(mail).with_id(format!("id-{text}"));
        self.mails.emit(event).unwrap();
    }

    async fn subscribe(&self) -> SubscribeEventsResult {
        self.try_subscribe("ann", params()).await.unwrap()
    }

    async fn try_subscribe(
        &self,
        subject: &str,
        params: SubscribeEventsParams,
    ) -> Result<SubscribeEventsResult, ErrorObject> {
        let snapshot = self.server.snapshot();
        let webhooks = snapshot.events.webhooks.as_ref().unwrap();
        webhooks.subscribe(&token(subject), params).await
    }

    async fn unsubscribe(&self, subject: &str, url: &str) -> Result<(), ErrorObject> {
        let snapshot = self.server.snapshot();
        let webhooks = snapshot.events.webhooks.as_ref().unwrap();
        let params = UnsubscribeEventsParams::new("mail.received", url);
        webhooks.unsubscribe(&token(subject), params).await
    }
}

/// A source whose log was rotated: the page after its start has one event, and events before it are missing.
#[derive(Debug)]
struct Rotated;

impl EventSource for Rotated {
    type Arguments = NoArguments;
    type Payload = Mail;

    async fn after(
        &self,
        _: &EventContext,
        _: &NoArguments,
        since: Since<'_>,
    ) -> Result<EventPage<Mail>, ErrorObject> {
        Ok(match since.cursor() {
            None => EventPage::empty("start"),
            Some("start") => {
                let text = "a".to_owned();
                EventPage::new([Event::new(Mail { text }).with_id("id-a")], "end").truncated()
            }
            Some(_) => EventPage::empty("end"),
        })
    }
}

fn token(subject: &str) -> TokenInfo {
    TokenInfo {
        valid: !subject.is_empty(),
        subject: Some(subject.to_owned()),
        ..TokenInfo::default()
    }
}

fn secret(byte: u8) -> WebhookSecret {
    WebhookSecret::new([byte; 32])
}

fn params_for(name: &str, url: &str) -> SubscribeEventsParams {
    SubscribeEventsParams::new(name, WebhookDelivery::new(url, secret(7).expose()))
}

fn params() -> SubscribeEventsParams {
    params_for("mail.received", URL)
}

fn is_signed_by(request: &WebhookRequest, secret: &WebhookSecret) -> bool {
    let headers = SignedHeaders {
        id: header(request, "webhook-id"),
        timestamp: header(request, "webhook-timestamp"),
        signature: header(request, "webhook-signature"),
    };
    verify([secret], headers, &request.body, since_epoch()).is_ok()
}
