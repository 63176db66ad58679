//! What all deliveries of a server share.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use toolwire_proto::events::webhook::message::{
    ID_HEADER, SIGNATURE_HEADER, SUBSCRIPTION_HEADER, TIMESTAMP_HEADER,
};
use toolwire_proto::events::webhook::rate::HostRate;
use toolwire_proto::events::webhook::secret::WebhookSecret;
use toolwire_proto::events::webhook::signature::sign;
use toolwire_types::ErrorObject;
use toolwire_types::events::CallbackFailure;

use crate::engine::since_epoch;
use crate::server::events::entry::EventEntry;
use crate::server::events::webhooks::options::WebhookOptions;
use crate::server::events::webhooks::record_writes::RecordWrites;
use crate::server::events::webhooks::registry::UrlSubscriptions;
use crate::server::events::webhooks::sender::{WebhookRequest, WebhookResponse, WebhookSender};
use crate::store::StoreError;
use crate::sync::lock;

/// The maximum number of pages that are delivered at the same time. It limits the memory of events.
const MAX_CONCURRENT_PAGES: usize = 256;

/// The number of hosts with a stored rate, before idle ones are removed.
const MAX_HOSTS: usize = 4096;

/// Returns the event type with a name. It does not keep the server alive.
type FindEventType = dyn Fn(&str) -> Option<Arc<EventEntry>> + Send + Sync;

/// What all deliveries of a server share.
pub(super) struct Shared {
    pub(super) options: WebhookOptions,
    pub(super) sender: Arc<dyn WebhookSender>,
    /// A permit is needed while a page of events is in memory.
    pub(super) pages: Semaphore,
    event_type: Box<FindEventType>,
    record_writes: RecordWrites,
    hosts: Mutex<HashMap<String, HostRate>>,
    started: Instant,
}

/// The content of a signed request.
#[derive(Debug)]
pub(super) struct SignedMessage<'a> {
    pub(super) subscription_id: &'a str,
    pub(super) url: &'a str,
    pub(super) id: String,
    pub(super) body: Vec<u8>,
}

impl Shared {
    pub(super) fn new(
        options: WebhookOptions,
        sender: Arc<dyn WebhookSender>,
        event_type: impl Fn(&str) -> Option<Arc<EventEntry>> + Send + Sync + 'static,
    ) -> Self {
        Self {
            options,
            sender,
            pages: Semaphore::new(MAX_CONCURRENT_PAGES),
            event_type: Box::new(event_type),
            record_writes: RecordWrites::default(),
            hosts: Mutex::default(),
            started: Instant::now(),
        }
    }

    /// Returns the time for rates and retries, on the clock of the runtime.
    pub(super) fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// Returns the event type with this name.
    pub(super) fn event_type(&self, name: &str) -> Option<Arc<EventEntry>> {
        (self.event_type)(name)
    }

    /// Writes the subscription with this id to the store, or removes it there if it has ended.
    pub(super) async fn write_record(
        &self,
        registry: &Weak<UrlSubscriptions>,
        id: &str,
    ) -> Result<(), StoreError> {
        let store = &*self.options.store;
        self.record_writes.write(store, registry, id).await
    }

    /// Reserves a request to a host and returns how long it has to wait.
    pub(super) fn reserve(&self, host: &str) -> Duration {
        self.with_host(host, |rate, now| rate.reserve(self.options.rate, now))
    }

    /// Reserves a request to a host, unless it would have to wait for longer than this.
    pub(super) fn reserve_within(&self, host: &str, longest: Duration) -> Option<Duration> {
        self.with_host(host, |rate, now| {
            rate.reserve_within(self.options.rate, now, longest)
        })
    }

    fn with_host<T>(&self, host: &str, reserve: impl FnOnce(&mut HostRate, Duration) -> T) -> T {
        let now = self.now();
        let mut hosts = lock(&self.hosts);
        if hosts.len() >= MAX_HOSTS && !hosts.contains_key(host) {
            hosts.retain(|_, rate| !rate.is_idle(now));
        }
        reserve(hosts.entry(host.to_owned()).or_default(), now)
    }

    /// Signs a message with the current time and sends it.
    pub(super) async fn send(
        &self,
        message: SignedMessage<'_>,
        secrets: &[WebhookSecret],
    ) -> Result<WebhookResponse, CallbackFailure> {
        let timestamp = since_epoch().as_secs();
        let signature = sign(secrets, &message.id, timestamp, &message.body);
        let request = WebhookRequest {
            url: message.url.to_owned(),
            headers: vec![
                ("content-type", "application/json".to_owned()),
                (ID_HEADER, message.id),
                (TIMESTAMP_HEADER, timestamp.to_string()),
                (SIGNATURE_HEADER, signature),
                (SUBSCRIPTION_HEADER, message.subscription_id.to_owned()),
            ],
            body: Bytes::from(message.body),
        };
        self.sender.send(request).await
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// Returns random bytes of the system.
pub(super) fn random<const N: usize>() -> Result<[u8; N], ErrorObject> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|_| ErrorObject::internal("the system provides no random bytes"))?;
    Ok(bytes)
}
