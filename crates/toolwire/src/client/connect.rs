//! Opens a connection: detects the era of the server and reads the server's details.
//!
//! [`Probe`] decides the order of the probe requests. This module sends them and passes the responses back.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use toolwire_proto::features::VersionFeatures;
use toolwire_proto::mirrored_headers::routing_headers;
use toolwire_proto::negotiate::{
    Channel, DetectedEra, Probe, ProbeAction, ProbeEvent, ProbeFailure,
};
use toolwire_proto::request_meta::{RequestMeta, capabilities_for};
use toolwire_types::{
    DiscoverResult, ErrorObject, InitializeRequestParams, InitializeResult, Meta, ProtocolVersion,
    RawJson,
};

use crate::client::cache::Cache;
use crate::client::config::ClientConfig;
use crate::client::connect_deadline::ConnectDeadline;
use crate::client::connection_ends::ConnectionEnds;
use crate::client::handlers::ClientHandlers;
use crate::client::incoming::IncomingMessages;
use crate::client::middleware::{ClientNext, ClientRequest, SendRequest, SentId};
use crate::client::session::{ActiveConnection, ServerDetails};
use crate::client::transport::{ClientTransport, Connect, OutgoingRequest};
use crate::engine::{BoxFuture, Cancellation, ConnectionInfo};
use crate::error::Error;

/// The inputs for opening a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Connecting<'a> {
    pub(crate) config: &'a ClientConfig,
    pub(crate) connector: &'a dyn Connect,
    pub(crate) connection: &'a Arc<ConnectionInfo>,
    pub(crate) handlers: &'a Arc<ClientHandlers>,
    pub(crate) cache: &'a Arc<Cache>,
    pub(crate) ids: &'a AtomicI64,
    pub(crate) skipped: &'a Arc<AtomicU64>,
}

/// An open transport and its incoming messages. Messages of an older transport must not reach a newer one.
///
/// If it is dropped before it is ready, it terminates the transport.
struct OpenTransport {
    transport: Arc<dyn ClientTransport>,
    incoming: Arc<IncomingMessages>,
    is_ready: bool,
}

impl Drop for OpenTransport {
    fn drop(&mut self) {
        if !self.is_ready {
            self.transport.terminate();
        }
    }
}

/// The result of the detection.
struct DetectedServer {
    era: DetectedEra,
    server: Option<ServerDetails>,
    /// Whether the server did not survive the probe, or did not respond to it.
    probe_failed: bool,
}

impl Connecting<'_> {
    /// Connects and negotiates the protocol version. `known` is the result of an earlier connection.
    pub(crate) async fn establish(
        &self,
        known: Option<DetectedEra>,
    ) -> Result<ActiveConnection, Error> {
        let timeout = self.config.limits.connect_timeout;
        let mut deadline = ConnectDeadline::start(timeout, &self.config.user_interaction);
        let mut opened = self.open().await?;
        let known = known.or_else(|| self.connector.recorded_era());
        let detected = self.probe(&mut opened, known, &mut deadline).await;
        let started = match detected {
            Ok(detected) => {
                let version = detected.era.version();
                let started = self.apply_version(&opened, version, &mut deadline).await;
                started.map(|()| detected)
            }
            Err(error) => Err(error),
        };
        match started {
            Ok(detected) => {
                opened.is_ready = true;
                let version = detected.era.version();
                let middleware = self.config.middleware.as_ref();
                Ok(ActiveConnection {
                    transport: Arc::clone(&opened.transport),
                    incoming: Arc::clone(&opened.incoming),
                    era: detected.era,
                    probe_failed: detected.probe_failed,
                    meta: self.meta(version),
                    server: detected.server.map(Arc::new),
                    ends: ConnectionEnds::of(middleware, version, self.connection),
                })
            }
            Err(error) => {
                // The server has no work to finish, so the caller does not wait for the grace period.
                opened.transport.terminate();
                opened.transport.close().await;
                Err(error)
            }
        }
    }

    /// Starts to use the negotiated version.
    async fn apply_version(
        &self,
        opened: &OpenTransport,
        version: ProtocolVersion,
        deadline: &mut ConnectDeadline<'_>,
    ) -> Result<(), Error> {
        let transport = &opened.transport;
        opened.incoming.set_version(version);
        transport.set_version(version);
        // A relay forwards the notification of its client instead.
        if version.is_legacy() && !self.config.handlers.is_relay() {
            let sending = transport.notify("notifications/initialized".into(), None);
            let sent = deadline.run(Duration::MAX, sending).await;
            sent.map_err(|error| with_output(error, opened))?;
            transport.ready();
        }
        Ok(())
    }

    async fn open(&self) -> Result<OpenTransport, Error> {
        let incoming = self.incoming();
        let transport = self.connector.open(Arc::clone(&incoming)).await?;
        Ok(OpenTransport {
            transport,
            incoming,
            is_ready: false,
        })
    }

    fn incoming(&self) -> Arc<IncomingMessages> {
        let (handlers, cache) = (Arc::clone(self.handlers), Arc::clone(self.cache));
        Arc::new(IncomingMessages::new(
            handlers,
            cache,
            Arc::clone(self.skipped),
            self.config.middleware.clone(),
            Arc::clone(self.connection),
        ))
    }

    async fn probe(
        &self,
        opened: &mut OpenTransport,
        known: Option<DetectedEra>,
        deadline: &mut ConnectDeadline<'_>,
    ) -> Result<DetectedServer, Error> {
        let channel = self.connector.channel();
        let (mut probe, mut action) = self.start_probe(channel, known);
        let mut details = None;
        let mut last_error = None;
        // The failure of the process that received the probe.
        let mut first_failure = None;
        // The number of ignored messages when the probe timed out.
        let mut ignored_at_timeout = None;
        loop {
            action = match action {
                ProbeAction::SendDiscover(version) => {
                    let timeout = match channel {
                        // The rest of the time is for `initialize`.
                        Channel::Stdio => self.config.limits.probe_timeout.min(deadline.left() / 2),
                        Channel::Http => Duration::MAX,
                    };
                    let expired = Cancellation::new();
                    let discovering = self.discover(opened, version, &expired);
                    match deadline.run_request(timeout, &expired, discovering).await {
                        Ok(discovered) => {
                            let action = probe.on(ProbeEvent::Discovered(&discovered.versions));
                            details = Some(discovered);
                            action
                        }
                        Err(error) => {
                            if error.is_timeout() {
                                ignored_at_timeout = Some(self.skipped.load(Ordering::Relaxed));
                            }
                            on_failure(&mut probe, channel, error, &mut last_error)?
                        }
                    }
                }
                ProbeAction::SendInitialize(version) => {
                    let timeout = if probe.may_respawn() {
                        // The rest of the time is for a second process.
                        deadline.left() / 2
                    } else {
                        Duration::MAX
                    };
                    let expired = Cancellation::new();
                    let initializing = self.initialize(opened, version, &expired);
                    match deadline.run_request(timeout, &expired, initializing).await {
                        Ok(initialized) => {
                            let offered = initialized.versions.first().cloned();
                            details = Some(initialized);
                            probe.on(ProbeEvent::Initialized(&offered.unwrap_or_default()))
                        }
                        Err(error) => on_failure(&mut probe, channel, error, &mut last_error)?,
                    }
                }
                ProbeAction::Respawn => {
                    first_failure = last_error.as_ref().map(Error::to_string);
                    tracing::debug!(
                        failure = ?first_failure,
                        "the server did not survive the probe and is started again"
                    );
                    opened.transport.terminate();
                    opened.transport.close().await;
                    *opened = self.open().await?;
                    probe.on(ProbeEvent::Respawned)
                }
                ProbeAction::TryHttpWithSse => {
                    // That the server uses this transport is not the reason if it cannot be opened.
                    last_error = last_error.filter(|error| !error.is_http_with_sse());
                    opened.transport.close().await;
                    let incoming = self.incoming();
                    let opening = self.connector.open_http_with_sse(Arc::clone(&incoming));
                    match deadline.run(Duration::MAX, opening).await {
                        Ok(transport) => {
                            *opened = OpenTransport {
                                transport,
                                incoming,
                                is_ready: false,
                            };
                            probe.on(ProbeEvent::HttpWithSseOpened)
                        }
                        Err(error) => match error.http_status() {
                            Some(status) => {
                                let rejected = ProbeEvent::HttpRejected {
                                    status,
                                    error: error.rpc(),
                                };
                                let action = probe.on(rejected);
                                if !matches!(action, ProbeAction::Fail(_)) {
                                    *opened = self.open().await?;
                                }
                                // The first rejection is more informative than the rejection by the oldest transport.
                                last_error.get_or_insert(error);
                                action
                            }
                            None => return Err(last_error.unwrap_or(error)),
                        },
                    }
                }
                ProbeAction::Done(era) => {
                    // A server that only starts slowly responds to the probe before it responds to `initialize`. The
                    // late response is ignored, and counted.
                    let is_silent = ignored_at_timeout
                        .is_some_and(|ignored| ignored == self.skipped.load(Ordering::Relaxed));
                    let probe_failed =
                        era.version().is_legacy() && (probe.is_respawned() || is_silent);
                    if probe_failed {
                        self.connector.record_era(era);
                    }
                    return Ok(DetectedServer {
                        era,
                        server: details,
                        probe_failed,
                    });
                }
                ProbeAction::Fail(failure) => {
                    let is_relay = self.config.handlers.is_relay();
                    let error = with_output(explain(failure, last_error, is_relay), opened);
                    // If both processes exited alike, the probe was not the cause.
                    let exited_alike = !error.is_timeout()
                        && first_failure.is_some_and(|first| first == error.to_string());
                    return Err(if probe.is_respawned() && !exited_alike {
                        error.with_detail(STARTED_TWICE)
                    } else {
                        error
                    });
                }
                // Every action above produces one event, so the probe never waits for more.
                _ => return Err(Error::protocol("the era of the server cannot be detected")),
            };
        }
    }

    fn start_probe(&self, channel: Channel, known: Option<DetectedEra>) -> (Probe, ProbeAction) {
        let supported = self.config.versions.clone();
        #[cfg(feature = "relay")]
        let supported = match channel {
            Channel::Stdio if self.config.prefers_legacy => {
                return Probe::start_with_initialize(supported);
            }
            Channel::Http if self.config.prefers_legacy => supported.legacy().collect(),
            Channel::Stdio | Channel::Http => supported,
        };
        match known {
            Some(era) => Probe::resume(channel, supported, era),
            None => Probe::start(channel, supported),
        }
    }

    async fn discover(
        &self,
        opened: &OpenTransport,
        version: ProtocolVersion,
        expired: &Cancellation,
    ) -> Result<ServerDetails, Error> {
        let params = self
            .meta(version)
            .params(None, &Meta::new())
            .expect("no parameters are an empty object");
        let result = self
            .request(opened, "server/discover", version, params, expired)
            .await?;
        // A server that responds to `server/discover` with another result does not support it.
        let discovered: DiscoverResult = result.parse().map_err(|error| {
            Error::from(ErrorObject::invalid_request(format!(
                "the result of server/discover is invalid: {error}"
            )))
        })?;
        let details = ServerDetails::from(discovered);
        #[cfg(feature = "relay")]
        let details = details.with_raw(result);
        Ok(details)
    }

    async fn initialize(
        &self,
        opened: &OpenTransport,
        version: ProtocolVersion,
        expired: &Cancellation,
    ) -> Result<ServerDetails, Error> {
        let params = self.initialize_params(version);
        let result = self
            .request(opened, "initialize", version, params, expired)
            .await?;
        let initialized: InitializeResult = result
            .parse()
            .map_err(|error| Error::decode("result of initialize", error))?;
        let details = ServerDetails::from(initialized);
        #[cfg(feature = "relay")]
        let details = details.with_raw(result);
        Ok(details)
    }

    fn initialize_params(&self, version: ProtocolVersion) -> RawJson {
        #[cfg(feature = "relay")]
        if let Some(params) = &self.config.initialize_params {
            return params.clone();
        }
        let capabilities = capabilities_for(version, &self.config.handlers.capabilities());
        let params =
            InitializeRequestParams::new(version.as_str(), capabilities, self.config.info.clone());
        RawJson::from_serialize(&params).expect("plain data always serialises")
    }

    async fn request(
        &self,
        opened: &OpenTransport,
        method: &'static str,
        version: ProtocolVersion,
        params: RawJson,
        expired: &Cancellation,
    ) -> Result<RawJson, Error> {
        let Some(chain) = &self.config.full_middleware else {
            return self.send(opened, method, version, params, None).await;
        };
        let mut request = ClientRequest::new(
            method.into(),
            Some(params),
            Meta::new(),
            version,
            self.connection,
        );
        let sender = ProbeSender {
            connecting: self,
            opened,
            method,
            version,
            expired,
        };
        ClientNext::new(chain, &sender).run(&mut request).await
    }

    async fn send(
        &self,
        opened: &OpenTransport,
        method: &'static str,
        version: ProtocolVersion,
        params: RawJson,
        sent_id: Option<&SentId>,
    ) -> Result<RawJson, Error> {
        let mirrored = if version.has_routing_headers() {
            routing_headers(method, Some(params.as_raw_value())).0
        } else {
            Vec::new()
        };
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        if let Some(sent) = sent_id {
            sent.set(id);
        }
        let request = OutgoingRequest {
            id: id.into(),
            method: method.into(),
            params: Some(params),
            version,
            mirrored,
            forwarded: None,
        };
        // Until the server responds, assume that it uses the version of the request.
        opened.incoming.set_version(version);
        opened.transport.set_version(version);
        let response = opened.transport.exchange(&request).await?;
        response.map_err(Error::from)
    }

    fn meta(&self, version: ProtocolVersion) -> RequestMeta {
        let info = self.config.sends_info.then_some(&self.config.info);
        RequestMeta::new(version, info, &self.config.handlers.capabilities())
    }
}

/// Sends the requests that connect, behind the middleware.
struct ProbeSender<'a> {
    connecting: &'a Connecting<'a>,
    opened: &'a OpenTransport,
    method: &'static str,
    version: ProtocolVersion,
    /// Set when the time of the request is over.
    expired: &'a Cancellation,
}

impl SendRequest for ProbeSender<'_> {
    fn send<'a>(&'a self, request: &'a ClientRequest) -> BoxFuture<'a, Result<RawJson, Error>> {
        Box::pin(async move {
            let params = request.complete_params()?;
            let sent_id = Some(request.id_sink());
            let (connecting, method, version) = (self.connecting, self.method, self.version);
            let response = connecting.send(self.opened, method, version, params, sent_id);
            tokio::select! {
                response = response => response,
                () = self.expired.cancelled() => Err(Error::timeout()),
            }
        })
    }
}

/// The advice for a server that was started a second time for `initialize`, and failed again.
const STARTED_TWICE: &str = "the server was started twice to detect its era; to start a legacy server once, use \
     `ClientBuilder::with_era(Era::Legacy)` (on the command line: `--era legacy`)";

/// Adds what a server process wrote instead of a response to a timeout. Other errors contain it already.
fn with_output(error: Error, opened: &OpenTransport) -> Error {
    match opened.transport.output() {
        Some(output) if error.is_timeout() => error.with_detail(&output),
        _ => error,
    }
}

/// Reports a failure to the probe. Returns the error if it is no evidence about the era.
fn on_failure(
    probe: &mut Probe,
    channel: Channel,
    error: Error,
    last_error: &mut Option<Error>,
) -> Result<ProbeAction, Error> {
    let action = if let Some(status) = error.http_status() {
        probe.on(ProbeEvent::HttpRejected {
            status,
            error: error.rpc(),
        })
    } else if error.is_http_with_sse() {
        probe.on(ProbeEvent::EndpointNamed)
    } else if let Some(rejection) = error.rpc() {
        probe.on(ProbeEvent::Rejected(rejection))
    } else if error.is_timeout() {
        probe.on(ProbeEvent::TimedOut)
    } else if error.is_closed() && channel == Channel::Stdio {
        probe.on(ProbeEvent::ChildExited)
    } else {
        return Err(error);
    };
    *last_error = Some(error);
    Ok(action)
}

/// Returns the error of a failed probe.
fn explain(failure: ProbeFailure, last_error: Option<Error>, is_relay: bool) -> Error {
    match (failure, last_error) {
        // A relay decides by the rejection whether it can use the server in another revision.
        (ProbeFailure::NoCommonVersion(_), Some(error)) if is_relay && error.rpc().is_some() => {
            error
        }
        (
            ProbeFailure::HttpStatus(_)
            | ProbeFailure::Rejected(_)
            | ProbeFailure::TimedOut
            | ProbeFailure::ChildExited,
            Some(error),
        ) => error,
        (failure, _) => Error::protocol(failure.to_string()),
    }
}
