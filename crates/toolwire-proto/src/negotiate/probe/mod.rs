//! Detection of the era of a server.
//!
//! On a byte stream, every error, timeout or exit means "legacy", except a recognized modern error. On HTTP only a 4xx
//! whose body is not a modern error means "legacy". Rejected credentials, outages and timeouts are not evidence. After
//! a recognized modern error the probe sends `initialize` only if the newest common version is a legacy one.
//!
//! A process that received `server/discover` may not survive it: some legacy servers exit, others never respond again.
//! If `initialize` fails in such a process, the probe sends it once more, as the first message of a new process.
//!
//! A caller that needs a session starts with `initialize`. A process that rejects it gets `server/discover`.
//! Spec 2026-07-28, basic/versioning, basic/transports/stdio and basic/transports/streamable-http.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use toolwire_types::{ErrorObject, ProtocolVersion, code};

use crate::features::{SupportedVersions, VersionFeatures};
use crate::negotiate::{accept_initialized, newest_common};

/// The kind of transport to the server. Each kind has its own rules of evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a timeout is evidence on a byte stream and not on HTTP"
)]
pub enum Channel {
    /// The pipes of a child process, or another byte stream.
    Stdio,
    /// An HTTP endpoint.
    Http,
}

/// The result of a probe. It can be stored per process or per origin and used again later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "era")]
#[expect(
    clippy::exhaustive_enums,
    reason = "a server is used in one of the two eras"
)]
pub enum DetectedEra {
    /// The client uses this version in every request.
    Modern {
        /// The version to name in `_meta`.
        version: ProtocolVersion,
    },
    /// The session was opened with this version.
    Legacy {
        /// The version that `initialize` negotiated.
        version: ProtocolVersion,
        /// The transport that reaches the server.
        transport: LegacyTransport,
    },
}

impl DetectedEra {
    /// Returns the version to use.
    #[must_use]
    pub fn version(self) -> ProtocolVersion {
        match self {
            Self::Modern { version } | Self::Legacy { version, .. } => version,
        }
    }
}

/// The transport that reaches a legacy server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(
    clippy::exhaustive_enums,
    reason = "the released legacy revisions will not change"
)]
pub enum LegacyTransport {
    /// The channel that was probed.
    Direct,
    /// The two-endpoint HTTP+SSE transport of 2024-11-05. Deprecated since 2025-03-26 (SEP-2596).
    HttpWithSse,
}

/// The outcome of the last action of the probe.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum ProbeEvent<'a> {
    /// `server/discover` succeeded. The value is its `supportedVersions`.
    Discovered(&'a [String]),
    /// `initialize` succeeded with this version.
    Initialized(&'a str),
    /// The response was a JSON-RPC error (on HTTP: with status 200).
    Rejected(&'a ErrorObject),
    /// No response arrived before the timeout.
    TimedOut,
    /// The child process exited.
    ChildExited,
    /// The child process was started again.
    Respawned,
    /// The response had an HTTP error status.
    HttpRejected {
        /// The status code.
        status: u16,
        /// The body, if it was a JSON-RPC error.
        error: Option<&'a ErrorObject>,
    },
    /// The response to a POST was the event stream of the HTTP+SSE transport: its event names another endpoint.
    EndpointNamed,
    /// The HTTP+SSE stream is open and has named its endpoint.
    HttpWithSseOpened,
}

/// The next action of the caller.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ProbeAction {
    /// Send `server/discover` with this version.
    SendDiscover(ProtocolVersion),
    /// Send `initialize` with this version.
    SendInitialize(ProtocolVersion),
    /// Start the child process again, then report [`ProbeEvent::Respawned`].
    Respawn,
    /// Open the HTTP+SSE stream of 2024-11-05, then report [`ProbeEvent::HttpWithSseOpened`].
    TryHttpWithSse,
    /// No action. The event does not belong to the current step.
    Wait,
    /// The era is detected.
    Done(DetectedEra),
    /// The era cannot be detected.
    Fail(ProbeFailure),
}

/// The reason why the era cannot be detected.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ProbeFailure {
    /// The sides have no version in common. The value lists the server's versions.
    NoCommonVersion(Vec<String>),
    /// The server supports only legacy versions, and the client supports none.
    LegacyServer,
    /// `initialize` failed.
    Rejected(ErrorObject),
    /// An HTTP status that is no evidence of an era: rejected credentials, an outage, a wrong address.
    HttpStatus(u16),
    /// The server did not respond in time.
    TimedOut,
    /// The child process exited during `initialize`.
    ChildExited,
}

impl fmt::Display for ProbeFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCommonVersion(server_versions) => write!(
                f,
                "no common protocol version; the server supports {}",
                server_versions.join(", ")
            ),
            Self::LegacyServer => f.write_str("the server supports only revisions with initialize"),
            Self::Rejected(error) => write!(f, "the server rejected initialize: {error}"),
            Self::HttpStatus(status) => write!(f, "the server responded with HTTP status {status}"),
            Self::TimedOut => f.write_str("the server did not respond in time"),
            Self::ChildExited => f.write_str("the server process exited during initialize"),
        }
    }
}

impl std::error::Error for ProbeFailure {}

/// The era probe of a client.
///
/// ```text
///  start ──► Discovering ──DiscoverResult──────────────────────────────► Finished
///               │  │ ▲ └── −32022 with another common modern version ─┐    ▲
///               │  │ └────────────────────────────────────────────────┘    │
///               │  └─ child exited ──► Respawning ──┐                      │
///               │                          ▲ once   │                      │
///               │      child exited, or no │        ▼                      │
///               │         response in time └── Initializing ───────────────┤
///               └─ legacy evidence ──────────────►  │    ▲                 │
///                                                   │    │                 │
///        HTTP 400/404/405, or an `endpoint` event ──┘    │                 │
///                                          OpeningSse ───┘ ────────────────┘
/// ```
#[derive(Debug, Clone)]
pub struct Probe {
    channel: Channel,
    supported: SupportedVersions,
    state: ProbeState,
    transport: LegacyTransport,
    /// The versions that the server rejected. None is offered twice, which limits the probe.
    rejected: Vec<ProtocolVersion>,
    /// Whether the response to `initialize` caused another `server/discover`. This happens at most once.
    discovered_again: bool,
    /// Whether a version that the server rejected but listed as supported was offered again. This happens at most once.
    offered_again: bool,
    /// Whether the probe relies on an earlier result. Evidence against that result restarts the probe.
    is_resumed: bool,
    /// Whether the current process received `server/discover`.
    is_probed: bool,
    /// Whether the process was started again. This happens at most once.
    is_respawned: bool,
    /// Whether `initialize` was the first request. Then the process is not started again.
    prefers_legacy: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum ProbeState {
    Discovering(ProtocolVersion),
    Respawning,
    Initializing,
    OpeningSse,
    Finished(ProbeAction),
}

impl Probe {
    /// Starts a probe and returns the first action.
    #[must_use]
    pub fn start(channel: Channel, supported: SupportedVersions) -> (Self, ProbeAction) {
        let mut probe = Self::idle(channel, supported);
        let newest_modern = probe.supported.modern().next();
        let action = match newest_modern {
            Some(version) => probe.discover(version),
            None => probe.initialize(&[]),
        };
        (probe, action)
    }

    /// Starts a probe of a byte stream with `initialize`, and returns the first action. A server that rejects it because it
    /// supports no legacy revision gets `server/discover` on the same stream.
    #[must_use]
    pub fn start_with_initialize(supported: SupportedVersions) -> (Self, ProbeAction) {
        let mut probe = Self::idle(Channel::Stdio, supported);
        probe.prefers_legacy = true;
        let action = probe.initialize(&[]);
        (probe, action)
    }

    /// Starts from the result of an earlier probe: no round trip for a modern server, `initialize` for a legacy one.
    #[must_use]
    pub fn resume(
        channel: Channel,
        supported: SupportedVersions,
        known: DetectedEra,
    ) -> (Self, ProbeAction) {
        let mut probe = Self::idle(channel, supported);
        probe.is_resumed = true;
        let action = match known {
            DetectedEra::Modern { version } if probe.supported.contains(version) => {
                probe.finish(ProbeAction::Done(known))
            }
            DetectedEra::Legacy {
                version,
                transport: LegacyTransport::Direct,
            } if probe.supported.contains(version) => probe.initialize_with(version),
            DetectedEra::Legacy {
                version,
                transport: LegacyTransport::HttpWithSse,
            } if probe.supported.contains(version) => probe.open_sse(),
            // The client no longer supports the earlier result, so the probe starts from the beginning.
            DetectedEra::Modern { .. } | DetectedEra::Legacy { .. } => {
                return Self::start(channel, probe.supported);
            }
        };
        (probe, action)
    }

    /// Processes an event and returns the next action.
    pub fn on(&mut self, event: ProbeEvent<'_>) -> ProbeAction {
        if std::mem::take(&mut self.is_resumed) && contradicts_resumed(event) {
            let (restarted, action) = Self::start(self.channel, self.supported.clone());
            *self = restarted;
            return action;
        }
        match self.state.clone() {
            ProbeState::Discovering(version) => self.on_discovering(version, event),
            ProbeState::Respawning => match event {
                ProbeEvent::Respawned => self.initialize(&[]),
                ProbeEvent::ChildExited => self.fail(ProbeFailure::ChildExited),
                ProbeEvent::TimedOut => self.fail(ProbeFailure::TimedOut),
                _ => ProbeAction::Wait,
            },
            ProbeState::Initializing => self.on_initializing(event),
            ProbeState::OpeningSse => match event {
                ProbeEvent::HttpWithSseOpened => self.initialize(&[]),
                ProbeEvent::HttpRejected { status, .. } => {
                    self.fail(ProbeFailure::HttpStatus(status))
                }
                ProbeEvent::TimedOut => self.fail(ProbeFailure::TimedOut),
                _ => ProbeAction::Wait,
            },
            ProbeState::Finished(outcome) => outcome,
        }
    }

    /// Returns `true` if a process that fails to respond to `initialize` will be started again. The caller then reserves
    /// time for the second attempt.
    #[must_use]
    pub fn may_respawn(&self) -> bool {
        let is_first = !self.is_respawned && !self.prefers_legacy;
        self.channel == Channel::Stdio && self.is_probed && is_first
    }

    /// Returns `true` if the process was started again, because it did not survive the probe.
    #[must_use]
    pub fn is_respawned(&self) -> bool {
        self.is_respawned
    }

    fn idle(channel: Channel, supported: SupportedVersions) -> Self {
        Self {
            channel,
            supported,
            state: ProbeState::Initializing,
            transport: LegacyTransport::Direct,
            rejected: Vec::new(),
            discovered_again: false,
            offered_again: false,
            is_resumed: false,
            is_probed: false,
            is_respawned: false,
            prefers_legacy: false,
        }
    }

    fn on_discovering(&mut self, tried: ProtocolVersion, event: ProbeEvent<'_>) -> ProbeAction {
        match (event, self.channel) {
            (ProbeEvent::Discovered(server_versions), _) => self.choose_discovered(server_versions),
            (ProbeEvent::Rejected(error), _) => match ModernError::recognize(error) {
                Some(modern) => self.on_modern_error(tried, modern),
                // A legacy server on HTTP responds to an unknown method with status 200 and −32601.
                None => self.initialize(&[]),
            },
            (ProbeEvent::TimedOut, Channel::Stdio) => self.initialize(&[]),
            (ProbeEvent::TimedOut, Channel::Http) => self.fail(ProbeFailure::TimedOut),
            (ProbeEvent::ChildExited, _) => {
                let is_last = self.is_respawned || self.prefers_legacy;
                if is_last || self.supported.legacy().next().is_none() {
                    return self.fail(ProbeFailure::ChildExited);
                }
                self.respawn()
            }
            (ProbeEvent::EndpointNamed, _) => self.open_sse(),
            (ProbeEvent::HttpRejected { status, error }, _) => {
                self.on_discover_rejected(tried, status, error)
            }
            _ => ProbeAction::Wait,
        }
    }

    fn on_discover_rejected(
        &mut self,
        tried: ProtocolVersion,
        status: u16,
        error: Option<&ErrorObject>,
    ) -> ProbeAction {
        if !is_era_evidence(status) {
            return self.fail(ProbeFailure::HttpStatus(status));
        }
        if let Some(modern) = error.and_then(ModernError::recognize) {
            return self.on_modern_error(tried, modern);
        }
        // Only modern servers send −32601 with status 404.
        if status == 404 && error.is_some_and(|error| error.code == code::METHOD_NOT_FOUND) {
            return self.finish(ProbeAction::Done(DetectedEra::Modern { version: tried }));
        }
        self.initialize(&[])
    }

    fn on_modern_error(&mut self, tried: ProtocolVersion, error: ModernError) -> ProbeAction {
        match error {
            ModernError::UnsupportedVersion(server_versions) => {
                // A server may reject a version that it lists itself, for example during startup. It is offered once
                // more.
                let is_listed = server_versions.iter().any(|name| name == tried.as_str());
                if self.offered_again || !is_listed {
                    self.rejected.push(tried);
                }
                self.offered_again |= is_listed;
                self.choose_other(&server_versions)
            }
            // The era is certain. The next request gets the same error and reports it to its caller.
            ModernError::Other => {
                self.finish(ProbeAction::Done(DetectedEra::Modern { version: tried }))
            }
        }
    }

    fn on_initializing(&mut self, event: ProbeEvent<'_>) -> ProbeAction {
        let error = match event {
            ProbeEvent::Initialized(offered) => {
                return match accept_initialized(offered, &self.supported) {
                    Some(version) => self.finish(ProbeAction::Done(DetectedEra::Legacy {
                        version,
                        transport: self.transport,
                    })),
                    None => self.fail(ProbeFailure::NoCommonVersion(vec![offered.to_owned()])),
                };
            }
            ProbeEvent::TimedOut | ProbeEvent::ChildExited if self.may_respawn() => {
                return self.respawn();
            }
            ProbeEvent::TimedOut => return self.fail(ProbeFailure::TimedOut),
            ProbeEvent::ChildExited => return self.fail(ProbeFailure::ChildExited),
            ProbeEvent::EndpointNamed if self.transport == LegacyTransport::Direct => {
                return self.open_sse();
            }
            ProbeEvent::Rejected(error) => Some(error),
            ProbeEvent::HttpRejected { error, .. } => error,
            _ => return ProbeAction::Wait,
        };

        // A modern-only server that missed the discovery timeout rejects `initialize` with its versions. The client
        // then sends `server/discover` once more.
        if let Some(ModernError::UnsupportedVersion(server_versions)) =
            error.and_then(ModernError::recognize)
        {
            return match self.common(&server_versions) {
                Some(version) if version.is_modern() && !self.discovered_again => {
                    self.discovered_again = true;
                    self.discover(version)
                }
                _ => self.fail(ProbeFailure::NoCommonVersion(server_versions)),
            };
        }

        // Other modern-only servers do not know the method.
        let newest_modern = self.supported.modern().next();
        if self.prefers_legacy
            && !self.discovered_again
            && rejects_legacy_era(None, error)
            && let Some(version) = newest_modern
        {
            self.discovered_again = true;
            return self.discover(version);
        }

        match (event, error) {
            // Spec 2026-07-28, basic/transports/streamable-http, "Backward Compatibility": the oldest transport is
            // tried next.
            (
                ProbeEvent::HttpRejected {
                    status: 400 | 404 | 405,
                    ..
                },
                _,
            ) if self.transport == LegacyTransport::Direct => self.open_sse(),
            (ProbeEvent::HttpRejected { status, .. }, None) => {
                self.fail(ProbeFailure::HttpStatus(status))
            }
            (_, Some(error)) => self.fail(ProbeFailure::Rejected(error.clone())),
            (_, None) => ProbeAction::Wait,
        }
    }

    /// Uses the newest common version after a successful `server/discover`.
    fn choose_discovered(&mut self, server_versions: &[String]) -> ProbeAction {
        match self.common(server_versions) {
            Some(version) if version.is_modern() => {
                self.finish(ProbeAction::Done(DetectedEra::Modern { version }))
            }
            Some(_) => self.initialize(server_versions),
            None => self.fail(ProbeFailure::NoCommonVersion(server_versions.to_vec())),
        }
    }

    /// Tries the newest common version that was not rejected.
    fn choose_other(&mut self, server_versions: &[String]) -> ProbeAction {
        match self.common(server_versions) {
            Some(version) if version.is_modern() => self.discover(version),
            Some(_) => self.initialize(server_versions),
            None => self.fail(ProbeFailure::NoCommonVersion(server_versions.to_vec())),
        }
    }

    fn common(&self, server_versions: &[String]) -> Option<ProtocolVersion> {
        let remaining: SupportedVersions = self
            .supported
            .iter()
            .filter(|version| !self.rejected.contains(version))
            .collect();
        newest_common(server_versions.iter().map(String::as_str), &remaining)
    }

    fn discover(&mut self, version: ProtocolVersion) -> ProbeAction {
        self.state = ProbeState::Discovering(version);
        self.is_probed = true;
        ProbeAction::SendDiscover(version)
    }

    /// Sends `initialize` with the newest common legacy version, or with the client's newest if the server gave no
    /// list.
    fn initialize(&mut self, server_versions: &[String]) -> ProbeAction {
        let legacy: SupportedVersions = self.supported.legacy().collect();
        let common = newest_common(server_versions.iter().map(String::as_str), &legacy);
        match common.or_else(|| legacy.iter().next()) {
            Some(version) => self.initialize_with(version),
            None => self.fail(ProbeFailure::LegacyServer),
        }
    }

    fn initialize_with(&mut self, version: ProtocolVersion) -> ProbeAction {
        self.state = ProbeState::Initializing;
        ProbeAction::SendInitialize(version)
    }

    /// Starts the process again, so that `initialize` is the first message that it receives.
    fn respawn(&mut self) -> ProbeAction {
        self.state = ProbeState::Respawning;
        self.is_respawned = true;
        self.is_probed = false;
        ProbeAction::Respawn
    }

    fn open_sse(&mut self) -> ProbeAction {
        if self.supported.legacy().next().is_none() {
            return self.fail(ProbeFailure::LegacyServer);
        }
        self.transport = LegacyTransport::HttpWithSse;
        self.state = ProbeState::OpeningSse;
        ProbeAction::TryHttpWithSse
    }

    fn fail(&mut self, failure: ProbeFailure) -> ProbeAction {
        self.finish(ProbeAction::Fail(failure))
    }

    fn finish(&mut self, outcome: ProbeAction) -> ProbeAction {
        self.state = ProbeState::Finished(outcome.clone());
        outcome
    }
}

/// Returns `true` if an event shows that a server known as legacy has changed.
fn contradicts_resumed(event: ProbeEvent<'_>) -> bool {
    match event {
        ProbeEvent::Rejected(_) => true,
        ProbeEvent::HttpRejected { status, .. } => is_era_evidence(status),
        _ => false,
    }
}

/// Returns `true` if the failure of a modern request contradicts the result of an earlier probe.
///
/// On HTTP the evidence is the same as in the probe. On a byte stream only a rejection of the version counts.
#[must_use]
pub fn contradicts_era(http_status: Option<u16>, error: Option<&ErrorObject>) -> bool {
    let modern = error.and_then(ModernError::recognize);
    match (http_status, modern) {
        (_, Some(ModernError::UnsupportedVersion(_))) => true,
        (_, Some(ModernError::Other)) | (None, None) => false,
        // Only modern servers send −32601 with status 404.
        (Some(404), None) => error.is_none_or(|error| error.code != code::METHOD_NOT_FOUND),
        (Some(status), None) => is_era_evidence(status),
    }
}

/// Returns `true` if the failure of `initialize` means that the server supports no legacy revision.
///
/// A server without the method says so. Without an error object, the evidence on HTTP is the same as in the probe.
#[must_use]
pub fn rejects_legacy_era(http_status: Option<u16>, error: Option<&ErrorObject>) -> bool {
    match error {
        Some(error) => {
            let is_modern = matches!(
                ModernError::recognize(error),
                Some(ModernError::UnsupportedVersion(_))
            );
            is_modern || error.code == code::METHOD_NOT_FOUND
        }
        None => http_status.is_some_and(is_era_evidence),
    }
}

/// Returns `true` if the status is evidence of an era: a client error that is not about credentials, time or load.
fn is_era_evidence(status: u16) -> bool {
    (400..500).contains(&status) && !matches!(status, 401 | 403 | 407 | 408 | 429)
}

/// An error that only a modern server sends.
enum ModernError {
    UnsupportedVersion(Vec<String>),
    Other,
}

impl ModernError {
    /// Recognizes −32020, −32021, and −32022 with its list. Without the list, −32022 is not the modern error.
    fn recognize(error: &ErrorObject) -> Option<Self> {
        #[derive(Deserialize)]
        struct VersionData<'a> {
            #[serde(borrow)]
            supported: Vec<Cow<'a, str>>,
        }

        match error.code {
            code::HEADER_MISMATCH | code::MISSING_REQUIRED_CLIENT_CAPABILITY => Some(Self::Other),
            code::UNSUPPORTED_PROTOCOL_VERSION => {
                let data: VersionData<'_> =
                    serde_json::from_str(error.data.as_ref()?.get()).ok()?;
                let names = data.supported.into_iter().map(Cow::into_owned);
                Some(Self::UnsupportedVersion(names.collect()))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
