//! The bounds of an HTTP endpoint.

use std::time::Duration;

use toolwire_proto::outbox::OutboxLimits;

use crate::transport::http::byte_budget::ByteBudget;

/// The bounds of an HTTP endpoint. A time of [`Duration::MAX`] is never.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpLimits {
    /// The longest body that is read, in bytes; a longer one gets 413. 4 MiB.
    pub body_bytes: usize,
    /// How many header fields a request may have; one more gets 431. 64.
    pub header_fields: usize,
    /// How many bytes names and values of all header fields may have together; more gets 431. 16 KiB.
    pub header_bytes: usize,
    /// How long the head of a request may take to arrive; then the connection is closed. One that begins before the request
    /// ahead of it is answered has this time from the answer. A TLS handshake has as long. 10 s.
    pub header_deadline: Duration,
    /// How long an HTTP/1.1 connection may rest between requests. Longer than proxies keep theirs, or they would now and
    /// then send a request into a connection that is just being closed. 2 min.
    pub idle_connection: Duration,
    /// How long the body of a request may take to arrive; then it gets 408. 30 s.
    pub body_deadline: Duration,
    /// How long the rest of a request body is read after the request was rejected, so that the connection can be used
    /// again. At most `body_bytes` are read, and nothing is stored. After that the response says `Connection: close`, and
    /// the connection is read for as long again, or until the client closes it. 5 s.
    pub discard_deadline: Duration,
    /// How long finding out who is calling may take, and whatever else an authorizer serves; then a request gets 503.
    /// 15 s.
    pub authorization_deadline: Duration,
    /// How many connections may be open at once; one more is accepted when another has closed. Only the listener of
    /// toolwire counts them. 10,000.
    pub connections: usize,
    /// How many connections one IPv4 address, or one IPv6 network of 64 bits, may have open; one more is closed at once.
    /// Behind a reverse proxy all clients have one address. No limit by default.
    pub connections_per_address: Option<usize>,
    /// How many requests may run at once; one more gets 503. 10,000.
    pub requests_in_flight: usize,
    /// How many bytes all messages that are being read or served may have together; one more gets 503. Bytes are counted
    /// as they arrive, once for the body and once for the parameters that a running handler has. One message may use at
    /// most an eighth of what is free, so small messages fit when large ones do not. At least twice `body_bytes`. 128 MiB.
    pub bytes_in_flight: usize,
    /// How many streams of changes may be open at once, besides the requests; one more gets 503. 20,000.
    pub open_streams: usize,
    /// How many bytes the filters of all open streams, and the messages that wait for their slow readers, may have
    /// together. One more stream gets 503; log messages and progress are dropped. 64 MiB.
    pub stream_bytes: usize,
    /// How many messages of one stream may wait for a slow reader before they are merged or dropped by kind. 256.
    pub queued_messages: usize,
    /// How many bytes of one stream may wait for a slow reader. 1 MiB.
    pub queued_bytes: usize,
    /// How long a client may refuse to take bytes before its connection is closed. 30 s.
    pub write_stall: Duration,
    /// How often an event stream without news gets a comment. 15 s.
    pub keep_alive: Duration,
    /// How long a request may run in silence before its answer becomes an event stream. 5 s.
    pub quiet_period: Duration,
    /// How long a session may take from `initialize` to its next request. 60 s.
    pub session_init: Duration,
    /// How long a session may be idle. 5 min.
    pub session_idle: Duration,
    /// How long running requests may take after the server was told to shut down. 10 s.
    pub drain: Duration,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            body_bytes: 4 * 1024 * 1024,
            header_fields: 64,
            header_bytes: 16 * 1024,
            header_deadline: Duration::from_secs(10),
            idle_connection: Duration::from_secs(120),
            body_deadline: Duration::from_secs(30),
            discard_deadline: Duration::from_secs(5),
            authorization_deadline: Duration::from_secs(15),
            connections: 10_000,
            connections_per_address: None,
            requests_in_flight: 10_000,
            bytes_in_flight: 128 * 1024 * 1024,
            open_streams: 20_000,
            stream_bytes: 64 * 1024 * 1024,
            queued_messages: 256,
            queued_bytes: 1024 * 1024,
            write_stall: Duration::from_secs(30),
            keep_alive: Duration::from_secs(15),
            quiet_period: Duration::from_secs(5),
            session_init: Duration::from_secs(60),
            session_idle: Duration::from_secs(300),
            drain: Duration::from_secs(10),
        }
    }
}

/// What a connection takes at most: what it has read and not used, what it has not written, and its own state. Most of it
/// is the window for request bodies on HTTP/2.
const CONNECTION_MEMORY: usize = 384 * 1024;

/// What a running request takes besides its message and what its handler allocates.
const REQUEST_MEMORY: usize = 16 * 1024;

/// What an open stream takes besides its filter and its queued messages.
const STREAM_MEMORY: usize = 16 * 1024;

impl HttpLimits {
    /// Returns the most memory that peers can make the server hold within these limits, in bytes: the message and stream
    /// budgets, and what each connection, request and stream takes besides.
    ///
    /// Not included are what handlers and authorizers allocate, responses that are being written, and stores, which have
    /// limits of their own. Sessions in use are held once in the store and once by the server.
    #[must_use]
    pub fn max_memory(&self) -> usize {
        let messages = ByteBudget::effective_limit(self.bytes_in_flight, self.body_bytes);
        let streams = ByteBudget::effective_limit(self.stream_bytes, self.queued_bytes);
        [
            messages,
            streams,
            self.connections.saturating_mul(CONNECTION_MEMORY),
            self.requests_in_flight.saturating_mul(REQUEST_MEMORY),
            self.open_streams.saturating_mul(STREAM_MEMORY),
        ]
        .into_iter()
        .fold(0, usize::saturating_add)
    }

    pub(crate) fn outbox(&self) -> OutboxLimits {
        OutboxLimits {
            messages: self.queued_messages,
            bytes: self.queued_bytes,
        }
    }
}
