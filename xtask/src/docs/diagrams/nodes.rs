//! Several nodes of one service, with an engine that they share.

use super::canvas::{Anchor, Area, Canvas, Kind};
use crate::svg::Description;

const WIDTH: usize = 900;
const HEIGHT: usize = 530;

pub(super) fn draw() -> Result<String, String> {
    let mut canvas = Canvas::new();
    let modern = Area::new((120, 20), (300, 62));
    let legacy = Area::new((480, 20), (300, 62));
    canvas.block(
        Kind::Other,
        modern,
        "clients of the modern era",
        &["each request is complete"],
    );
    canvas.block(
        Kind::Other,
        legacy,
        "clients of the legacy era",
        &["requests in a session"],
    );
    let balancer = Area::new((300, 134), (300, 62));
    canvas.block(
        Kind::Other,
        balancer,
        "load balancer",
        &["any node for any request"],
    );
    for clients in [modern, legacy] {
        let (x, y) = clients.bottom();
        let turn = y + 26;
        let end = if x < 450 { 400 } else { 500 };
        canvas.arrow(&[(x, y), (x, turn), (end, turn), (end, balancer.y)]);
    }
    let engine = Area::new((100, 420), (700, 90));
    for index in 0..3 {
        let node = Area::new((60 + index * 270, 254), (240, 80));
        let title = format!("node {}", index + 1);
        canvas.block(
            Kind::Ours,
            node,
            &title,
            &["the same server and keys", "running calls, open streams"],
        );
        let (top, y) = node.top();
        let (bottom, _) = balancer.bottom();
        let start = bottom + index * 80 - 80;
        let turn = 226;
        canvas.arrow(&[(start, 196), (start, turn), (top, turn), (top, y)]);
        canvas.double_arrow(&[node.bottom(), (top, engine.y)]);
    }
    canvas.label((466, 382), Anchor::Start, "only for sessions, tasks,");
    canvas.label((466, 400), Anchor::Start, "changes and single use");
    canvas.block(
        Kind::Other,
        engine,
        "engine: Redis or Valkey",
        &[
            "sessions and their events, tasks, used nonces, logins",
            "a bus for changes, and a mailbox for each node",
        ],
    );
    let description = Description {
        title: "Several nodes with an engine",
        text: "Clients of both eras reach three nodes through a load balancer, which may choose any node for any request. \
               The nodes have the same server and the same keys. They share an engine, Redis or Valkey, which stores sessions, \
               events, tasks, nonces and logins, and passes messages between the nodes. Calls of clients of the modern era need the \
               engine only for tasks, changes and what may be used once.",
    };
    canvas.finish((WIDTH, HEIGHT), &description)
}
