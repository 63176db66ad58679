//! The forwarded requests that wait for their responses, and where their messages go.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;
use toolwire_proto::raw_object::RawObject;
use toolwire_proto::relay::convert::Conversion;
use toolwire_proto::relay::progress_tokens::ProgressTokens;
use toolwire_proto::subscriptions::{Change, Filter, subscription_of};
use toolwire_types::{
    ProgressToken, RawJson, RequestId, SubscriptionsListenRequestParams, meta_key,
};

use crate::client::middleware::StreamOpening;
use crate::engine::{Cancellation, TransportContext};
use crate::relay::log_filter::LogFilter;
use crate::sync::lock;

/// A forwarded request.
#[derive(Debug)]
pub(super) struct ForwardedCall {
    /// The client's side of the request.
    pub(super) client: Arc<dyn TransportContext>,
    /// The id of the request on the client's connection.
    pub(super) client_id: RequestId,
    /// The client's connection. Requests of one connection have the same value.
    pub(super) connection: Option<usize>,
    /// The conversion of messages of the upstream server to the client's revision.
    pub(super) conversion: Conversion,
    /// The progress token, if the request has one.
    pub(super) progress: Option<CallToken>,
    /// Notified of each message that belongs to the request.
    pub(super) activity: Arc<Notify>,
    pub(super) logs: LogFilter,
    /// The number of requests of the upstream that wait for the client.
    pub(super) waiting: AtomicUsize,
    /// Whether the request is open until one side ends it, such as `subscriptions/listen` and `events/stream`.
    pub(super) is_stream: bool,
    /// The subscription, if the request is `subscriptions/listen`.
    pub(super) listening: Option<ListenCall>,
    /// Set when the request has ended, so that its client reads no more messages of it.
    pub(super) ended: Cancellation,
}

impl ForwardedCall {
    /// Records that the upstream waits for the client until the returned value is dropped.
    pub(super) fn wait_for_client(self: &Arc<Self>) -> WaitingForClient {
        self.waiting.fetch_add(1, Ordering::AcqRel);
        WaitingForClient(Arc::clone(self))
    }

    /// Returns the result of a stream with the id of the client's request, if it names the id of the relay's.
    pub(super) fn with_client_subscription(&self, result: RawJson) -> RawJson {
        let is_named = subscription_of(result.as_raw_value()).is_some();
        let members = is_named.then(|| RawObject::parse(result.as_raw_value()));
        let Some(mut members) = members.flatten() else {
            return result;
        };
        if let Some(meta) = members.object_mut("_meta") {
            let id = RawJson::from_serialize(&self.client_id).expect("an id is text or a number");
            meta.set(meta_key::SUBSCRIPTION_ID, id);
        }
        members.finish()
    }

    /// Returns `true` if a progress notification has the token of the request, on the connection to the upstream server.
    pub(super) fn has_progress_token(&self, params: Option<&RawJson>) -> bool {
        let members = params.and_then(|params| RawObject::parse(params.as_raw_value()));
        let members = members.as_ref();
        let Some(token) = members.and_then(|members| Some(members.get("progressToken")?.get()))
        else {
            return false;
        };
        match &self.progress {
            Some(CallToken::Unchanged(own)) => own.get() == token,
            Some(CallToken::Replaced { upstream, .. }) => {
                serde_json::from_str(token).ok().as_ref() == Some(upstream)
            }
            None => false,
        }
    }

    /// Returns `true` if the upstream waits for the client, perhaps for its user.
    pub(super) fn waits_for_client(&self) -> bool {
        self.waiting.load(Ordering::Acquire) > 0
    }
}

/// A request of the upstream that waits for the client.
#[derive(Debug)]
pub(super) struct WaitingForClient(Arc<ForwardedCall>);

impl Drop for WaitingForClient {
    fn drop(&mut self) {
        // The upstream works again, so its time starts again.
        self.0.activity.notify_one();
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A forwarded `subscriptions/listen`.
#[derive(Debug)]
pub(super) struct ListenCall {
    filter: Filter,
    /// Set when the upstream server has acknowledged the subscription.
    is_acknowledged: AtomicBool,
    /// What is called with the acknowledgement.
    pub(super) opening: StreamOpening,
}

impl ListenCall {
    /// Reads the subscription of a request. Returns `None` for other methods.
    pub(super) fn of(method: &str, params: Option<&RawJson>) -> Option<Self> {
        if method != "subscriptions/listen" {
            return None;
        }
        let request: Option<SubscriptionsListenRequestParams> =
            params.and_then(|params| params.parse().ok());
        // The upstream server rejects an invalid filter.
        let filter = request.and_then(|request| Filter::new(&request.notifications).ok());
        Some(Self {
            filter: filter.unwrap_or_default(),
            is_acknowledged: AtomicBool::new(false),
            opening: StreamOpening::default(),
        })
    }

    /// Records the acknowledgement of the upstream server. A legacy client does not get it.
    pub(super) fn set_acknowledged(&self) {
        self.is_acknowledged.store(true, Ordering::Release);
        self.opening.opened();
    }

    /// Returns `true` if the client subscribed to a change.
    pub(super) fn names(&self, change: &Change) -> bool {
        self.filter.accepts(change)
    }

    /// Returns `true` if the client gets a change now. Nothing precedes the acknowledgement.
    fn accepts(&self, change: &Change) -> bool {
        self.is_acknowledged.load(Ordering::Acquire) && self.filter.accepts(change)
    }
}

/// The progress token of a forwarded request.
#[derive(Debug)]
pub(super) enum CallToken {
    /// The client's token, which the upstream gets unchanged.
    Unchanged(RawJson),
    /// A token that is unique on the connection, instead of the client's.
    Replaced {
        upstream: ProgressToken,
        client: RawJson,
    },
}

/// The maximum number of progress tokens of requests without a response, and the bytes of one.
const MAX_ENDED_TOKENS: usize = 64;
const MAX_ENDED_TOKEN_BYTES: usize = 1024;

/// The forwarded requests of one upstream connection, by the id of the request to the upstream.
#[derive(Default)]
pub(super) struct ForwardedCalls(Mutex<CallTable>);

#[derive(Default)]
struct CallTable {
    calls: BTreeMap<i64, Arc<ForwardedCall>>,
    /// The replaced tokens, with the ids of their requests.
    tokens: ProgressTokens<i64>,
    /// The clients' tokens of requests that ended without a response, oldest first.
    without_response: VecDeque<RawJson>,
}

impl ForwardedCalls {
    /// Adds a request until the returned value is dropped.
    pub(super) fn add(self: &Arc<Self>, id: i64, call: Arc<ForwardedCall>) -> CallEntry {
        let mut table = lock(&self.0);
        if let Some(CallToken::Unchanged(token)) = &call.progress {
            // The client uses its token again.
            table.without_response.retain(|ended| ended != token);
        }
        table.calls.insert(id, call);
        drop(table);
        CallEntry {
            calls: Arc::clone(self),
            id,
            has_response: false,
        }
    }

    /// Returns a progress token that is unique on the connection, for a request that is added next. Returns `None` if
    /// the request gets no progress.
    pub(super) fn unique_token(&self, id: i64, client_token: &RawJson) -> Option<ProgressToken> {
        lock(&self.0).tokens.insert(client_token, id)
    }

    /// Returns the request with this id.
    pub(super) fn get(&self, id: &RequestId) -> Option<Arc<ForwardedCall>> {
        let id = match id {
            RequestId::Number(id) => *id,
            // Some servers repeat a number as text.
            RequestId::String(text) => text.parse().ok()?,
        };
        lock(&self.0).calls.get(&id).cloned()
    }

    /// Returns the request with this progress token, which is JSON text.
    pub(super) fn with_progress_token(&self, token: &str) -> Option<Arc<ForwardedCall>> {
        let table = lock(&self.0);
        let unique = serde_json::from_str::<ProgressToken>(token).ok();
        if let Some((_, id)) = unique.and_then(|unique| table.tokens.get(&unique)) {
            return table.calls.get(id).cloned();
        }
        let has_token = |call: &&Arc<ForwardedCall>| match &call.progress {
            Some(CallToken::Unchanged(own)) => own.get() == token,
            Some(CallToken::Replaced { .. }) | None => false,
        };
        table.calls.values().find(has_token).cloned()
    }

    /// Returns `true` if a request with this progress token, which is JSON text, was cancelled or ended for another reason
    /// before its response.
    pub(super) fn ended_without_response(&self, token: &str) -> bool {
        let table = lock(&self.0);
        table
            .without_response
            .iter()
            .any(|ended| ended.get() == token)
    }

    /// Returns the subscriptions that a change belongs to.
    pub(super) fn listening_for(&self, change: &Change) -> Vec<Arc<ForwardedCall>> {
        let table = lock(&self.0);
        let accepts = |call: &&Arc<ForwardedCall>| {
            let listening = call.listening.as_ref();
            listening.is_some_and(|listening| listening.accepts(change))
        };
        table.calls.values().filter(accepts).cloned().collect()
    }

    /// Returns the requests without a response, oldest first. Streams are left out unless there is nothing else.
    pub(super) fn open(&self) -> Vec<Arc<ForwardedCall>> {
        let table = lock(&self.0);
        let is_request = |call: &&Arc<ForwardedCall>| !call.is_stream;
        let requests: Vec<_> = table.calls.values().filter(is_request).cloned().collect();
        if requests.is_empty() {
            return table.calls.values().cloned().collect();
        }
        requests
    }
}

/// Returns `true` if requests belong to one client: there is only one request, or all come from one connection.
pub(super) fn is_of_one_client(calls: &[Arc<ForwardedCall>]) -> bool {
    match calls {
        [] => false,
        [_] => true,
        [first, others @ ..] => {
            let is_same = |call: &Arc<ForwardedCall>| call.connection == first.connection;
            first.connection.is_some() && others.iter().all(is_same)
        }
    }
}

impl fmt::Debug for ForwardedCalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(lock(&self.0).calls.keys()).finish()
    }
}

/// The entry of a forwarded request. It is removed on drop.
#[derive(Debug)]
pub(super) struct CallEntry {
    calls: Arc<ForwardedCalls>,
    id: i64,
    has_response: bool,
}

impl CallEntry {
    /// Records that the client gets a response. Without one, the client gets no later progress, because the request was
    /// cancelled.
    pub(super) fn set_response(&mut self) {
        self.has_response = true;
    }
}

impl Drop for CallEntry {
    fn drop(&mut self) {
        let mut table = lock(&self.calls.0);
        let call = table.calls.remove(&self.id);
        let progress = call.as_ref().and_then(|call| call.progress.as_ref());
        match progress {
            Some(CallToken::Replaced { upstream, .. }) => {
                table.tokens.remove(upstream);
            }
            Some(CallToken::Unchanged(token))
                if !self.has_response && token.get().len() <= MAX_ENDED_TOKEN_BYTES =>
            {
                if table.without_response.len() == MAX_ENDED_TOKENS {
                    table.without_response.pop_front();
                }
                table.without_response.push_back(token.clone());
            }
            _ => {}
        }
        // A call has channels to its client, which are dropped outside of the lock.
        drop(table);
        if let Some(call) = &call {
            call.ended.cancel();
        }
        drop(call);
    }
}
