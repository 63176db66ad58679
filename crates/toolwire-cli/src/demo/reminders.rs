//! A tool with a nested argument: an enum whose variants have different members.

use serde::Deserialize;
use toolwire::{JsonSchema, Server, tool};

pub(super) fn register(server: Server) -> Server {
    server.tool(remind)
}

/// How often a reminder repeats.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Repeat {
    /// Once, at a time.
    Once {
        /// The time of the day, such as `08:30`.
        at: String,
    },
    /// Again and again.
    Every {
        /// The number of days between two reminders.
        days: u32,
    },
}

/// Describes a reminder. Nothing is stored.
#[tool(read_only)]
fn remind(
    /// The text of the reminder.
    text: String,
    /// How often it repeats.
    repeat: Repeat,
) -> String {
    match repeat {
        Repeat::Once { at } => format!("{text}, once at {at}"),
        Repeat::Every { days } => format!("{text}, every {days} days"),
    }
}
