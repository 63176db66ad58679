//! The table of what a relay does with each method, by the eras of its client and its upstream.
//!
//! Each method of [`crate::methods`] has a row; a method without one is a compile error. A row has one set of actions
//! per sender: if both sides have the same era, for a legacy client of a modern upstream, and for a modern client of a
//! legacy upstream. Methods that no revision defines belong to extensions and are forwarded. The table does not select
//! the upstream, and it does not know which capabilities a server offers.

use toolwire_types::ProtocolVersion;

use crate::features::{Era, VersionFeatures};
use crate::methods::{self, Direction, Method, MethodKind};

/// What a relay does with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// The relay forwards the message. It replaces only what belongs to one connection, and names and URIs that it
    /// changed.
    Forward,
    /// The relay forwards the message in the form of the receiver's revision.
    Convert,
    /// The relay sends the response itself.
    RespondHere,
    /// The relay processes the notification itself, and may send other messages because of it.
    Consume,
    /// The relay updates its own lists and announces the change to its clients, each in the form of its revision.
    Announce,
    /// The request becomes an input request in the result of the call that caused it.
    RequestInput,
    /// The request gets the error −32601.
    Reject,
    /// The notification is not forwarded.
    Discard,
}

/// The side that sent a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a relay is between a client and an upstream"
)]
pub enum Sender {
    /// A client of the relay.
    Client,
    /// A server that the relay is a client of.
    Upstream,
}

/// Returns what a relay does with a request or notification, by the revisions of its client and its upstream.
///
/// ```
/// use toolwire_proto::relay::mapping::{Action, Sender, action};
/// use toolwire_types::ProtocolVersion;
///
/// let (client, upstream) = (ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28);
/// assert_eq!(action("tools/call", Sender::Client, client, upstream), Action::Convert);
/// assert_eq!(action("ping", Sender::Client, client, upstream), Action::RespondHere);
/// ```
#[must_use]
pub fn action(
    method: &str,
    sender: Sender,
    client: ProtocolVersion,
    upstream: ProtocolVersion,
) -> Action {
    let (from, to) = match sender {
        Sender::Client => (client, upstream),
        Sender::Upstream => (upstream, client),
    };
    let Some(known) = methods::find(method) else {
        return forward(from, to);
    };
    let actions = row(known).and_then(|row| match sender {
        Sender::Client => row.client,
        Sender::Upstream => row.upstream,
    });
    let is_sent = known.is_served(from) && is_sent_by(known.direction(from), sender);
    let Some(actions) = actions.filter(|_| is_sent) else {
        return not_forwarded(known);
    };
    match actions.of(client.era(), upstream.era()) {
        Action::Forward | Action::Convert if !known.is_served(to) => not_forwarded(known),
        Action::Forward | Action::Convert => forward(from, to),
        other => other,
    }
}

fn forward(from: ProtocolVersion, to: ProtocolVersion) -> Action {
    if from == to {
        Action::Forward
    } else {
        Action::Convert
    }
}

fn not_forwarded(method: &Method) -> Action {
    match method.kind {
        MethodKind::Request => Action::Reject,
        MethodKind::Notification => Action::Discard,
    }
}

const fn is_sent_by(direction: Direction, sender: Sender) -> bool {
    !matches!(
        (direction, sender),
        (Direction::ClientToServer, Sender::Upstream) | (Direction::ServerToClient, Sender::Client)
    )
}

/// Returns the row of a method. The rows have the order of the methods, see the assertion below.
fn row(method: &Method) -> Option<&'static Row> {
    let index = ROWS
        .binary_search_by(|row| row.method.cmp(method.name))
        .ok()?;
    ROWS.get(index)
}

/// The actions of one method, by its sender. `None` if that side does not send it in any revision.
#[derive(Debug, Clone, Copy)]
struct Row {
    method: &'static str,
    client: Option<Actions>,
    upstream: Option<Actions>,
}

/// The actions for the messages of one sender.
#[derive(Debug, Clone, Copy)]
struct Actions {
    /// Client and upstream have the same era.
    same: Action,
    /// A legacy client of a modern upstream.
    legacy_client: Action,
    /// A modern client of a legacy upstream.
    modern_client: Action,
}

impl Actions {
    const fn of(self, client: Era, upstream: Era) -> Action {
        match (client, upstream) {
            (Era::Legacy, Era::Legacy) | (Era::Modern, Era::Modern) => self.same,
            (Era::Legacy, Era::Modern) => self.legacy_client,
            (Era::Modern, Era::Legacy) => self.modern_client,
        }
    }
}

const fn row_of(method: &'static str) -> Row {
    Row {
        method,
        client: None,
        upstream: None,
    }
}

impl Row {
    /// Sets the actions for messages of clients: in one era, legacy client, modern client.
    const fn client(mut self, same: Action, legacy_client: Action, modern_client: Action) -> Self {
        self.client = Some(Actions {
            same,
            legacy_client,
            modern_client,
        });
        self
    }

    /// Sets the actions for messages of upstreams: in one era, legacy client, modern client.
    const fn upstream(
        mut self,
        same: Action,
        legacy_client: Action,
        modern_client: Action,
    ) -> Self {
        self.upstream = Some(Actions {
            same,
            legacy_client,
            modern_client,
        });
        self
    }
}

use Action::{Announce, Consume, Convert, Discard, Forward, Reject, RequestInput, RespondHere};

/// The rows, in the order of [`methods::all`]. The columns are: one era, legacy client, modern client.
#[rustfmt::skip]
static ROWS: &[Row] = &[
    row_of("completion/complete").client(Forward, Convert, Convert),
    // A modern upstream sends input requests inside results.
    row_of("elicitation/create").upstream(Forward, Reject, RequestInput),
    // Events exist in modern revisions only.
    #[cfg(feature = "events")]
    row_of("events/list").client(Forward, Reject, Reject),
    #[cfg(feature = "events")]
    row_of("events/poll").client(Forward, Reject, Reject),
    #[cfg(feature = "events")]
    row_of("events/stream").client(Forward, Reject, Reject),
    #[cfg(feature = "events")]
    row_of("events/subscribe").client(Forward, Reject, Reject),
    #[cfg(feature = "events")]
    row_of("events/unsubscribe").client(Forward, Reject, Reject),
    // Each connection of a relay has a handshake of its own.
    row_of("initialize").client(RespondHere, RespondHere, Reject),
    // Requests to a modern upstream name the level that the relay stored.
    row_of("logging/setLevel").client(Forward, RespondHere, Reject),
    // Request ids belong to one connection. The relay cancels its own request.
    row_of("notifications/cancelled").client(Consume, Consume, Consume).upstream(Consume, Consume, Consume),
    // A modern client resumes the call instead.
    row_of("notifications/elicitation/complete").upstream(Forward, Discard, Consume),
    #[cfg(feature = "events")]
    row_of("notifications/events/active").upstream(Forward, Discard, Discard),
    #[cfg(feature = "events")]
    row_of("notifications/events/error").upstream(Forward, Discard, Discard),
    #[cfg(feature = "events")]
    row_of("notifications/events/event").upstream(Forward, Discard, Discard),
    #[cfg(feature = "events")]
    row_of("notifications/events/heartbeat").upstream(Forward, Discard, Discard),
    #[cfg(feature = "events")]
    row_of("notifications/events/list_changed").upstream(Announce, Discard, Discard),
    #[cfg(feature = "events")]
    row_of("notifications/events/terminated").upstream(Forward, Discard, Discard),
    row_of("notifications/initialized").client(Consume, Consume, Discard),
    row_of("notifications/message").upstream(Forward, Convert, Convert),
    // A modern upstream gets no progress of its input requests.
    row_of("notifications/progress").client(Forward, Discard, Discard).upstream(Forward, Convert, Convert),
    row_of("notifications/prompts/list_changed").upstream(Announce, Announce, Announce),
    row_of("notifications/resources/list_changed").upstream(Announce, Announce, Announce),
    row_of("notifications/resources/updated").upstream(Announce, Announce, Announce),
    // A modern upstream asks for the roots in its next result.
    row_of("notifications/roots/list_changed").client(Forward, Consume, Discard),
    // It belongs to a subscription of the relay.
    row_of("notifications/subscriptions/acknowledged").upstream(Consume, Consume, Discard),
    // The two designs of tasks do not convert into each other.
    row_of("notifications/tasks").upstream(Forward, Discard, Discard),
    row_of("notifications/tasks/status").client(Forward, Discard, Discard).upstream(Forward, Discard, Discard),
    row_of("notifications/tools/list_changed").upstream(Announce, Announce, Announce),
    row_of("ping").client(RespondHere, RespondHere, Reject).upstream(RespondHere, Reject, RespondHere),
    row_of("prompts/get").client(Forward, Convert, Convert),
    row_of("prompts/list").client(Forward, Convert, Convert),
    row_of("resources/directory/read").client(Forward, Convert, Convert),
    row_of("resources/list").client(Forward, Convert, Convert),
    row_of("resources/read").client(Forward, Convert, Convert),
    // A modern upstream gets one `subscriptions/listen` for all resources of the session.
    row_of("resources/subscribe").client(Forward, RespondHere, Reject),
    row_of("resources/templates/list").client(Forward, Convert, Convert),
    row_of("resources/unsubscribe").client(Forward, RespondHere, Reject),
    row_of("roots/list").upstream(Forward, Reject, RequestInput),
    row_of("sampling/createMessage").upstream(Forward, Reject, RequestInput),
    row_of("server/discover").client(RespondHere, Reject, RespondHere),
    row_of("skills/get").client(Forward, Convert, Convert),
    row_of("skills/list").client(Forward, Convert, Convert),
    // One stream of a client covers all upstreams, each of which has a subscription of the relay.
    row_of("subscriptions/listen").client(RespondHere, Reject, RespondHere),
    row_of("tasks/cancel").client(Forward, Reject, Reject).upstream(Forward, Reject, Reject),
    row_of("tasks/get").client(Forward, Reject, Reject).upstream(Forward, Reject, Reject),
    row_of("tasks/list").client(Forward, Reject, Reject).upstream(Forward, Reject, Reject),
    row_of("tasks/result").client(Forward, Reject, Reject).upstream(Forward, Reject, Reject),
    row_of("tasks/update").client(Forward, Reject, Reject),
    row_of("tools/call").client(Forward, Convert, Convert),
    row_of("tools/list").client(Forward, Convert, Convert),
];

/// Every method has a row, in the same order, with actions for exactly the sides that send it.
const _: () = {
    let methods = methods::all();
    assert!(
        ROWS.len() == methods.len(),
        "each method needs one row of the relay"
    );
    let mut index = 0;
    while index < methods.len() {
        let (method, row) = (&methods[index], &ROWS[index]);
        assert!(
            is_same(method.name.as_bytes(), row.method.as_bytes()),
            "the rows of the relay have the order of the methods"
        );
        let [legacy, modern] = method.directions();
        let from_client = is_sent_by(legacy, Sender::Client) || is_sent_by(modern, Sender::Client);
        let from_upstream =
            is_sent_by(legacy, Sender::Upstream) || is_sent_by(modern, Sender::Upstream);
        assert!(
            row.client.is_some() == from_client && row.upstream.is_some() == from_upstream,
            "a row of the relay has actions for the sides that send the method"
        );
        index += 1;
    }
};

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let mut index = 0;
    while index < one.len() {
        if one[index] != other[index] {
            return false;
        }
        index += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use ProtocolVersion::{V2024_11_05, V2025_06_18, V2025_11_25, V2026_07_28};

    use super::*;

    #[test]
    fn actions_follow_eras_and_revisions() {
        let check = |method: &str, sender, client, upstream, expected| {
            let actual = action(method, sender, client, upstream);
            assert_eq!(actual, expected, "{method} {client} {upstream}");
        };
        use Sender::{Client, Upstream};
        check("tools/call", Client, V2026_07_28, V2026_07_28, Forward);
        check("tools/call", Client, V2026_07_28, V2025_11_25, Convert);
        check("tools/call", Client, V2024_11_05, V2025_11_25, Convert);
        check("tools/call", Upstream, V2026_07_28, V2026_07_28, Reject);
        check("com.example/x", Client, V2026_07_28, V2026_07_28, Forward);
        check("com.example/x", Upstream, V2026_07_28, V2025_06_18, Convert);
        check("initialize", Client, V2025_11_25, V2026_07_28, RespondHere);
        check(
            "server/discover",
            Client,
            V2026_07_28,
            V2025_06_18,
            RespondHere,
        );
        check("server/discover", Client, V2025_11_25, V2026_07_28, Reject);
        check(
            "logging/setLevel",
            Client,
            V2025_11_25,
            V2026_07_28,
            RespondHere,
        );
        check(
            "logging/setLevel",
            Client,
            V2025_11_25,
            V2025_06_18,
            Convert,
        );
        check(
            "elicitation/create",
            Upstream,
            V2025_11_25,
            V2025_11_25,
            Forward,
        );
        check(
            "elicitation/create",
            Upstream,
            V2024_11_05,
            V2025_11_25,
            Reject,
        );
        check(
            "elicitation/create",
            Upstream,
            V2026_07_28,
            V2025_11_25,
            RequestInput,
        );
        check(
            "elicitation/create",
            Upstream,
            V2026_07_28,
            V2024_11_05,
            Reject,
        );
        check("tasks/get", Client, V2025_11_25, V2025_11_25, Forward);
        check("tasks/get", Client, V2025_11_25, V2025_06_18, Reject);
        check("tasks/get", Client, V2026_07_28, V2025_11_25, Reject);
        check("tasks/get", Upstream, V2026_07_28, V2026_07_28, Reject);
        check(
            "notifications/progress",
            Client,
            V2025_06_18,
            V2026_07_28,
            Discard,
        );
        check(
            "notifications/progress",
            Client,
            V2026_07_28,
            V2026_07_28,
            Discard,
        );
        check(
            "notifications/progress",
            Upstream,
            V2025_06_18,
            V2026_07_28,
            Convert,
        );
        check(
            "notifications/elicitation/complete",
            Upstream,
            V2026_07_28,
            V2025_11_25,
            Consume,
        );
        check(
            "notifications/elicitation/complete",
            Upstream,
            V2025_06_18,
            V2025_11_25,
            Discard,
        );
        check(
            "notifications/tools/list_changed",
            Upstream,
            V2025_06_18,
            V2026_07_28,
            Announce,
        );
    }

    #[test]
    fn action_fits_the_kind_of_the_method() {
        for method in methods::all() {
            for client in ProtocolVersion::ALL {
                for upstream in ProtocolVersion::ALL {
                    for sender in [Sender::Client, Sender::Upstream] {
                        let chosen = action(method.name, sender, client, upstream);
                        let fits = match chosen {
                            Forward | Convert => true,
                            RespondHere | RequestInput | Reject => {
                                method.kind == MethodKind::Request
                            }
                            Consume | Announce | Discard => method.kind == MethodKind::Notification,
                        };
                        assert!(fits, "{} {chosen:?}", method.name);
                        let to = match sender {
                            Sender::Client => upstream,
                            Sender::Upstream => client,
                        };
                        if matches!(chosen, Forward | Convert) {
                            assert!(method.is_served(to), "{}", method.name);
                            assert_eq!(chosen == Forward, client == upstream, "{}", method.name);
                        }
                    }
                }
            }
        }
    }
}
