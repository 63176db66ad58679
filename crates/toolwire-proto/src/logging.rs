//! Selection of log messages for the client: RFC 5424 levels, set per session or per request.
//!
//! A legacy session sets one level for all messages. Until then the server's default applies. A modern request names
//! its own level or gets no log messages.

use toolwire_types::LoggingLevel;

use crate::features::Era;

/// Returns `true` if `level` is at least as severe as `minimum`.
#[must_use]
pub fn passes(level: LoggingLevel, minimum: LoggingLevel) -> bool {
    level >= minimum
}

/// The level settings that apply to one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::exhaustive_structs, reason = "a level has these three sources")]
pub struct LogLevelSetting {
    /// `_meta["io.modelcontextprotocol/logLevel"]` of the request (modern).
    pub requested: Option<LoggingLevel>,
    /// The level that `logging/setLevel` set for the session (legacy).
    pub session: Option<LoggingLevel>,
    /// The level for legacy clients that have set none. `None` sends no messages.
    pub server_default: Option<LoggingLevel>,
}

/// Returns the minimum level that is sent. Returns `None` if nothing is sent.
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
    fn each_era_uses_its_own_level_setting() {
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
