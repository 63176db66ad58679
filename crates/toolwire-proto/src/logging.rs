//! Which log messages reach the client: RFC 5424 levels, chosen per session or per request.
//!
//! Legacy sessions set a level for everything, and before that the server chooses. Modern requests name a level for
//! themselves or hear nothing.

use toolwire_types::LoggingLevel;

use crate::features::Era;

/// True when a message of this level is at least as severe as the minimum.
#[must_use]
pub fn passes(level: LoggingLevel, minimum: LoggingLevel) -> bool {
    level >= minimum
}

/// The levels at work for one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the three places a level can come from"
)]
pub struct LogLevelSetting {
    /// `_meta["io.modelcontextprotocol/logLevel"]` of the request (modern).
    pub requested: Option<LoggingLevel>,
    /// What `logging/setLevel` set for the session (legacy).
    pub session: Option<LoggingLevel>,
    /// What the server sends while a legacy client has set nothing; `None` for nothing.
    pub server_default: Option<LoggingLevel>,
}

/// The least severe level that is sent; `None` when nothing is.
///
/// Spec 2026-07-28, server/utilities/logging: without a level in the request there are no log notifications.
#[must_use]
pub fn effective_minimum(era: Era, choice: LogLevelSetting) -> Option<LoggingLevel> {
    match era {
        Era::Legacy => choice.session.or(choice.server_default),
        Era::Modern => choice.requested,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(name: &str) -> Option<LoggingLevel> {
        serde_json::from_value(name.into()).ok()
    }

    #[test]
    fn levels_pass_in_the_order_of_rfc_5424() {
        let order = [
            "debug",
            "info",
            "notice",
            "warning",
            "error",
            "critical",
            "alert",
            "emergency",
        ];
        for (severity, name) in order.iter().enumerate() {
            for (least, minimum) in order.iter().enumerate() {
                let levels = level(name).zip(level(minimum)).expect("known levels");
                assert_eq!(passes(levels.0, levels.1), severity >= least);
            }
        }
    }

    #[test]
    fn each_era_takes_its_level_from_its_own_place() {
        let check = |era, requested, session, server_default, expected| {
            let choice = LogLevelSetting {
                requested: level(requested),
                session: level(session),
                server_default: level(server_default),
            };
            assert_eq!(effective_minimum(era, choice), level(expected));
        };
        check(Era::Legacy, "-", "-", "-", "-");
        check(Era::Legacy, "-", "-", "info", "info");
        check(Era::Legacy, "-", "error", "info", "error");
        check(Era::Legacy, "debug", "-", "-", "-");
        check(Era::Modern, "-", "debug", "debug", "-");
        check(Era::Modern, "warning", "debug", "info", "warning");
    }
}
