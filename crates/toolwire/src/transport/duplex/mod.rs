//! The message loop of a bidirectional connection: stdio and the in-process transport.
//!
//! One reader feeds the loop, one writer drains its queue. The loop responds in order to messages that need no handler,
//! and to requests whose handler is ready at the first poll. Every other request becomes a task, so that a cancellation
//! reaches it while it runs. Requests of both eras may interleave.

mod backpressure;
mod batch_budget;
mod event_streams;
mod listening;
mod notifications;
mod open_listen;
mod reader;
// Its tools have schemas of their own.
#[cfg(all(test, feature = "schema-validation"))]
mod report_tests;
mod response_buffer;
mod running;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::task::Poll;

use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use toolwire_proto::admit::{self, AdmissionContext, Admitted, Rejection};
use toolwire_proto::envelope::{Envelope, MalformedMessage, RequestEnvelope, ResponseEnvelope};
use toolwire_proto::framing::ParseErrorQuota;
use toolwire_proto::requests;
use toolwire_proto::{stamp, strict_json};
use toolwire_types::{ErrorObject, ProtocolVersion, RawJson, RequestId, ResponseId};

use crate::engine::encoding::{encode_error, encode_outcome};
use crate::engine::{
    BoxFuture, Cancellation, ClientRequests, ConnectionInfo, ConnectionState, MessageSize, Outcome,
    TokenInfo, TransportContext,
};
use crate::server::Server;
use crate::server::dispatch::Dispatch;
use crate::server::hub::{ClientGuard, ListenerGuard};
use crate::server::snapshot::Snapshot;
use crate::transport::batch;
use crate::transport::chunk::{Chunk, ChunkSender};
use crate::transport::duplex::backpressure::Backpressure;
use crate::transport::duplex::batch_budget::BatchBudget;
use crate::transport::duplex::event_streams::EventStreams;
use crate::transport::duplex::open_listen::{ForwardedListen, OpenListen};
use crate::transport::duplex::reader::LineReader;
use crate::transport::duplex::response_buffer::ResponseBuffer;
pub(crate) use crate::transport::duplex::running::HandlerFuture;
use crate::transport::duplex::running::{
    CompletionCounter, LedgerEntry, ResponseSink, RunningRequest, StartingRequest,
};
use crate::transport::limits::Limits;
use crate::transport::listen::LegacyListener;
use crate::transport::outgoing_queue::{Capacity, MessageSink, OutgoingQueue};
use crate::transport::stdio_context::StdioContext;

/// The message loop of one connection.
pub(crate) struct MessageLoop {
    server: Server,
    /// The context of the messages that are read now.
    context: Arc<StdioContext>,
    limits: Limits,
    quota: ParseErrorQuota,
    origin: Instant,
    tasks: JoinSet<()>,
    /// The snapshot of the server for the current chunk.
    snapshot: Option<Arc<Snapshot>>,
    /// The buffered responses of the current chunk.
    responses: ResponseBuffer,
    /// The request of the current or next first poll.
    starting: Option<StartingRequest>,
    /// The reason to wait before more is read.
    waiting: Option<Backpressure>,
    response_sink: Arc<ResponseSink>,
    /// A cancellation flag that can be reused.
    spare_cancellation: Option<Cancellation>,
    listen_streams: HashMap<RequestId, OpenListen>,
    event_streams: EventStreams,
    /// The subscriptions that the server forwards. They have no end of their own.
    forwarded_subscriptions: Vec<ForwardedListen>,
    /// Number of completed requests at the last overload. If unchanged, the connection is still overloaded.
    completed_at_overload: Option<u64>,
    /// The bytes of the responses of unfinished batches.
    batch_bytes: Arc<AtomicUsize>,
    _legacy: ListenerGuard,
    _client: ClientGuard,
}

impl MessageLoop {
    pub(crate) fn new(server: Server, out: Arc<OutgoingQueue>, limits: Limits) -> Self {
        Self::create(None, None, server, out, limits)
    }

    /// Creates the loop of a connection over standard input and output.
    pub(crate) fn on_stdio(server: Server, out: Arc<OutgoingQueue>, limits: Limits) -> Self {
        Self::create(None, Some(ConnectionInfo::stdio()), server, out, limits)
    }

    /// Creates the loop of a connection that uses tokens. Without a token, the client has no scopes.
    #[cfg(feature = "http-server")]
    pub(crate) fn with_token(
        token: Option<Arc<TokenInfo>>,
        server: Server,
        out: Arc<OutgoingQueue>,
        limits: Limits,
    ) -> Self {
        Self::create(token, None, server, out, limits)
    }

    fn create(
        token: Option<Arc<TokenInfo>>,
        info: Option<&'static ConnectionInfo>,
        server: Server,
        out: Arc<OutgoingQueue>,
        limits: Limits,
    ) -> Self {
        let state = Arc::new(ConnectionState::with_limit(limits.requests_in_flight));
        let timeout = server.snapshot().options.client_response_timeout;
        let listener = LegacyListener::new(
            Arc::clone(&out) as Arc<dyn MessageSink>,
            Arc::clone(&state),
            &server,
            (token.clone(), token.is_some()),
        );
        let response_sink = Arc::new(ResponseSink {
            out: Arc::clone(&out),
            state: Arc::clone(&state),
            finished: CompletionCounter::default(),
        });
        let context = Arc::new(StdioContext {
            out,
            client_requests: Arc::new(ClientRequests::new(timeout)),
            state,
            token,
            info,
            permit: None,
        });
        let client = Arc::clone(&context) as Arc<dyn TransportContext>;
        Self {
            _legacy: server.hub().listen(Arc::new(listener)),
            _client: server.hub().connect(client),
            context,
            quota: ParseErrorQuota::new(),
            origin: Instant::now(),
            tasks: JoinSet::new(),
            snapshot: None,
            responses: ResponseBuffer::default(),
            starting: None,
            waiting: None,
            response_sink,
            spare_cancellation: None,
            listen_streams: HashMap::new(),
            event_streams: EventStreams::default(),
            forwarded_subscriptions: Vec::new(),
            completed_at_overload: None,
            batch_bytes: Arc::default(),
            server,
            limits,
        }
    }

    /// Serves until the client disconnects or stops reading, or the server shuts down.
    ///
    /// # Cancellation
    /// Dropping the future closes the connection at once.
    pub(crate) async fn run(self, input: mpsc::Receiver<Chunk>) {
        self.server.start_tasks();
        LineReader::new(self, input).run().await;
    }

    /// Sets the sender of the next chunk.
    fn set_sender(&mut self, sender: ChunkSender) {
        let ChunkSender { token, permit } = sender;
        self.context = Arc::new(self.context.with_sender(Some(token), permit));
    }

    /// Ends the current chunk.
    fn end_chunk(&mut self) {
        self.release();
        self.snapshot = None;
        if self.context.permit.is_some() {
            // Requests that still run hold the old context, and with it the permit.
            let token = self.context.token.clone();
            self.context = Arc::new(self.context.with_sender(token, None));
        }
        // While more input is always ready, nothing else removes finished tasks, and each retains its memory until
        // then.
        while self.tasks.try_join_next().is_some() {}
    }

    /// Queues all buffered responses and wakes the writer.
    fn release(&mut self) {
        self.responses.flush_to(&self.context.out);
        self.responses.set_capacity(Capacity::default());
        self.context.out.wake_writer();
    }

    /// Handles the first poll of the starting request.
    fn on_first_poll(&mut self, work: HandlerFuture, polled: Poll<Outcome>) {
        let Poll::Ready(outcome) = polled else {
            return self.spawn(work);
        };
        drop(work);
        let request = self.take_started();
        let message = encode_outcome(&request.id, outcome);
        self.responses.push(request.id, &message);
        self.spare_cancellation = Some(request.cancellation).filter(Cancellation::is_reusable);
    }

    /// Runs the starting request in its own task.
    fn spawn(&mut self, work: HandlerFuture) {
        let request = self.start_running(work);
        self.tasks
            .spawn(request.respond_to(Arc::clone(&self.response_sink)));
    }

    /// Returns the starting request as a running request, for the caller to run.
    pub(crate) fn start_running(&mut self, work: HandlerFuture) -> RunningRequest {
        RunningRequest::new(self.enter(), work)
    }

    /// Enters the starting request into the ledger.
    fn enter(&mut self) -> LedgerEntry {
        self.take_started().enter(&self.context.state)
    }

    fn take_started(&mut self) -> StartingRequest {
        let started = self.starting.take();
        started.expect("only a started request is polled")
    }

    /// Returns `true` if a line may be read now. Otherwise the loop has to wait first.
    fn may_read(&mut self) -> bool {
        if !self.responses.has_capacity() {
            self.waiting.get_or_insert(Backpressure::QueueFull);
        }
        self.waiting.is_none()
    }

    /// Handles a line, and returns the work to be polled.
    fn on_line(&mut self, line: &[u8]) -> Option<HandlerFuture> {
        let read = strict_json::read(line, &strict_json::Limits::default());
        if let Ok(Envelope::Request(request)) = &read {
            return self.on_request(request);
        }
        self.on_other(read)
    }

    /// Handles messages other than requests.
    #[cold]
    fn on_other(&mut self, read: Result<Envelope<'_>, MalformedMessage>) -> Option<HandlerFuture> {
        match read {
            Ok(Envelope::Request(request)) => return self.on_request(&request),
            Ok(Envelope::Notification(notification)) => self.on_notification(&notification),
            Ok(Envelope::Response(response)) => self.on_response(response),
            Ok(Envelope::Batch(messages)) => {
                let messages = messages.into_iter().map(ToOwned::to_owned);
                self.waiting = Some(Backpressure::Batch(messages.collect()));
            }
            Err(unreadable) => self.reject_malformed(unreadable),
        }
        None
    }

    fn on_request(&mut self, request: &RequestEnvelope<'_>) -> Option<HandlerFuture> {
        match self.admit(request) {
            Err(rejection) => {
                self.respond(encode_error(ResponseId::Id(rejection.id), rejection.error));
            }
            Ok(admitted)
                if admitted.method.name() == "subscriptions/listen" && !self.forwards() =>
            {
                self.on_listen(&admitted);
            }
            Ok(admitted) if EventStreams::serves(admitted.method.name()) => {
                self.on_event_stream(&admitted);
            }
            Ok(admitted) => match self.start(&admitted) {
                StartResult::Finished(bytes) => self.respond(bytes),
                StartResult::Ready(work) => return Some(work),
                StartResult::Full(work) => self.waiting = Some(Backpressure::PermitNeeded(work)),
            },
        }
        None
    }

    /// Returns `true` if the server forwards all messages.
    fn forwards(&mut self) -> bool {
        let current = || self.server.snapshot();
        self.snapshot.get_or_insert_with(current).forwards()
    }

    pub(crate) fn admit<'a>(
        &mut self,
        request: &'a RequestEnvelope<'a>,
    ) -> Result<Admitted<'a>, Rejection> {
        self.with_context(|context| admit::admit(request, context))
    }

    fn with_context<R>(&mut self, admit: impl FnOnce(&AdmissionContext<'_>) -> R) -> R {
        let current = || self.server.snapshot();
        let snapshot = self.snapshot.get_or_insert_with(current);
        admit(&AdmissionContext {
            supported: &snapshot.supported,
            lifecycle: self.context.state.lifecycle(),
            headers: None,
            is_custom_method: &|name| snapshot.is_custom_method(name),
            is_custom_notification: &|name| snapshot.is_custom_notification(name),
            require_initialized: snapshot.options.require_initialized,
        })
    }

    /// Responds to a request at once, or prepares its handler. In the second case it becomes the starting request.
    #[inline]
    pub(crate) fn start(&mut self, admitted: &Admitted<'_>) -> StartResult {
        let context = Arc::clone(&self.context) as Arc<dyn TransportContext>;
        let cancellation = self.spare_cancellation.take().unwrap_or_default();
        let current = || self.server.snapshot();
        let snapshot = Arc::clone(self.snapshot.get_or_insert_with(current));
        let opened = Server::open_in(snapshot, admitted, context, Some(cancellation.clone()));
        let work = match opened.map(|exchange| self.server.dispatch(exchange)) {
            Ok(Dispatch::Later(work)) => work,
            Ok(Dispatch::Now(outcome)) => {
                return StartResult::Finished(encode_outcome(admitted.id, outcome));
            }
            Err(error) => {
                return StartResult::Finished(error_response(
                    admitted.id.clone(),
                    error,
                    admitted.version,
                ));
            }
        };
        if admitted.method.name() == "subscriptions/listen" {
            let open = &mut self.forwarded_subscriptions;
            open.retain(ForwardedListen::is_open);
            open.push(ForwardedListen {
                id: admitted.id.clone(),
                version: admitted.version,
                cancellation: cancellation.clone(),
            });
        }
        let size = MessageSize {
            bytes: admitted.params().map_or(0, |params| params.get().len()),
            limit: self.limits.bytes_in_flight,
        };
        self.starting = Some(StartingRequest {
            id: admitted.id.clone(),
            version: admitted.version,
            cancellable: requests::CancelPolicy::of(admitted.method.name()),
            cancellation,
            size,
        });
        match self.context.state.check_capacity(size) {
            Ok(()) => {
                self.completed_at_overload = None;
                StartResult::Ready(work)
            }
            Err(_) => StartResult::Full(work),
        }
    }

    pub(crate) fn on_response(&self, response: ResponseEnvelope<'_>) {
        self.context
            .client_requests
            .resolve(&response.id, response.outcome.map(RawJson::from));
    }

    async fn on_batch(&mut self, messages: &[Box<RawValue>]) {
        match batch::start(self, messages).await {
            Ok(Some(batch)) => {
                let deliver: BoxFuture<'_, ()> = Box::pin(batch.respond_to(Arc::clone(self.out())));
                self.tasks.spawn(deliver);
            }
            Ok(None) => {}
            Err(unreadable) => self.reject_malformed(unreadable),
        }
    }

    /// Responds to malformed messages. After too many of them the peer is ignored, so that two programs that log into
    /// each other's input do not loop.
    #[cold]
    fn reject_malformed(&mut self, unreadable: MalformedMessage) {
        let id = match unreadable.id {
            Some(id) => ResponseId::Id(id),
            None if self.quota.take(self.origin.elapsed()) => {
                stamp::unreadable_id(self.context.state.version())
            }
            None => return,
        };
        self.respond(encode_error(id, unreadable.error));
    }

    fn respond(&mut self, bytes: Vec<u8>) {
        self.responses.flush_and_push(&self.context.out, bytes);
    }

    /// Returns an empty budget for the responses of one batch.
    pub(crate) fn batch_budget(&self) -> BatchBudget {
        BatchBudget::new(&self.batch_bytes, self.limits.bytes_in_flight)
    }

    fn out(&self) -> &Arc<OutgoingQueue> {
        &self.context.out
    }

    pub(crate) fn state(&self) -> &Arc<ConnectionState> {
        &self.context.state
    }

    pub(crate) fn response_sink(&self) -> &Arc<ResponseSink> {
        &self.response_sink
    }
}

/// Closes the queue in every case, including a panic, so that the writer ends.
impl Drop for MessageLoop {
    fn drop(&mut self) {
        self.context.out.close();
        self.context.state.close();
    }
}

fn too_long(limit: usize) -> MalformedMessage {
    MalformedMessage {
        error: ErrorObject::invalid_request(format!("the message is longer than {limit} bytes")),
        id: None,
    }
}

fn error_response(id: RequestId, error: ErrorObject, version: ProtocolVersion) -> Vec<u8> {
    encode_error(ResponseId::Id(id), stamp::stamp_error(error, version))
}

/// The result of starting a request.
pub(crate) enum StartResult {
    /// The response is complete.
    Finished(Vec<u8>),
    /// The handler has to be polled.
    Ready(HandlerFuture),
    /// The handler has to wait for [a permit](MessageLoop::wait_for_permit).
    Full(HandlerFuture),
}
