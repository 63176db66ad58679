//! The HTTP sessions of a server that are open, for the metric of their durations.
//!
//! Ids of sessions are credentials, so only their digests are stored.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use opentelemetry::KeyValue;
use sha2::{Digest as _, Sha256};
use toolwire::ProtocolVersion;

use crate::attributes::connection_attributes;
use crate::conventions::{attribute, value};
use crate::sync::lock;
use crate::telemetry::{Telemetry, TelemetryMode};

/// The maximum number of open sessions that are measured. The oldest are not recorded.
const MAX_SESSIONS: usize = 10_000;

/// The digest of the id of a session.
type SessionDigest = [u8; 32];

/// The open sessions.
#[derive(Debug, Default)]
pub(crate) struct HttpSessions {
    open: Mutex<OpenSessions>,
}

#[derive(Debug, Default)]
struct OpenSessions {
    by_digest: HashMap<SessionDigest, OpenSession>,
    /// The digests in the order of insertion. Some of the sessions may have ended.
    order: VecDeque<SessionDigest>,
}

/// A session that has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct OpenSession {
    start: Instant,
    version: ProtocolVersion,
}

impl HttpSessions {
    fn insert(&self, session: &str, opened: OpenSession) {
        let digest: SessionDigest = Sha256::digest(session).into();
        let mut open = lock(&self.open);
        let OpenSessions { by_digest, order } = &mut *open;
        while by_digest.len() >= MAX_SESSIONS
            && let Some(oldest) = order.pop_front()
        {
            by_digest.remove(&oldest);
        }
        by_digest.insert(digest, opened);
        order.push_back(digest);
        if order.len() > 2 * MAX_SESSIONS {
            order.retain(|digest| by_digest.contains_key(digest));
        }
    }

    /// Returns a session once.
    fn take(&self, session: &str) -> Option<OpenSession> {
        let digest: SessionDigest = Sha256::digest(session).into();
        let mut open = lock(&self.open);
        open.by_digest.remove(&digest)
    }
}

impl Telemetry {
    /// Starts to measure a session.
    pub(crate) fn http_session_opened(&self, session: &str, version: ProtocolVersion) {
        if self.settings.mode == TelemetryMode::SpansAndMetrics && !self.instruments.is_inactive() {
            let start = Instant::now();
            let opened = OpenSession { start, version };
            self.instruments.http_sessions.insert(session, opened);
        }
    }

    /// Records the duration of a session that this node has opened.
    pub(crate) fn http_session_closed(&self, session: &str) {
        let Some(opened) = self.instruments.http_sessions.take(session) else {
            return;
        };
        let mut attributes = connection_attributes(&self.settings, None, opened.version);
        attributes.push(KeyValue::new(attribute::NETWORK_TRANSPORT, value::TCP));
        attributes.push(KeyValue::new(attribute::NETWORK_PROTOCOL_NAME, value::HTTP));
        let duration: Duration = opened.start.elapsed();
        let sessions = &self.instruments.metrics().server_session;
        sessions.record(duration.as_secs_f64(), &attributes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_session_is_not_recorded_at_the_limit() {
        let sessions = HttpSessions::default();
        let start = Instant::now();
        for number in 0..=MAX_SESSIONS {
            let opened = OpenSession {
                start: start + Duration::from_micros(number as u64),
                version: ProtocolVersion::V2025_11_25,
            };
            sessions.insert(&number.to_string(), opened);
        }
        assert_eq!(sessions.take("0"), None);
        assert!(sessions.take("1").is_some());
        // A session ends once.
        assert_eq!(sessions.take("1"), None);
    }

    #[test]
    fn ended_sessions_do_not_stay_in_the_order() {
        let sessions = HttpSessions::default();
        let opened = OpenSession {
            start: Instant::now(),
            version: ProtocolVersion::V2025_11_25,
        };
        sessions.insert("first", opened);
        for number in 0..=2 * MAX_SESSIONS {
            let session = number.to_string();
            sessions.insert(&session, opened);
            sessions.take(&session);
        }
        let ordered = sessions.open.lock().unwrap().order.len();
        assert!(ordered <= MAX_SESSIONS, "{ordered}");
        assert!(sessions.take("first").is_some());
    }
}
