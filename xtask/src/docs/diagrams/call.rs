//! A call of a tool in both eras, through the parts of a server.

use super::canvas::{Anchor, Area, Canvas, Kind};
use crate::svg::Description;

/// The parts that a call passes.
const ACTORS: [(Kind, &str, &str); 5] = [
    (Kind::Other, "client", "of any author"),
    (Kind::Ours, "transport", "stdio or HTTP"),
    (Kind::Ours, "engine", "rules of proto"),
    (Kind::Ours, "server", "routing, checks"),
    (Kind::Other, "handler", "your function"),
];

const CLIENT: usize = 0;
const ENGINE: usize = 2;
const HANDLER: usize = 4;

/// A message between two actors.
struct Message {
    from: usize,
    to: usize,
    text: &'static str,
}

const fn message(from: usize, to: usize, text: &'static str) -> Message {
    Message { from, to, text }
}

/// The messages of the legacy era.
const LEGACY: [Message; 8] = [
    message(CLIENT, ENGINE, "initialize: versions, capabilities"),
    message(ENGINE, CLIENT, "the session stores the negotiated version"),
    message(CLIENT, ENGINE, "tools/call"),
    message(ENGINE, HANDLER, "admitted with the version of the session"),
    message(
        HANDLER,
        CLIENT,
        "ask: elicitation/create, while the handler waits",
    ),
    message(CLIENT, HANDLER, "the input of the user"),
    message(HANDLER, ENGINE, "a result of the newest revision"),
    message(ENGINE, CLIENT, "stamped for the version of the session"),
];

/// The messages of the modern era.
const MODERN: [Message; 6] = [
    message(CLIENT, ENGINE, "tools/call, with version in _meta"),
    message(ENGINE, HANDLER, "admitted with the version of the request"),
    message(
        HANDLER,
        CLIENT,
        "ask: the result input_required, with sealed state",
    ),
    message(
        CLIENT,
        HANDLER,
        "tools/call again, with the input and the state",
    ),
    message(HANDLER, ENGINE, "a result of the newest revision"),
    message(ENGINE, CLIENT, "stamped for the version of the request"),
];

const LANES: usize = 180;
const FIRST: usize = 90;
const WIDTH: usize = 900;
const ACTOR: (usize, usize) = (150, 50);
const STEP: usize = 36;
const TOP: usize = 16;

pub(super) fn draw() -> Result<String, String> {
    let mut canvas = Canvas::new();
    let start = TOP + ACTOR.1;
    let legacy = start + 40;
    let modern = legacy + STEP * (LEGACY.len() + 1) + 10;
    let end = modern + STEP * MODERN.len() + 30;
    for (index, (kind, name, purpose)) in ACTORS.iter().enumerate() {
        let area = Area::new((lane(index) - ACTOR.0 / 2, TOP), ACTOR);
        canvas.block(*kind, area, name, &[purpose]);
        canvas.lane(area.bottom(), end);
    }
    part(
        &mut canvas,
        legacy,
        "Legacy era: a handshake, then calls",
        &LEGACY,
    );
    part(
        &mut canvas,
        modern,
        "Modern era: every request is complete",
        &MODERN,
    );
    let description = Description {
        title: "A call of a tool in both eras",
        text: "A sequence of messages between the client, the transport, the engine, the server and the handler. In the legacy \
               era, the version comes from the handshake, and a handler that asks for input waits for a response of the \
               client. In the modern era, the version is in the request, and the client sends the call again with the input. \
               The handler is the same, and the engine converts its result to the revision of the client.",
    };
    canvas.finish((WIDTH, end + 14), &description)
}

fn part(canvas: &mut Canvas, y: usize, title: &str, messages: &[Message]) {
    canvas.heading((14, y - 8), title);
    for (index, message) in messages.iter().enumerate() {
        let y = y + STEP * (index + 1) - 6;
        let (from, to) = (lane(message.from), lane(message.to));
        canvas.arrow(&[(from, y), (to, y)]);
        canvas.label((from.midpoint(to), y - 6), Anchor::Middle, message.text);
    }
}

fn lane(actor: usize) -> usize {
    FIRST + actor * LANES
}
