//! Whether an upstream server is reachable.

use std::time::Duration;

use tokio::time::Instant;

use crate::error::{Error, chain};
use crate::relay::source::entries::UpstreamEntries;

/// The state of an upstream server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpstreamState {
    /// Whether the server is reachable.
    pub status: UpstreamStatus,
    /// The number of tools.
    pub tools: usize,
    /// The number of prompts.
    pub prompts: usize,
    /// The number of resources.
    pub resources: usize,
    /// The number of resource templates.
    pub resource_templates: usize,
}

/// Whether an upstream server is reachable.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum UpstreamStatus {
    /// No attempt to connect has ended yet.
    Connecting,
    /// The lists were read.
    Connected,
    /// The server is not reachable. The source tries again.
    Unreachable {
        /// The time since the connection was lost, or since the first attempt failed.
        elapsed: Duration,
        /// The reason of the last failure.
        reason: String,
    },
    /// The source was closed.
    Closed,
}

impl UpstreamState {
    pub(super) fn new(status: UpstreamStatus, entries: &UpstreamEntries) -> Self {
        Self {
            status,
            tools: entries.tools.len(),
            prompts: entries.prompts.len(),
            resources: entries.resources.len(),
            resource_templates: entries.templates.len(),
        }
    }

    /// Returns the number of all entries.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.tools + self.prompts + self.resources + self.resource_templates
    }
}

/// The progress of the attempts to connect.
#[derive(Debug, Default)]
pub(super) struct ConnectionStatus {
    /// The number of attempts that have ended.
    pub(super) attempts: u64,
    phase: Phase,
}

#[derive(Debug, Default)]
enum Phase {
    #[default]
    Connecting,
    Connected,
    Unreachable {
        since: Instant,
        reason: String,
    },
    Closed,
}

impl ConnectionStatus {
    pub(super) fn is_connected(&self) -> bool {
        matches!(self.phase, Phase::Connected)
    }

    pub(super) fn is_closed(&self) -> bool {
        matches!(self.phase, Phase::Closed)
    }

    /// Returns the outcome of the last attempt.
    pub(super) fn outcome(&self) -> Result<(), Error> {
        match &self.phase {
            Phase::Connected | Phase::Connecting => Ok(()),
            Phase::Unreachable { reason, .. } => Err(Error::protocol(reason.clone())),
            Phase::Closed => Err(Error::closed()),
        }
    }

    /// Records that the lists were read.
    pub(super) fn connect(&mut self) {
        if !self.is_closed() {
            self.attempts += 1;
            self.phase = Phase::Connected;
        }
    }

    /// Records that an attempt failed, or that the connection was lost.
    pub(super) fn lose(&mut self, error: &Error) {
        let since = match &self.phase {
            Phase::Closed => return,
            Phase::Unreachable { since, .. } => *since,
            Phase::Connecting | Phase::Connected => Instant::now(),
        };
        self.attempts += 1;
        self.phase = Phase::Unreachable {
            since,
            reason: chain(error),
        };
    }

    pub(super) fn close(&mut self) {
        self.phase = Phase::Closed;
    }

    pub(super) fn public(&self) -> UpstreamStatus {
        match &self.phase {
            Phase::Connecting => UpstreamStatus::Connecting,
            Phase::Connected => UpstreamStatus::Connected,
            Phase::Unreachable { since, reason } => UpstreamStatus::Unreachable {
                elapsed: since.elapsed(),
                reason: reason.clone(),
            },
            Phase::Closed => UpstreamStatus::Closed,
        }
    }
}
