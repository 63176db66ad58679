//! One connection over which both sides send messages: the loop behind stdio and the in-process transport.
//!
//! One reader feeds it, one writer drains it. Whatever needs no handler is answered in the loop, in order; so is every
//! request whose handler is done at its first turn. One that has to wait goes on in a task beside the loop, so that a
//! cancellation reaches it while it runs. Both eras may interleave.

mod held;
mod reader;
mod relay;
mod running;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use toolwire_proto::admit::{self, Admitted, Facts, NotificationAction, Rejection};
use toolwire_proto::envelope::{
    Envelope, NotificationEnvelope, RequestEnvelope, ResponseEnvelope, Unreadable,
};
use toolwire_proto::framing::UnreadableQuota;
use toolwire_proto::requests::{self, ExchangeKey};
use toolwire_proto::{stamp, strict_json};
use toolwire_types::{ErrorObject, RawJson, RequestId, ResponseId};

use crate::engine::exchange::{encode_error, encode_outcome};
use crate::engine::{
    BoxFuture, Caller, Cancellation, ConnectionState, MessageSize, TokenInfo, TransportContext,
};
use crate::server::Server;
use crate::server::dispatch::Dispatch;
use crate::server::hub::Listening;
use crate::server::snapshot::Snapshot;
use crate::transport::batch;
use crate::transport::chunk::Chunk;
use crate::transport::duplex::held::Held;
use crate::transport::duplex::reader::Reader;
use crate::transport::duplex::relay::Relay;
use crate::transport::duplex::running::{Delivery, Finished, RunningRequest, Turn};
use crate::transport::limits::Limits;
use crate::transport::listen::{LegacyListener, ListenStream};
use crate::transport::out_stream::{OutStream, Room};
use crate::transport::outlet::Outlet;
use crate::transport::stdio_context::StdioContext;

/// How long a full house is waited for before a request is refused: bursts of short calls pass.
const OVERLOAD_PATIENCE: Duration = Duration::from_millis(250);

/// The loop of one connection.
pub(crate) struct Duplex {
    server: Server,
    /// That of the messages which are read now.
    context: Arc<StdioContext>,
    limits: Limits,
    quota: UnreadableQuota,
    origin: Instant,
    tasks: JoinSet<()>,
    /// The server as it was when the chunk that is read now came.
    snapshot: Option<Arc<Snapshot>>,
    /// Answers to requests of that chunk.
    held: Held,
    delivery: Arc<Delivery>,
    /// The flag of a request that is done with it.
    spare_flag: Option<Cancellation>,
    listens: HashMap<RequestId, ListenStream>,
    /// The house was full when so many had finished, and nothing was seen to finish since.
    stuck_at: Option<u64>,
    _legacy: Listening,
}

impl Duplex {
    pub(crate) fn new(server: Server, out: Arc<OutStream>, limits: Limits) -> Self {
        Self::opened_by(None, server, out, limits)
    }

    /// A connection of somebody, where tokens say who: then those without one have no scopes.
    pub(crate) fn opened_by(
        token: Option<Arc<TokenInfo>>,
        server: Server,
        out: Arc<OutStream>,
        limits: Limits,
    ) -> Self {
        let state = Arc::new(ConnectionState::with_limit(limits.requests_in_flight));
        let timeout = server.snapshot().options.client_answer_timeout;
        let listener = LegacyListener::new(Arc::clone(&out) as Arc<dyn Outlet>, Arc::clone(&state));
        let delivery = Arc::new(Delivery {
            out: Arc::clone(&out),
            state: Arc::clone(&state),
            finished: Finished::default(),
        });
        Self {
            _legacy: server.hub().listen(Arc::new(listener)),
            context: Arc::new(StdioContext {
                out,
                caller: Arc::new(Caller::new(timeout)),
                state,
                token,
            }),
            quota: UnreadableQuota::new(),
            origin: Instant::now(),
            tasks: JoinSet::new(),
            snapshot: None,
            held: Held::default(),
            delivery,
            spare_flag: None,
            listens: HashMap::new(),
            stuck_at: None,
            server,
            limits,
        }
    }

    /// Serves until the client hangs up, stops reading, or the server shuts down.
    pub(crate) async fn run(self, input: mpsc::Receiver<Chunk>) {
        let relay = Relay::new(Arc::clone(&self.delivery));
        relay.run(Reader::new(self, input)).await;
    }

    /// What is read from now on comes from somebody else.
    fn speaks_for(&mut self, token: Arc<TokenInfo>) {
        self.context = Arc::new(self.context.of(token));
    }

    /// Everything that came together was read.
    fn end_chunk(&mut self) {
        self.release();
        self.snapshot = None;
        // While more input is always ready, nobody else takes finished tasks away, and each keeps its memory until then.
        while self.tasks.try_join_next().is_some() {}
    }

    /// Lets all answers go that are held back.
    fn release(&mut self) {
        self.held.release_to(&self.context.out);
        self.held.set_room(Room::default());
        self.context.out.announce();
    }

    /// Takes what the first turn of a request has led to.
    fn settle(&mut self, request: RunningRequest, turn: Turn) {
        match turn {
            Poll::Ready(answer) => {
                let may_send = self.context.state.finish(request.key);
                drop(request.work);
                self.spare_flag = Some(request.cancellation).filter(Cancellation::is_as_new);
                if let Some(message) = answer.filter(|_| may_send) {
                    self.held.push(request.id, &message);
                }
            }
            Poll::Pending => self.spawn(request),
        }
    }

    /// Lets a request run in a task of its own.
    fn spawn(&mut self, request: RunningRequest) {
        self.tasks
            .spawn(request.answer_to(Arc::clone(&self.delivery)));
    }

    /// Takes in a line; returns the request whose handler is to run.
    async fn on_line(
        &mut self,
        line: &[u8],
        input: &mpsc::Receiver<Chunk>,
    ) -> Option<RunningRequest> {
        if !self.held.has_room() && !self.wait_for_room(input).await {
            return None;
        }
        match strict_json::read(line, &strict_json::Limits::default()) {
            Ok(Envelope::Request(request)) => return self.on_request(&request).await,
            Ok(Envelope::Notification(notification)) => self.on_notification(&notification),
            Ok(Envelope::Response(response)) => self.on_response(response),
            Ok(Envelope::Batch(messages)) => self.on_batch(&messages).await,
            Err(unreadable) => self.refuse_unreadable(unreadable),
        }
        None
    }

    /// A client that sends without reading waits here, not in our memory. False when nobody will read the answer: the
    /// server ends, or the client has hung up and read nothing for as long as a hang-up may take.
    async fn wait_for_room(&mut self, input: &mpsc::Receiver<Chunk>) -> bool {
        self.release();
        while !self.out().has_room_now() {
            tokio::select! {
                biased;
                () = self.out().has_room() => {}
                () = self.server.shutdown().cancelled() => return false,
                () = tokio::time::sleep(self.limits.drain) => {
                    if input.is_closed() {
                        tracing::warn!("the client hung up and left its answers unread");
                        self.out().fail();
                        return false;
                    }
                }
            }
        }
        self.snapshot = None;
        let room = self.out().room();
        self.held.set_room(room);
        !self.out().broken().is_cancelled()
    }

    async fn on_request(&mut self, request: &RequestEnvelope<'_>) -> Option<RunningRequest> {
        match self.admit(request) {
            Err(rejection) => {
                self.answer(encode_error(ResponseId::Id(rejection.id), rejection.error));
            }
            Ok(admitted) if admitted.method.name() == "subscriptions/listen" => {
                self.on_listen(&admitted);
            }
            Ok(admitted) => match self.start(admitted).await {
                Started::Answered(bytes) => self.answer(bytes),
                Started::Running(running) => return Some(running),
            },
        }
        None
    }

    pub(crate) fn admit<'a>(
        &mut self,
        request: &RequestEnvelope<'a>,
    ) -> Result<Admitted<'a>, Rejection> {
        self.with_facts(|facts| admit::admit(request, facts))
    }

    fn with_facts<R>(&mut self, judge: impl FnOnce(&Facts<'_>) -> R) -> R {
        let current = || self.server.snapshot();
        let snapshot = self.snapshot.get_or_insert_with(current);
        judge(&Facts {
            supported: &snapshot.supported,
            lifecycle: self.context.state.lifecycle(),
            headers: None,
            is_custom_method: &|name| snapshot.methods.contains_key(name),
            require_initialized: snapshot.options.require_initialized,
        })
    }

    /// Answers a request on the spot, or prepares the work that will.
    pub(crate) async fn start(&mut self, admitted: Admitted<'_>) -> Started {
        let id = admitted.id.clone();
        let version = admitted.version;
        let refuse = |error| {
            Started::Answered(encode_error(
                ResponseId::Id(id.clone()),
                stamp::stamp_error(error, version),
            ))
        };
        let cancellable = requests::Cancellation::of(admitted.method.name());
        let size = MessageSize {
            bytes: admitted.params.map_or(0, |params| params.get().len()),
            limit: self.limits.bytes_in_flight,
        };
        let context = Arc::clone(&self.context) as Arc<dyn TransportContext>;
        let cancellation = self.spare_flag.take().unwrap_or_default();
        let current = || self.server.snapshot();
        let snapshot = Arc::clone(self.snapshot.get_or_insert_with(current));
        let dispatched = self
            .server
            .open_in(snapshot, &admitted, context, Some(cancellation.clone()))
            .map(|exchange| self.server.dispatch(exchange));
        let work = match dispatched {
            Ok(Dispatch::Later(work)) => work,
            Ok(Dispatch::Now(outcome)) => return Started::Answered(encode_outcome(&id, outcome)),
            Err(error) => return refuse(error),
        };
        match self.begin(&id, cancellable, &cancellation, size).await {
            Ok(key) => Started::Running(RunningRequest {
                id,
                work,
                key,
                cancellation,
            }),
            Err(error) => refuse(error),
        }
    }

    /// Enters a request into the ledger. A full house is given a moment to empty, once: as long as nothing finishes, the
    /// requests after it are refused at once, so that a cancellation behind them is read soon.
    async fn begin(
        &mut self,
        id: &RequestId,
        cancellable: requests::Cancellation,
        cancellation: &Cancellation,
        size: MessageSize,
    ) -> Result<ExchangeKey, ErrorObject> {
        let mut deadline = None;
        loop {
            let finished = self.delivery.finished.count();
            let begun = self
                .context
                .state
                .begin(id, cancellable, cancellation, size);
            let refused = match begun {
                Ok(key) => {
                    self.stuck_at = None;
                    return Ok(key);
                }
                Err(error) => error,
            };
            self.release();
            if self.stuck_at == Some(finished) {
                return Err(refused);
            }
            let deadline = *deadline.get_or_insert_with(|| Instant::now() + OVERLOAD_PATIENCE);
            let freed =
                tokio::time::timeout_at(deadline, self.delivery.finished.more_than(finished));
            self.stuck_at = freed.await.is_err().then_some(finished);
        }
    }

    fn on_listen(&mut self, admitted: &Admitted<'_>) {
        self.held.release_to(&self.context.out);
        let id = admitted.id.clone();
        if self.listens.contains_key(&id) {
            // With the id this would read as the end of the live stream.
            let error = ErrorObject::invalid_params(format!(
                "a subscription with the id {id} is already open"
            ));
            return self.answer(encode_error(ResponseId::Absent, error));
        }
        if self.listens.len() >= self.limits.subscriptions {
            let error = ErrorObject::internal("too many subscriptions are open; cancel some first")
                .with_data(serde_json::json!({ "reason": "overloaded" }));
            return self.answer(encode_error(ResponseId::Id(id), error));
        }
        if let Some(token) = &self.context.token {
            let needed = self.server.snapshot().scopes_for(admitted);
            if let Err(error) = token.check_scopes(&needed) {
                return self.answer(encode_error(ResponseId::Id(id), error));
            }
        }
        match ListenStream::open(
            &self.server,
            admitted,
            Arc::clone(self.out()) as Arc<dyn Outlet>,
        ) {
            Ok(stream) => drop(self.listens.insert(id, stream)),
            Err(error) => self.answer(encode_error(ResponseId::Id(id), error)),
        }
    }

    pub(crate) fn on_notification(&mut self, notification: &NotificationEnvelope<'_>) {
        match self.with_facts(|facts| admit::admit_notification(notification, facts)) {
            NotificationAction::Cancel { request_id, reason } => {
                tracing::debug!(id = %request_id, reason = reason.as_deref(), "cancelled by the client");
                if let Some(stream) = self.listens.remove(&request_id) {
                    stream.silence();
                }
                self.held.withdraw(&request_id);
                self.context.state.cancel(&request_id);
                // What was cancelled is about to finish.
                self.stuck_at = None;
            }
            NotificationAction::Initialized => self.context.state.initialized(),
            _ => tracing::debug!(method = %notification.method, "a notification nobody needs"),
        }
    }

    pub(crate) fn on_response(&self, response: ResponseEnvelope<'_>) {
        self.context
            .caller
            .resolve(&response.id, response.outcome.map(RawJson::from));
    }

    async fn on_batch(&mut self, messages: &[&serde_json::value::RawValue]) {
        match batch::start(self, messages).await {
            Ok(Some(work)) => {
                let out = Arc::clone(self.out());
                let deliver: BoxFuture<'_, ()> = Box::pin(async move {
                    if let Some(bytes) = work.await {
                        out.push_response(bytes).await;
                    }
                });
                self.tasks.spawn(deliver);
            }
            Ok(None) => {}
            Err(unreadable) => self.refuse_unreadable(unreadable),
        }
    }

    /// Answers bytes that were no message. A peer that floods us with them is ignored after a while, so that two
    /// programs that log into each other's input cannot keep each other busy.
    fn refuse_unreadable(&mut self, unreadable: Unreadable) {
        let id = match unreadable.id {
            Some(id) => ResponseId::Id(id),
            None if self.quota.take(self.origin.elapsed()) => {
                stamp::unreadable_id(self.context.state.version())
            }
            None => return,
        };
        self.answer(encode_error(id, unreadable.error));
    }

    fn answer(&mut self, bytes: Vec<u8>) {
        self.held.push_past(&self.context.out, bytes);
    }

    fn out(&self) -> &Arc<OutStream> {
        &self.context.out
    }

    pub(crate) fn state(&self) -> &Arc<ConnectionState> {
        &self.context.state
    }

    pub(crate) fn delivery(&self) -> &Arc<Delivery> {
        &self.delivery
    }
}

/// Whatever ends a connection, being dropped or a panic, nobody waits for more of it.
impl Drop for Duplex {
    fn drop(&mut self) {
        self.context.out.close();
    }
}

fn too_long(limit: usize) -> Unreadable {
    Unreadable {
        error: ErrorObject::invalid_request(format!("the message is longer than {limit} bytes")),
        id: None,
    }
}

/// A request after its start.
pub(crate) enum Started {
    /// The answer is here.
    Answered(Vec<u8>),
    /// A handler works on it.
    Running(RunningRequest),
}
