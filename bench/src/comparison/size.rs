//! The size of a server, for cases that measure the same calls on servers of several sizes.

use serde::Serialize;

use super::table::thousands;
use crate::load::Plan;

/// The size of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Size {
    /// The number of tools.
    Tools(usize),
    /// The number of open legacy sessions, of which one is used.
    Sessions(usize),
    /// The number of open `subscriptions/listen` streams.
    Streams(usize),
    /// The number of worker threads of its runtime.
    Threads(usize),
}

impl Size {
    /// Returns the number of tools, if it is the size.
    pub(crate) fn tools(self) -> Option<usize> {
        match self {
            Self::Tools(count) => Some(count),
            Self::Sessions(_) | Self::Streams(_) | Self::Threads(_) => None,
        }
    }

    /// Returns the number of streams, if it is the size.
    pub(crate) fn streams(self) -> Option<usize> {
        match self {
            Self::Streams(count) => Some(count),
            Self::Tools(_) | Self::Sessions(_) | Self::Threads(_) => None,
        }
    }

    /// Returns one `share`th of the size. The number of threads stays the same.
    pub(crate) fn divided(self, share: usize) -> Self {
        let share = share.max(1);
        match self {
            Self::Tools(count) => Self::Tools((count / share).max(1)),
            Self::Sessions(count) => Self::Sessions((count / share).max(1)),
            Self::Streams(count) => Self::Streams(count / share),
            Self::Threads(count) => Self::Threads(count),
        }
    }

    /// Adds the sessions or streams to the load of one round. Sessions stay open, so only the first round opens them.
    /// Each round opens one more, and their number in the last round is the size.
    pub(crate) fn add_to(self, plan: Plan, round: usize, rounds: usize) -> Plan {
        match self {
            Self::Tools(_) | Self::Threads(_) => plan,
            Self::Streams(count) => plan.with_listen_streams(count),
            Self::Sessions(_) if round > 0 => plan.with_one_session_beside(0),
            Self::Sessions(count) => plan.with_one_session_beside(count.saturating_sub(rounds)),
        }
    }

    /// Returns the text in the tables.
    pub(crate) fn to_text(self) -> String {
        let (count, what) = match self {
            Self::Tools(count) => (count, "tool"),
            Self::Sessions(count) => (count, "session"),
            Self::Streams(count) => (count, "stream"),
            Self::Threads(count) => (count, "thread"),
        };
        let plural = if count == 1 { "" } else { "s" };
        format!("{} {what}{plural}", thousands(count as f64, 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Era, Kind, Workload};

    #[test]
    fn size_of_one_is_singular() {
        assert_eq!(Size::Tools(1).to_text(), "1 tool");
        assert_eq!(Size::Tools(10_000).to_text(), "10,000 tools");
        assert_eq!(Size::Streams(0).to_text(), "0 streams");
    }

    #[test]
    fn sessions_are_opened_once_for_all_rounds() {
        let plan = Plan::new(Workload::new(Era::Legacy, Kind::Echo, 1), 1);
        let idle = |size: Size, round| size.add_to(plan.clone(), round, 5).idle_sessions;
        assert_eq!(idle(Size::Sessions(1_000), 0), 995);
        assert_eq!(idle(Size::Sessions(1_000), 1), 0);
        assert_eq!(idle(Size::Sessions(1), 0), 0);
    }
}
