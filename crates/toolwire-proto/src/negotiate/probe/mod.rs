//! Finding out which era a server speaks.
//!
//! On a byte stream any refusal, silence or death that is not a recognised modern error means "legacy". On HTTP only a
//! 4xx with a foreign body does: refused credentials, outages and timeouts are evidence of nothing. A recognised modern
//! error never leads to `initialize` unless the only common version is a legacy one.
//! Spec 2026-07-28, basic/versioning, basic/transports/stdio and basic/transports/streamable-http.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use toolwire_types::{ErrorObject, ProtocolVersion, code};

use crate::features::{SupportedVersions, VersionFeatures};
use crate::negotiate::{accept_initialized, newest_common};

/// What the server is reached through; the two count evidence differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "silence means something on a byte stream and nothing on HTTP"
)]
pub enum Channel {
    /// The pipes of a child process, or any other byte stream.
    Stdio,
    /// An HTTP endpoint.
    Http,
}

/// The result of a probe: worth keeping per process or per origin, and importable later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "era")]
#[expect(
    clippy::exhaustive_enums,
    reason = "a server is spoken to in one of the two eras"
)]
pub enum DetectedEra {
    /// Speak this version request by request.
    Modern {
        /// The version to name in `_meta`.
        version: ProtocolVersion,
    },
    /// The session was opened with this version.
    Legacy {
        /// What `initialize` negotiated.
        version: ProtocolVersion,
        /// How the server was reached.
        transport: LegacyTransport,
    },
}

impl DetectedEra {
    /// The revision to speak.
    #[must_use]
    pub fn version(self) -> ProtocolVersion {
        match self {
            Self::Modern { version } | Self::Legacy { version, .. } => version,
        }
    }
}

/// How a legacy server was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(
    clippy::exhaustive_enums,
    reason = "the legacy revisions have these and get no more"
)]
pub enum LegacyTransport {
    /// The channel that was probed.
    Direct,
    /// The two-endpoint HTTP+SSE transport of 2024-11-05.
    HttpWithSse,
}

/// What happened to the last thing the probe asked for.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum ProbeEvent<'a> {
    /// `server/discover` was answered; these are its `supportedVersions`.
    Discovered(&'a [String]),
    /// `initialize` was answered with this version.
    Initialized(&'a str),
    /// The request was answered with a JSON-RPC error (on HTTP: with status 200).
    Rejected(&'a ErrorObject),
    /// Nothing came in time.
    TimedOut,
    /// The child process ended.
    ChildExited,
    /// The child process runs again.
    Respawned,
    /// HTTP refused the request; the error is there when the body was a JSON-RPC error.
    HttpRefused {
        /// The status code.
        status: u16,
        /// The body, when it was a JSON-RPC error and not empty or foreign.
        error: Option<&'a ErrorObject>,
    },
    /// The legacy event stream is open and has named its endpoint.
    HttpWithSseOpened,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ProbeAction {
    /// Send `server/discover` naming this version.
    SendDiscover(ProtocolVersion),
    /// Send `initialize` asking for this version.
    SendInitialize(ProtocolVersion),
    /// Start the child process again, then report [`ProbeEvent::Respawned`].
    Respawn,
    /// Open the HTTP+SSE stream of 2024-11-05, then report [`ProbeEvent::HttpWithSseOpened`].
    TryHttpWithSse,
    /// Nothing: the event answers no question of this probe.
    Wait,
    /// Finished.
    Done(DetectedEra),
    /// Finished without a verdict.
    Fail(ProbeFailure),
}

/// Why there is no verdict.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ProbeFailure {
    /// The two sides have no version in common; these are the server's.
    NoCommonVersion(Vec<String>),
    /// The server speaks only legacy versions and this side none.
    LegacyServer,
    /// `initialize` failed.
    Rejected(ErrorObject),
    /// HTTP refused for a reason that says nothing about the era: credentials, an outage, a wrong address.
    HttpStatus(u16),
    /// The server did not answer.
    TimedOut,
    /// The child process ended while it was initialized.
    ChildExited,
}

impl fmt::Display for ProbeFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCommonVersion(theirs) => write!(
                f,
                "no common protocol version; the server speaks {}",
                theirs.join(", ")
            ),
            Self::LegacyServer => f.write_str("the server speaks only revisions with initialize"),
            Self::Rejected(error) => write!(f, "the server refused initialize: {error}"),
            Self::HttpStatus(status) => write!(f, "the server answered with HTTP status {status}"),
            Self::TimedOut => f.write_str("the server did not answer in time"),
            Self::ChildExited => f.write_str("the server process ended during initialize"),
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
///               └─ legacy evidence ─────────────────┴─► Initializing ──────┤
///                                                         │        ▲       │
///                              HTTP 400/404/405, no MCP ──┘        │       │
///                                                OpeningSse ───────┘ ──────┘
/// ```
#[derive(Debug, Clone)]
pub struct Probe {
    channel: Channel,
    ours: SupportedVersions,
    state: ProbeState,
    transport: LegacyTransport,
    /// Versions the server refused; none is offered twice, which bounds the probe.
    refused: Vec<ProtocolVersion>,
    /// True once the answer to `initialize` led back to `server/discover`; that happens once.
    looked_again: bool,
    /// True once a version was offered again that the server refused and named in one breath; that happens once.
    insisted: bool,
    /// True while an earlier verdict is taken for granted; evidence against it starts the probe anew.
    from_memory: bool,
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
    /// Starts a probe and says what to send first.
    #[must_use]
    pub fn start(channel: Channel, ours: SupportedVersions) -> (Self, ProbeAction) {
        let mut probe = Self::idle(channel, ours);
        let newest_modern = probe.ours.modern().next();
        let action = match newest_modern {
            Some(version) => probe.discover(version),
            None => probe.initialize(&[]),
        };
        (probe, action)
    }

    /// Starts from what an earlier probe found: no round trip for a modern server, `initialize` for a legacy one.
    #[must_use]
    pub fn resume(
        channel: Channel,
        ours: SupportedVersions,
        known: DetectedEra,
    ) -> (Self, ProbeAction) {
        let mut probe = Self::idle(channel, ours);
        probe.from_memory = true;
        let action = match known {
            DetectedEra::Modern { version } if probe.ours.contains(version) => {
                probe.finish(ProbeAction::Done(known))
            }
            DetectedEra::Legacy {
                version,
                transport: LegacyTransport::Direct,
            } if probe.ours.contains(version) => probe.initialize_with(version),
            DetectedEra::Legacy {
                version,
                transport: LegacyTransport::HttpWithSse,
            } if probe.ours.contains(version) => probe.open_sse(),
            // The verdict is of no use to this client any more, so it is found anew.
            DetectedEra::Modern { .. } | DetectedEra::Legacy { .. } => {
                return Self::start(channel, probe.ours);
            }
        };
        (probe, action)
    }

    /// Takes what happened and says what to do next.
    pub fn on(&mut self, event: ProbeEvent<'_>) -> ProbeAction {
        if std::mem::take(&mut self.from_memory) && contradicts_memory(event) {
            let (anew, action) = Self::start(self.channel, self.ours.clone());
            *self = anew;
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
                ProbeEvent::HttpRefused { status, .. } => {
                    self.fail(ProbeFailure::HttpStatus(status))
                }
                ProbeEvent::TimedOut => self.fail(ProbeFailure::TimedOut),
                _ => ProbeAction::Wait,
            },
            ProbeState::Finished(outcome) => outcome,
        }
    }

    fn idle(channel: Channel, ours: SupportedVersions) -> Self {
        Self {
            channel,
            ours,
            state: ProbeState::Initializing,
            transport: LegacyTransport::Direct,
            refused: Vec::new(),
            looked_again: false,
            insisted: false,
            from_memory: false,
        }
    }

    fn on_discovering(&mut self, tried: ProtocolVersion, event: ProbeEvent<'_>) -> ProbeAction {
        match (event, self.channel) {
            (ProbeEvent::Discovered(theirs), _) => self.choose_discovered(theirs),
            (ProbeEvent::Rejected(error), _) => match ModernError::recognise(error) {
                Some(modern) => self.on_modern_error(tried, modern),
                // A legacy server on HTTP answers an unknown method with status 200 and −32601.
                None => self.initialize(&[]),
            },
            (ProbeEvent::TimedOut, Channel::Stdio) => self.initialize(&[]),
            (ProbeEvent::TimedOut, Channel::Http) => self.fail(ProbeFailure::TimedOut),
            (ProbeEvent::ChildExited, _) => {
                if self.ours.legacy().next().is_none() {
                    return self.fail(ProbeFailure::ChildExited);
                }
                self.state = ProbeState::Respawning;
                ProbeAction::Respawn
            }
            (ProbeEvent::HttpRefused { status, error }, _) => {
                self.on_discover_refused(tried, status, error)
            }
            _ => ProbeAction::Wait,
        }
    }

    fn on_discover_refused(
        &mut self,
        tried: ProtocolVersion,
        status: u16,
        error: Option<&ErrorObject>,
    ) -> ProbeAction {
        if !says_something(status) {
            return self.fail(ProbeFailure::HttpStatus(status));
        }
        if let Some(modern) = error.and_then(ModernError::recognise) {
            return self.on_modern_error(tried, modern);
        }
        // Only modern servers put −32601 under a 404.
        if status == 404 && error.is_some_and(|error| error.code == code::METHOD_NOT_FOUND) {
            return self.finish(ProbeAction::Done(DetectedEra::Modern { version: tried }));
        }
        self.initialize(&[])
    }

    fn on_modern_error(&mut self, tried: ProtocolVersion, error: ModernError) -> ProbeAction {
        match error {
            ModernError::UnsupportedVersion(theirs) => {
                // A server that names the very version it refuses, for example while it starts, is asked once more.
                let names_it = theirs.iter().any(|name| name == tried.as_str());
                if self.insisted || !names_it {
                    self.refused.push(tried);
                }
                self.insisted |= names_it;
                self.choose_other(&theirs)
            }
            // The era is certain; the next request meets the same complaint and its caller hears of it.
            ModernError::Other => {
                self.finish(ProbeAction::Done(DetectedEra::Modern { version: tried }))
            }
        }
    }

    fn on_initializing(&mut self, event: ProbeEvent<'_>) -> ProbeAction {
        let error = match event {
            ProbeEvent::Initialized(offered) => {
                return match accept_initialized(offered, &self.ours) {
                    Some(version) => self.finish(ProbeAction::Done(DetectedEra::Legacy {
                        version,
                        transport: self.transport,
                    })),
                    None => self.fail(ProbeFailure::NoCommonVersion(vec![offered.to_owned()])),
                };
            }
            ProbeEvent::TimedOut => return self.fail(ProbeFailure::TimedOut),
            ProbeEvent::ChildExited => return self.fail(ProbeFailure::ChildExited),
            ProbeEvent::Rejected(error) => Some(error),
            ProbeEvent::HttpRefused { error, .. } => error,
            _ => return ProbeAction::Wait,
        };

        // A modern-only server that was too slow for the probe says so here; its list is then worth one more question.
        if let Some(ModernError::UnsupportedVersion(theirs)) =
            error.and_then(ModernError::recognise)
        {
            return match self.common(&theirs) {
                Some(version) if version.is_modern() && !self.looked_again => {
                    self.looked_again = true;
                    self.discover(version)
                }
                _ => self.fail(ProbeFailure::NoCommonVersion(theirs)),
            };
        }

        match (event, error) {
            // Spec 2026-07-28, basic/transports/streamable-http, "Backward Compatibility": then the oldest transport.
            (
                ProbeEvent::HttpRefused {
                    status: 400 | 404 | 405,
                    ..
                },
                _,
            ) if self.transport == LegacyTransport::Direct => self.open_sse(),
            (ProbeEvent::HttpRefused { status, .. }, None) => {
                self.fail(ProbeFailure::HttpStatus(status))
            }
            (_, Some(error)) => self.fail(ProbeFailure::Rejected(error.clone())),
            (_, None) => ProbeAction::Wait,
        }
    }

    /// `server/discover` was answered, so the newest common version can be used as it is.
    fn choose_discovered(&mut self, theirs: &[String]) -> ProbeAction {
        match self.common(theirs) {
            Some(version) if version.is_modern() => {
                self.finish(ProbeAction::Done(DetectedEra::Modern { version }))
            }
            Some(_) => self.initialize(theirs),
            None => self.fail(ProbeFailure::NoCommonVersion(theirs.to_vec())),
        }
    }

    /// The version was refused, so the newest other common one is tried.
    fn choose_other(&mut self, theirs: &[String]) -> ProbeAction {
        match self.common(theirs) {
            Some(version) if version.is_modern() => self.discover(version),
            Some(_) => self.initialize(theirs),
            None => self.fail(ProbeFailure::NoCommonVersion(theirs.to_vec())),
        }
    }

    fn common(&self, theirs: &[String]) -> Option<ProtocolVersion> {
        let open: SupportedVersions = self
            .ours
            .iter()
            .filter(|version| !self.refused.contains(version))
            .collect();
        newest_common(theirs.iter().map(String::as_str), &open)
    }

    fn discover(&mut self, version: ProtocolVersion) -> ProbeAction {
        self.state = ProbeState::Discovering(version);
        ProbeAction::SendDiscover(version)
    }

    /// Goes legacy with the newest version of the server's list, or with the newest of ours when it gave none.
    fn initialize(&mut self, theirs: &[String]) -> ProbeAction {
        let ours: SupportedVersions = self.ours.legacy().collect();
        let common = newest_common(theirs.iter().map(String::as_str), &ours);
        match common.or_else(|| ours.iter().next()) {
            Some(version) => self.initialize_with(version),
            None => self.fail(ProbeFailure::LegacyServer),
        }
    }

    fn initialize_with(&mut self, version: ProtocolVersion) -> ProbeAction {
        self.state = ProbeState::Initializing;
        ProbeAction::SendInitialize(version)
    }

    fn open_sse(&mut self) -> ProbeAction {
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

/// True when a legacy server that is known from earlier is none any more.
fn contradicts_memory(event: ProbeEvent<'_>) -> bool {
    match event {
        ProbeEvent::Rejected(_) => true,
        ProbeEvent::HttpRefused { status, .. } => says_something(status),
        _ => false,
    }
}

/// True when the failure of a modern request says that the server does not speak what an earlier probe found.
///
/// The same evidence counts as in the probe on HTTP; on a byte stream only a refusal of the version does.
#[must_use]
pub fn contradicts_verdict(http_status: Option<u16>, error: Option<&ErrorObject>) -> bool {
    let modern = error.and_then(ModernError::recognise);
    match (http_status, modern) {
        (_, Some(ModernError::UnsupportedVersion(_))) => true,
        (_, Some(ModernError::Other)) | (None, None) => false,
        // Only modern servers put −32601 under a 404.
        (Some(404), None) => error.is_none_or(|error| error.code != code::METHOD_NOT_FOUND),
        (Some(status), None) => says_something(status),
    }
}

/// True when the status is evidence about the era: a client error that is not about credentials, time or load.
fn says_something(status: u16) -> bool {
    (400..500).contains(&status) && !matches!(status, 401 | 403 | 407 | 408 | 429)
}

/// An error only a modern server sends.
enum ModernError {
    UnsupportedVersion(Vec<String>),
    Other,
}

impl ModernError {
    /// Recognises −32020, −32021, and −32022 with its list; without the list it is not the modern error.
    fn recognise(error: &ErrorObject) -> Option<Self> {
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
