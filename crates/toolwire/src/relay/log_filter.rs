//! Which log messages of the upstream server a client gets.

use toolwire_types::{LoggingLevel, LoggingMessageNotificationParams, RawJson, meta_key};

use crate::server::request::Exchange;

/// The log messages of the upstream server that a client gets.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum LogFilter {
    /// The upstream server sends only those that the client requested.
    #[default]
    All,
    /// Those from a level on. `None` stands for none at all.
    From(Option<LoggingLevel>),
}

impl LogFilter {
    /// Returns the filter for a modern request to a legacy upstream server, whose level applies to a session.
    pub(super) fn of_modern(exchange: &Exchange) -> Self {
        let meta = exchange.context.scope().meta();
        Self::From(meta.get_as(meta_key::LOG_LEVEL).ok().flatten())
    }

    /// Returns `true` if the client gets a log message with these parameters.
    pub(super) fn accepts(self, params: Option<&RawJson>) -> bool {
        let minimum = match self {
            Self::All => return true,
            Self::From(None) => return false,
            Self::From(Some(minimum)) => minimum,
        };
        let message =
            params.and_then(|params| params.parse::<LoggingMessageNotificationParams>().ok());
        message.is_some_and(|message| message.level >= minimum)
    }
}
