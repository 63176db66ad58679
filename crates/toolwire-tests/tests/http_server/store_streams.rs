//! Resumable streams whose event log fails: every request gets a response, an error, or a broken connection that the
//! client resumes.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http_body::Body as _;
use http_body_util::BodyExt as _;
use serde_json::Value;
use tokio::time::{Instant, timeout};
use toolwire::store::contract::{Fault, Faulty};
use toolwire::store::{
    Bus as _, BusMessage, BusPayload, EventLog as _, MemoryBus, MemoryEventLog,
    MemoryEventLogLimits, MemorySessionStore, SessionStore,
};
use toolwire::transport::http::{HttpLimits, HttpOptions, HttpService, ServerBody};
use toolwire::{Change, Principal};
use toolwire_tests::http::direct::{InProcessClient, in_session};
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::http::events::End;
use toolwire_tests::http::fixture::{Fixture, HandlerEvent};
use toolwire_tests::http::request::Request;
use toolwire_tests::http::session::{Session, tool_call_with_token};
use toolwire_tests::peer::{cancel, result_response, text};

const VERSION: &str = "2025-11-25";

/// The stores of a service.
#[derive(Default)]
struct Shared {
    sessions: Arc<MemorySessionStore>,
    events: Arc<MemoryEventLog>,
    bus: Arc<MemoryBus>,
}

/// A node whose connections to the stores can fail.
struct Node {
    fixture: Fixture,
    client: InProcessClient,
    sessions: Arc<Faulty<MemorySessionStore>>,
    events: Arc<Faulty<MemoryEventLog>>,
}

impl Shared {
    fn node(&self) -> Node {
        let mut limits = HttpLimits::default();
        limits.quiet_period = Duration::ZERO;
        let sessions = Arc::new(Faulty::new(Arc::clone(&self.sessions)));
        let events = Arc::new(Faulty::new(Arc::clone(&self.events)));
        let options = HttpOptions::new()
            .with_limits(limits)
            .with_session_store(Arc::clone(&sessions) as Arc<dyn SessionStore>)
            .with_event_log(events.clone())
            .with_bus(self.bus.clone());
        let fixture = Fixture::new();
        let service = HttpService::new(fixture.server.clone(), options);
        Node {
            client: InProcessClient::new(&service),
            fixture,
            sessions,
            events,
        }
    }
}

impl Node {
    /// Lets all calls of the event log fail that a writer needs.
    fn lose_writes(&self) {
        for method in ["open", "append"] {
            self.events.inject(method, Fault::Error, usize::MAX);
        }
    }

    /// Posts a message whose response is a stream, and reads the first event, which has no message.
    async fn stream(&self, session: &str, message: &Value) -> Stream {
        let mut stream = self.open(in_session(session, message)).await;
        stream.next().await.unwrap();
        stream
    }

    /// Starts the tool `wait` and returns its stream.
    async fn start_waiting(&mut self, session: &str) -> Stream {
        let call = tool_call_with_token(1, "wait", "t");
        let stream = self.stream(session, &call).await;
        self.fixture.expect(HandlerEvent::Started).await;
        stream
    }

    async fn resume(&self, session: &str, last: &str) -> Stream {
        let request = Request::get(session, VERSION).with("Last-Event-ID", last);
        self.open(request).await
    }

    async fn open(&self, request: Request) -> Stream {
        let response = self.client.send(request).await;
        assert_eq!(response.status(), 200);
        Stream::new(response.into_body())
    }
}

/// The events of one response.
pub(crate) struct Stream {
    body: Pin<Box<ServerBody>>,
    received: VecDeque<(String, String)>,
    /// The id of the last event.
    pub(crate) last_id: String,
}

/// How a stream ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Complete,
    Broken,
}

impl Stream {
    pub(crate) fn new(body: ServerBody) -> Self {
        Self {
            body: Box::pin(body),
            received: VecDeque::new(),
            last_id: String::new(),
        }
    }

    /// Returns the data of the next event.
    pub(crate) async fn next(&mut self) -> Result<String, Ended> {
        loop {
            if let Some((id, data)) = self.received.pop_front() {
                assert_ne!(id, self.last_id, "an event is sent once");
                self.last_id = id;
                return Ok(data);
            }
            let chunk = self.chunk().await?;
            let mut id = None;
            for line in chunk.lines() {
                if let Some(value) = line.strip_prefix("id: ") {
                    id = Some(value.to_owned());
                } else if let Some(data) = line.strip_prefix("data:") {
                    let id = id.take().expect("every event has an id");
                    self.received.push_back((id, data.trim().to_owned()));
                }
            }
        }
    }

    /// Returns the next bytes.
    async fn chunk(&mut self) -> Result<String, Ended> {
        let frame = poll_fn(|cx| self.body.as_mut().poll_frame(cx)).await;
        let chunk = match frame {
            None => return Err(Ended::Complete),
            Some(Err(_)) => return Err(Ended::Broken),
            Some(Ok(frame)) => frame.into_data().expect("there are no trailers"),
        };
        Ok(String::from_utf8(chunk.to_vec()).unwrap())
    }

    async fn message(&mut self) -> Value {
        let next = timeout(Duration::from_secs(60), self.next()).await;
        let next = next.expect("the client does not wait for ever");
        serde_json::from_str(&next.expect("the stream is open")).unwrap()
    }

    async fn expect_progress(&mut self, step: u64) {
        let message = self.message().await;
        assert_eq!(message["params"]["progress"], step, "{message}");
    }

    /// Expects the rest of the tool `wait` after a number of steps.
    async fn expect_rest(&mut self, steps: u64) {
        for step in steps + 1..=2 {
            self.expect_progress(step).await;
        }
        assert_eq!(self.message().await, result_response(1, text("waited")));
        self.expect_end(Ended::Complete).await;
    }

    async fn expect_end(&mut self, end: Ended) {
        let next = timeout(Duration::from_secs(60), self.next()).await;
        assert_eq!(next, Ok(Err(end)));
    }
}

#[tokio::test(start_paused = true)]
async fn failed_append_is_repeated() {
    for fault in [Fault::Error, Fault::LostReply, Fault::Twice, Fault::Hang] {
        for failing in 0..3 {
            let mut node = Shared::default().node();
            let session = node.client.open_session().await;
            let mut stream = node.start_waiting(&session).await;
            for step in 1..=2 {
                if step == failing {
                    node.events.inject("append", fault, 1);
                }
                node.fixture.step();
                stream.expect_progress(step).await;
            }
            if failing == 0 {
                node.events.inject("append", fault, 1);
            }
            stream.expect_rest(2).await;
            assert!(stream.last_id.ends_with(".3"), "{}", stream.last_id);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn handler_goes_on_while_the_log_fails() {
    let mut node = Shared::default().node();
    let session = node.client.open_session().await;
    let mut stream = node.start_waiting(&session).await;
    node.lose_writes();
    node.fixture.step();
    tokio::time::sleep(Duration::from_secs(1)).await;
    node.fixture.step();
    node.fixture.expect(HandlerEvent::Finished).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    node.events.heal();
    stream.expect_rest(0).await;
}

#[tokio::test(start_paused = true)]
async fn stream_is_broken_off_while_the_log_fails_and_can_be_resumed() {
    let shared = Shared::default();
    let mut a = shared.node();
    let b = shared.node();
    let session = a.client.open_session().await;
    let mut stream = a.start_waiting(&session).await;
    a.fixture.step();
    stream.expect_progress(1).await;
    a.lose_writes();
    let before = Instant::now();
    a.fixture.step();
    stream.expect_end(Ended::Broken).await;
    let waited = before.elapsed().as_secs();
    assert!((5..8).contains(&waited), "{waited} s");
    // The response is stored when the log works again.
    let mut stream = b.resume(&session, &stream.last_id).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    a.events.heal();
    stream.expect_rest(1).await;
}

#[tokio::test(start_paused = true)]
async fn stream_of_a_lost_node_ends_with_an_error() {
    let shared = Shared::default();
    let mut a = shared.node();
    let b = shared.node();
    let session = a.client.open_session().await;
    let mut stream = a.start_waiting(&session).await;
    a.fixture.step();
    stream.expect_progress(1).await;
    // The node cannot reach the log any more.
    a.lose_writes();
    let lost = Instant::now();
    let mut resumed = b.resume(&session, &stream.last_id).await;
    let resuming = async {
        let error = resumed.message().await;
        assert_eq!(error["id"], 1, "{error}");
        assert_eq!(error["error"]["code"], -32603, "{error}");
        resumed.expect_end(Ended::Complete).await;
        let waited = lost.elapsed().as_secs();
        assert!((20..=31).contains(&waited), "{waited} s");
        // The node comes back, and cannot write to the stream of its request any more.
        a.events.heal();
        error
    };
    let (error, received) = tokio::join!(resuming, stream.message());
    assert_eq!(
        received, error,
        "a reader on the node gets the same response"
    );
    stream.expect_end(Ended::Complete).await;
    a.fixture.step();
    a.fixture.expect(HandlerEvent::Finished).await;
    let again = Request::get(&session, VERSION).with("Last-Event-ID", &resumed.last_id);
    assert_eq!(b.client.send(again).await.status(), 204);
}

#[tokio::test(start_paused = true)]
async fn silent_handler_keeps_its_stream() {
    let shared = Shared::default();
    let mut a = shared.node();
    let b = shared.node();
    let session = a.client.open_session().await;
    let mut stream = a.start_waiting(&session).await;
    a.fixture.step();
    stream.expect_progress(1).await;
    let mut stream = b.resume(&session, &stream.last_id).await;
    assert!(
        timeout(Duration::from_secs(120), stream.next())
            .await
            .is_err()
    );
    a.fixture.step();
    stream.expect_rest(1).await;
}

#[tokio::test(start_paused = true)]
async fn entries_that_the_log_has_lost_are_stored_again() {
    let shared = Shared::default();
    let mut a = shared.node();
    let b = shared.node();
    let session = a.client.open_session().await;
    let mut stream = a.start_waiting(&session).await;
    let first = stream.last_id.clone();
    a.fixture.step();
    stream.expect_progress(1).await;
    let owner = Principal::anonymous();
    let removed = shared.events.remove_session(&owner, &session).await;
    removed.unwrap();
    a.fixture.step();
    stream.expect_rest(1).await;
    let mut resumed = b.resume(&session, &first).await;
    resumed.expect_rest(0).await;
}

#[tokio::test(start_paused = true)]
async fn connection_on_another_node_is_broken_off_when_its_next_event_was_evicted() {
    let limits = MemoryEventLogLimits::default().with_events_per_stream(1);
    let shared = Shared {
        events: Arc::new(MemoryEventLog::new(limits)),
        ..Shared::default()
    };
    let mut a = shared.node();
    let b = shared.node();
    let session = a.client.open_session().await;
    let stream = a.start_waiting(&session).await;
    let mut resumed = b.resume(&session, &stream.last_id).await;
    a.fixture.step();
    resumed.expect_progress(1).await;
    // The log has only the response when this client reads again.
    a.fixture.step();
    a.fixture.expect(HandlerEvent::Finished).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    resumed.expect_end(Ended::Broken).await;
    let again = Request::get(&session, VERSION).with("Last-Event-ID", &resumed.last_id);
    let rejection = b.client.send(again).await;
    assert_eq!(rejection.status(), 400);
    let body = rejection.into_body().collect().await.unwrap().to_bytes();
    let body = String::from_utf8(body.to_vec()).unwrap();
    assert!(
        body.contains("the event of Last-Event-ID is not stored"),
        "{body}"
    );
}

#[tokio::test(start_paused = true)]
async fn cancelled_request_ends_its_stream_although_the_log_fails() {
    let mut node = Shared::default().node();
    let session = node.client.open_session().await;
    let mut stream = node.start_waiting(&session).await;
    node.events.inject("append", Fault::LostReply, 2);
    let cancelled = node.client.send(in_session(&session, &cancel(1))).await;
    assert_eq!(cancelled.status(), 202);
    node.fixture.expect(HandlerEvent::Dropped).await;
    stream.expect_end(Ended::Complete).await;
}

#[tokio::test(start_paused = true)]
async fn failed_read_is_repeated_before_the_connection_is_broken_off() {
    let shared = Shared::default();
    let mut a = shared.node();
    let b = shared.node();
    let session = a.client.open_session().await;
    let stream = a.start_waiting(&session).await;
    let mut resumed = b.resume(&session, &stream.last_id).await;
    b.events.inject("read_after", Fault::Error, 3);
    a.fixture.step();
    resumed.expect_progress(1).await;
    b.events.inject("read_after", Fault::Error, usize::MAX);
    a.fixture.step();
    resumed.expect_end(Ended::Broken).await;
    b.events.heal();
    let mut resumed = b.resume(&session, &resumed.last_id).await;
    resumed.expect_rest(1).await;
}

#[tokio::test(start_paused = true)]
async fn streamed_call_reads_no_event_back() {
    let node = Shared::default().node();
    let session = node.client.open_session().await;
    // A node that has just joined the bus loads the sessions of its open streams.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let loads = node.sessions.calls("load");
    let mut stream = node
        .stream(&session, &tool_call_with_token(1, "steps", "t"))
        .await;
    stream.expect_progress(1).await;
    stream.expect_progress(2).await;
    assert_eq!(stream.message().await, result_response(1, text("stepped")));
    stream.expect_end(Ended::Complete).await;
    assert_eq!(node.sessions.calls("load") - loads, 1);
    let calls = ["open", "append", "read_after"].map(|method| node.events.calls(method));
    assert_eq!(calls, [1, 1, 0]);
}

#[tokio::test(start_paused = true)]
async fn open_stream_without_messages_stays_in_the_log() {
    let node = Shared::default().node();
    let session = node.client.open_session().await;
    let mut stream = node.open(Request::get(&session, VERSION)).await;
    stream.next().await.unwrap();
    let before = Instant::now();
    while before.elapsed() < Duration::from_secs(60 * 60) {
        stream.chunk().await.unwrap();
    }
    let last = stream.last_id.clone();
    drop(stream);
    node.resume(&session, &last).await;
}

#[tokio::test(start_paused = true)]
async fn sessions_with_open_streams_are_renewed_together() {
    let node = Shared::default().node();
    let mut streams = Vec::new();
    let mut sessions = Vec::new();
    for _ in 0..20 {
        let session = node.client.open_session().await;
        streams.push(node.open(Request::get(&session, VERSION)).await);
        sessions.push(session);
    }
    // The default with a store.
    let idle = Duration::from_secs(3600);
    let calls = || {
        let events = node.events.calls("read_after");
        let sessions = ["touch", "touch_many", "load"].map(|method| node.sessions.calls(method));
        (events, sessions)
    };
    let (events, [touches, _, loads]) = calls();
    let before = Instant::now();
    let interval = Duration::from_secs(300);
    // Not a multiple of the interval.
    while before.elapsed() < idle * 2 - interval / 2 {
        for stream in &mut streams {
            stream.chunk().await.unwrap();
        }
    }
    let renewals = usize::try_from(before.elapsed().as_secs() / interval.as_secs()).unwrap();
    assert_eq!(calls(), (events, [touches, renewals, loads]));
    for session in &sessions {
        assert_eq!(node.client.ping(session).await, 200);
    }
}

#[tokio::test(start_paused = true)]
async fn changes_reach_an_open_stream_without_the_log() {
    let node = Shared::default().node();
    let session = node.client.open_session().await;
    let mut stream = node.open(Request::get(&session, VERSION)).await;
    stream.next().await.unwrap();
    node.lose_writes();
    node.events.inject("read_after", Fault::Error, usize::MAX);
    node.sessions.inject("touch_many", Fault::Error, usize::MAX);
    let calls = ["append", "read_after"].map(|method| node.events.calls(method));
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_secs(20)).await;
        node.fixture.server.tools_changed();
        loop {
            let chunk = timeout(Duration::from_secs(60), stream.chunk()).await;
            let chunk = chunk
                .expect("the client is notified")
                .expect("an open stream");
            if chunk.contains("notifications/tools/list_changed") {
                break;
            }
        }
    }
    let later = ["append", "read_after"].map(|method| node.events.calls(method));
    assert_eq!(later, calls, "changes are not stored");
}

#[tokio::test]
async fn broken_off_response_is_not_complete() {
    let mut limits = HttpLimits::default();
    limits.quiet_period = Duration::ZERO;
    let events = Arc::new(Faulty::new(Arc::<MemoryEventLog>::default()));
    let options = HttpOptions::new()
        .with_limits(limits)
        .with_event_log(events.clone());
    let mut fixture = Fixture::new();
    let endpoint = Endpoint::serve_with(&fixture.server, options).await;
    let session = Session::open(&endpoint, VERSION).await;
    let mut stream = session.stream(&tool_call_with_token(1, "wait", "t")).await;
    stream.next().await.unwrap();
    fixture.expect(HandlerEvent::Started).await;
    events.inject("append", Fault::Error, usize::MAX);
    fixture.step();
    assert_eq!(stream.next().await, Err(End::Disconnected));
    events.heal();
    let last = stream.last_id.clone().unwrap();
    let mut stream = session.resume(&last).await;
    assert_eq!(stream.message().await["params"]["progress"], 1);
    fixture.step();
    assert_eq!(stream.message().await["params"]["progress"], 2);
    stream.expect(result_response(1, text("waited"))).await;
    stream.expect_end().await;
}

/// Publishes more messages at once than a subscription of the bus may be behind.
async fn lose_bus_messages(shared: &Shared) {
    let change = BusPayload::Change(Change::Task("task".to_owned()));
    let messages = vec![BusMessage::new("other", change); 2000];
    shared.bus.publish_all(&messages).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn session_whose_deletion_was_not_received_ends_when_messages_were_lost() {
    let shared = Shared::default();
    let node = shared.node();
    let session = node.client.open_session().await;
    let mut stream = node.open(Request::get(&session, VERSION)).await;
    stream.next().await.unwrap();
    let owner = Principal::anonymous();
    assert!(shared.sessions.delete(&session, &owner).await.unwrap());
    // The store is away when the loss is noticed.
    node.sessions.inject("load", Fault::Error, 3);
    let lost = Instant::now();
    lose_bus_messages(&shared).await;
    // The client is notified of everything that may have changed before.
    let end = loop {
        if let Err(end) = stream.chunk().await {
            break end;
        }
    };
    assert_eq!(end, Ended::Complete);
    assert!(lost.elapsed() < Duration::from_secs(10), "{lost:?}");
}

#[tokio::test(start_paused = true)]
async fn losses_load_the_sessions_of_open_streams_one_after_the_other() {
    let shared = Shared::default();
    let node = shared.node();
    let session = node.client.open_session().await;
    let mut stream = node.open(Request::get(&session, VERSION)).await;
    stream.next().await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let before = node.sessions.calls("load");
    // More changes than a node can list are no loss.
    let everything = BusMessage::new("other", BusPayload::Everything);
    shared.bus.publish_all(&[everything]).await.unwrap();
    tokio::time::sleep(Duration::from_millis(10)).await;
    assert_eq!(node.sessions.calls("load"), before);
    let slow = Fault::Slow(Duration::from_secs(1));
    node.sessions.inject("load", slow, usize::MAX);
    for _ in 0..5 {
        lose_bus_messages(&shared).await;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(node.sessions.calls("load") - before, 1);
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(node.sessions.calls("load") - before, 2);
}
