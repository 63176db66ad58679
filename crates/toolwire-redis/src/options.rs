//! The options of a connection and of its stores.

use std::fmt;
use std::time::Duration;

use toolwire::KeyRing;

use crate::call_observer::{CallObserver, StoreCall, StoreCallEnd};
use crate::sealing::Sealing;

/// The options of [`Redis::connect`](crate::Redis::connect).
#[derive(Clone)]
pub struct RedisOptions {
    pub(crate) service: String,
    pub(crate) response_timeout: Duration,
    pub(crate) connect_timeout: Duration,
    pub(crate) sentinel_password: Option<String>,
    #[cfg(feature = "tls")]
    pub(crate) tls: crate::tls::TlsOptions,
    pub(crate) commands_in_flight: usize,
    pub(crate) tasks: usize,
    pub(crate) unfinished_tasks_per_principal: usize,
    pub(crate) nonces_per_owner: usize,
    pub(crate) sessions_per_principal: usize,
    pub(crate) events_per_stream: usize,
    pub(crate) bytes_per_stream: usize,
    pub(crate) stream_retention: Duration,
    pub(crate) sealing: Option<Sealing>,
    pub(crate) inspects_only: bool,
    #[cfg(feature = "auth")]
    pub(crate) proxy: crate::proxy::ProxyLimits,
    pub(crate) messages_per_mailbox: usize,
    pub(crate) bytes_per_mailbox: usize,
    pub(crate) observer: Option<CallObserver>,
}

impl fmt::Debug for RedisOptions {
    /// Omits passwords and keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisOptions")
            .field("service", &self.service)
            .finish_non_exhaustive()
    }
}

impl RedisOptions {
    /// Creates the options of a service. All nodes of a service use the same name, and services with different names
    /// can share an engine: every key starts with `tw:<service>:`. The name has 1 to 64 ASCII letters, digits, `.`, `_`
    /// and `-`.
    #[must_use]
    pub fn new(service: impl Into<String>) -> Self {
        Self {
            service: service.into(),
            response_timeout: Duration::from_millis(500),
            connect_timeout: Duration::from_secs(1),
            sentinel_password: None,
            #[cfg(feature = "tls")]
            tls: crate::tls::TlsOptions::default(),
            commands_in_flight: 10_000,
            tasks: 100_000,
            unfinished_tasks_per_principal: 64,
            nonces_per_owner: 12_500,
            sessions_per_principal: 1000,
            events_per_stream: 1000,
            bytes_per_stream: 1024 * 1024,
            stream_retention: Duration::from_secs(10 * 60),
            sealing: None,
            inspects_only: false,
            #[cfg(feature = "auth")]
            proxy: crate::proxy::ProxyLimits::default(),
            messages_per_mailbox: 10_000,
            bytes_per_mailbox: 32 * 1024 * 1024,
            observer: None,
        }
    }

    /// Calls a function for each request to the engine, for spans and histograms. It should not block. It returns a function
    /// for the outcome. Default: only [`Redis::counters`](crate::Redis::counters) counts requests.
    ///
    /// ```
    /// use std::time::Instant;
    /// use toolwire_redis::RedisOptions;
    ///
    /// let options = RedisOptions::new("orders").with_call_observer(|call| {
    ///     let (start, what) = (Instant::now(), format!("{} {}", call.operation, call.store));
    ///     Box::new(move |outcome| eprintln!("{what}: {outcome} after {:?}", start.elapsed()))
    /// });
    /// # drop(options);
    /// ```
    #[must_use]
    pub fn with_call_observer(
        mut self,
        observe: impl Fn(StoreCall<'_>) -> StoreCallEnd + Send + Sync + 'static,
    ) -> Self {
        self.observer = Some(CallObserver::new(observe));
        self
    }

    /// Sets how long a command may wait for its response. Default: 500 ms.
    #[must_use]
    pub fn with_response_timeout(mut self, timeout: Duration) -> Self {
        self.response_timeout = timeout;
        self
    }

    /// Sets how long an attempt to connect may take. Default: 1 s.
    #[must_use]
    pub fn with_connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets the password of sentinels. Default: none. They do not get the password in the URL, which is for the engine.
    #[must_use]
    pub fn with_sentinel_password(mut self, password: impl Into<String>) -> Self {
        self.sentinel_password = Some(password.into());
        self
    }

    /// Sets how many commands of this process may wait for a response. More of them fail at once. Default: 10,000.
    #[must_use]
    pub fn with_commands_in_flight(mut self, commands: usize) -> Self {
        self.commands_in_flight = commands;
        self
    }

    /// Sets the maximum number of tasks of the service. Default: 100,000. The engine limits their bytes: at its
    /// `maxmemory`, new tasks are rejected.
    #[must_use]
    pub fn with_tasks(mut self, tasks: usize) -> Self {
        self.tasks = tasks;
        self
    }

    /// Sets the maximum number of unfinished tasks of one principal. Default: 64. It does not apply to the anonymous
    /// principal, because all clients without authorization share it.
    #[must_use]
    pub fn with_unfinished_tasks_per_principal(mut self, tasks: usize) -> Self {
        self.unfinished_tasks_per_principal = tasks;
        self
    }

    /// Sets the maximum number of used nonces of one owner. Default: 12,500, which is 100 DPoP proofs a second.
    #[must_use]
    pub fn with_nonces_per_owner(mut self, nonces: usize) -> Self {
        self.nonces_per_owner = nonces;
        self
    }

    /// Sets the maximum number of sessions of one principal. Default: 1,000. It does not apply to the anonymous principal.
    #[must_use]
    pub fn with_sessions_per_principal(mut self, sessions: usize) -> Self {
        self.sessions_per_principal = sessions;
        self
    }

    /// Sets the maximum number of entries of one resumable stream. Default: 1000, at least 1. Older entries are evicted.
    #[must_use]
    pub fn with_events_per_stream(mut self, events: usize) -> Self {
        self.events_per_stream = events;
        self
    }

    /// Sets the maximum number of bytes of one resumable stream. Default: 1 MiB. The newest entry is stored even if it is
    /// larger.
    #[must_use]
    pub fn with_bytes_per_stream(mut self, bytes: usize) -> Self {
        self.bytes_per_stream = bytes;
        self
    }

    /// Sets how long a stream without reads and writes is retained. Default: 10 minutes. It should not be longer than the
    /// idle time of sessions.
    #[must_use]
    pub fn with_stream_retention(mut self, retention: Duration) -> Self {
        self.stream_retention = retention;
        self
    }

    /// Sets the maximum number of messages that wait in the mailbox of one node. Default: 10,000. Further messages are
    /// rejected.
    #[must_use]
    pub fn with_messages_per_mailbox(mut self, messages: usize) -> Self {
        self.messages_per_mailbox = messages;
        self
    }

    /// Sets the maximum number of bytes that wait in the mailbox of one node. Default: 32 MiB.
    #[must_use]
    pub fn with_bytes_per_mailbox(mut self, bytes: usize) -> Self {
        self.bytes_per_mailbox = bytes;
        self
    }

    /// Connects as a tool that inspects the engine, and not as a node of the service. The checks at the start then store
    /// nothing that a node would compare with its own keys. Default: a node.
    #[must_use]
    pub fn with_inspection_only(mut self) -> Self {
        self.inspects_only = true;
        self
    }

    /// Seals sessions, entries of streams, bus messages and mailboxes with these keys, which all nodes share. Default: not sealed.
    ///
    /// A record is encrypted, and bound to its key in the engine. So readers of the engine cannot read it, and it cannot be
    /// moved. Sealing takes about 1 µs for 1 KiB, and a sealed record is a third larger.
    ///
    /// Sessions and streams that were stored without sealing, or with other keys, count as absent. Records of an OAuth proxy
    /// and tokens of a client are always sealed, with keys of their own. Tasks and cached results of clients are not sealed.
    #[must_use]
    pub fn with_sealing(mut self, keys: KeyRing) -> Self {
        self.sealing = Some(Sealing::new(keys));
        self
    }
}

#[cfg(feature = "tls")]
impl RedisOptions {
    /// Sets the root certificates that an engine is verified with, in PEM format. Default: those of the system.
    #[must_use]
    pub fn with_root_certificates(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.tls.roots = Some(pem.into());
        self
    }

    /// Sets the certificate of this node and its private key, in PEM format, for an engine that verifies its clients.
    #[must_use]
    pub fn with_client_certificate(
        mut self,
        certificate: impl Into<Vec<u8>>,
        private_key: impl Into<Vec<u8>>,
    ) -> Self {
        self.tls.client = Some((certificate.into(), private_key.into()));
        self
    }
}

#[cfg(feature = "auth")]
impl RedisOptions {
    /// Sets the maximum number of clients that an OAuth proxy stores. Default: 50,000. A client that was not used for a
    /// while is removed for another one.
    #[must_use]
    pub fn with_proxy_clients(mut self, clients: usize) -> Self {
        self.proxy.clients = clients;
        self
    }

    /// Sets the maximum number of logins in progress at an OAuth proxy. Default: 10,000.
    #[must_use]
    pub fn with_proxy_logins(mut self, logins: usize) -> Self {
        self.proxy.logins = logins;
        self
    }

    /// Sets the maximum number of grants of an OAuth proxy. Default: 50,000. One more login is rejected.
    #[must_use]
    pub fn with_proxy_grants(mut self, grants: usize) -> Self {
        self.proxy.grants = grants;
        self
    }
}
