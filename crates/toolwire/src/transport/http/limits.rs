//! The limits of an HTTP endpoint.

use std::time::Duration;

use toolwire_proto::outbox::OutboxLimits;

use crate::transport::http::byte_budget::ByteBudget;

/// The limits of an HTTP endpoint. A limit of [`Duration::MAX`] disables a timeout.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpLimits {
    /// The maximum length of a request body in bytes. A longer body gets 413. Default: 4 MiB.
    pub body_bytes: usize,
    /// The maximum number of header fields of a request. A request with more gets 431. Default: 64.
    pub header_fields: usize,
    /// The maximum total length of the names and values of all header fields. A request with more gets 431. Default: 16
    /// KiB.
    pub header_bytes: usize,
    /// The time in which the headers of a request have to arrive, else the connection is closed. For a pipelined
    /// request, it starts after the previous response. The same limit applies to a TLS handshake. Default: 10 s.
    pub header_deadline: Duration,
    /// How long an HTTP/1.1 connection may be idle between requests. It should exceed the idle timeout of proxies,
    /// which could otherwise send a request on a connection that the server is closing. Default: 2 min.
    pub idle_connection: Duration,
    /// The time in which the body of a request has to arrive, else the request gets 408. Default: 30 s.
    pub body_deadline: Duration,
    /// How long the rest of a request body is read after the request was rejected, so that the connection can be
    /// reused. At most `body_bytes` are read, and nothing is stored. If the body does not end in time, the response
    /// contains `Connection: close`, and the connection is read for the same time again, or until the client closes it.
    /// Default: 5 s.
    pub discard_deadline: Duration,
    /// The time in which an authorizer has to verify a token or to serve a public route, else the request gets 503.
    /// Default: 15 s.
    pub authorization_deadline: Duration,
    /// The maximum number of open connections. Another one is accepted after one has closed. Only the listener of
    /// toolwire counts connections. Default: 10,000.
    pub connections: usize,
    /// The maximum number of open connections of one IPv4 address or one IPv6 /64 network. Another one is closed at
    /// once. Behind a reverse proxy, all clients have the same address. Default: no limit.
    pub connections_per_address: Option<usize>,
    /// The maximum number of running requests. Another request gets 503. Default: 10,000.
    pub requests_in_flight: usize,
    /// The maximum total size of all messages that are being read or served. A request that exceeds it gets 503. Bytes
    /// are counted as they arrive, once for the body and once for the parameters that a running handler uses. One
    /// message may use at most an eighth of the free bytes, so small messages fit when large ones do not. The responses of
    /// a batch count as one message until all of its requests have ended; those that do not fit are replaced by errors.
    /// The effective limit is at least twice `body_bytes`. Default: 128 MiB.
    pub bytes_in_flight: usize,
    /// The maximum number of open streams of changes, which are not counted as requests. Another stream gets 503.
    /// Default: 20,000.
    pub open_streams: usize,
    /// The maximum total size of the filters of all open streams and of the messages queued for slow readers. Beyond
    /// it, another stream gets 503, and log messages and progress notifications are dropped. Default: 64 MiB.
    pub stream_bytes: usize,
    /// The maximum number of queued messages of one stream. Beyond it, messages are merged or dropped depending on
    /// their kind. Default: 256.
    pub queued_messages: usize,
    /// The maximum number of queued bytes of one stream. Default: 1 MiB.
    pub queued_bytes: usize,
    /// How long a client may read nothing of a pending response before its connection is closed. Default: 30 s.
    pub write_stall: Duration,
    /// The interval of keep-alive comments on an event stream without events. Default: 15 s.
    pub keep_alive: Duration,
    /// How long a request may run without sending a message before its response becomes an event stream. Default: 5 s.
    pub quiet_period: Duration,
    /// The maximum time between `initialize` and the next request of a session. Default: 60 s.
    pub session_init: Duration,
    /// How long a session may be idle before it expires. Many clients treat its end like the end of a login. Default: 1 h
    /// with a store of [`with_session_store`](crate::transport::http::HttpOptions::with_session_store), 5 min in the memory
    /// of this process.
    pub session_idle: Option<Duration>,
    /// The time in which a call of the session store, the event log or the bus has to return. A request that needs a
    /// later response gets 503 with `Retry-After`. Default: 2 s.
    pub store_deadline: Duration,
    /// How long running requests may take after the server starts to shut down. The last tenth of it, at most 1 s, is for
    /// telling clients of sessions that their calls have not ended. Default: 10 s.
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
            session_idle: None,
            store_deadline: Duration::from_secs(2),
            drain: Duration::from_secs(10),
        }
    }
}

/// The default of [`session_idle`](HttpLimits::session_idle) for sessions in the memory of this process, where they take the
/// place of other sessions.
const SESSION_IDLE_IN_MEMORY: Duration = Duration::from_secs(5 * 60);

/// The default of [`session_idle`](HttpLimits::session_idle) with another store.
pub(crate) const SESSION_IDLE_IN_STORE: Duration = Duration::from_secs(60 * 60);

/// The maximum memory of a connection: unprocessed input, unwritten output, and its own state. Most of it is the HTTP/2
/// window for request bodies.
const CONNECTION_MEMORY: usize = 384 * 1024;

/// The memory of a running request without its message and the allocations of its handler.
const REQUEST_MEMORY: usize = 16 * 1024;

/// The memory of an open stream without its filter and its queued messages.
const STREAM_MEMORY: usize = 16 * 1024;

impl HttpLimits {
    /// Returns the maximum memory in bytes that peers can make the server allocate within these limits. It is the sum
    /// of the message and stream budgets and of the memory of each connection, request and stream.
    ///
    /// It excludes allocations of handlers and authorizers, responses that are being written, and stores, which have
    /// their own limits. Sessions in use are stored twice: in the store and by the server.
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

    /// Returns how long a session may be idle. [`HttpOptions`](crate::transport::http::HttpOptions) has set the default of a
    /// shared store.
    pub(crate) fn effective_session_idle(&self) -> Duration {
        self.session_idle.unwrap_or(SESSION_IDLE_IN_MEMORY)
    }

    pub(crate) fn outbox(&self) -> OutboxLimits {
        OutboxLimits {
            messages: self.queued_messages,
            bytes: self.queued_bytes,
        }
    }
}
