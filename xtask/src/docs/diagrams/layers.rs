//! The layers of the crates.

use super::canvas::{Anchor, Area, Canvas, Kind};
use crate::svg::Description;

/// The boxes of each layer, from the top: a name and its purpose.
const LAYERS: [&[(&str, &str)]; 12] = [
    &[("toolwire-cli", "the command toolwire")],
    &[
        ("toolwire-gateway", "many servers at one address"),
        ("toolwire-otel", "spans and metrics"),
    ],
    &[("toolwire-redis", "stores on Redis or Valkey")],
    &[("toolwire-auth", "access tokens, logins, the OAuth proxy")],
    &[("lib.rs, guide", "the public names and the guides")],
    &[
        ("relay", "forwards to other servers"),
        ("testing", "peers and assertions for tests"),
    ],
    &[("transport", "stdio, child processes, HTTP, in process")],
    &[
        ("server", "handlers, routing, request scope"),
        ("client", "calls, input handlers, cache"),
    ],
    &[("store", "traits for shared data, and memory stores")],
    &[("engine", "connections, cancellation, encoding, schemas")],
    &[("toolwire-proto", "the rules of the protocol, without I/O")],
    &[(
        "toolwire-types",
        "the messages as data, and the JSON writer",
    )],
];

/// The layers that are modules of the crate `toolwire`.
const MODULES: std::ops::RangeInclusive<usize> = 4..=9;

const WIDTH: usize = 860;
const LEFT: usize = 90;
const BOXES: usize = 640;
const ROW: usize = 58;
const TOP: usize = 20;
const HEIGHT: usize = 46;
const GAP: usize = 16;
/// The additional space above and below the modules of `toolwire`, for their frame.
const FRAME: usize = 26;

pub(super) fn draw() -> Result<String, String> {
    let mut canvas = Canvas::new();
    for (index, boxes) in LAYERS.iter().enumerate() {
        let y = row(index);
        let number = LAYERS.len() - 1 - index;
        canvas.label(
            (LEFT - 50, y + HEIGHT / 2 + 5),
            Anchor::Middle,
            &number.to_string(),
        );
        let width = (BOXES - GAP * (boxes.len() - 1)) / boxes.len();
        for (column, (name, purpose)) in boxes.iter().enumerate() {
            let x = LEFT + column * (width + GAP);
            let area = Area::new((x, y), (width, HEIGHT));
            canvas.block(Kind::Ours, area, name, &[purpose]);
        }
    }
    let (first, last) = (row(*MODULES.start()), row(*MODULES.end()));
    let frame = Area::new(
        (LEFT - 16, first - FRAME),
        (BOXES + 32, last + HEIGHT + 12 - (first - FRAME)),
    );
    canvas.frame(frame, "toolwire: modules of one crate");
    let x = LEFT + BOXES + 70;
    let end = row(LAYERS.len() - 1) + HEIGHT;
    canvas.arrow(&[(x, TOP), (x, end)]);
    canvas.label((x, end + 20), Anchor::Middle, "calls");
    let description = Description {
        title: "The layers of toolwire",
        text: "A stack of layers, from the command at the top to the types of messages at the bottom. A layer calls only \
               lower layers. ARCHITECTURE.md has the same layers as text.",
    };
    canvas.finish((WIDTH, end + 34), &description)
}

/// Returns the upper edge of a layer.
fn row(index: usize) -> usize {
    let frames = match index {
        index if index > *MODULES.end() => 2,
        index if index >= *MODULES.start() => 1,
        _ => 0,
    };
    // Below the frame, its border needs less space than its title above.
    let space = [0, FRAME, FRAME + 14];
    TOP + index * ROW + space[frames]
}
