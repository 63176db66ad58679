//! A proxy in front of one server, and a gateway in front of several.

use super::canvas::{Anchor, Area, Canvas, Kind};
use crate::svg::Description;

const WIDTH: usize = 900;
const HEIGHT: usize = 520;

const CLIENTS: usize = 20;
const MIDDLE: usize = 335;
const SERVERS: usize = 690;
const SIDE: usize = 190;

pub(super) fn draw() -> Result<String, String> {
    let mut canvas = Canvas::new();
    canvas.heading(
        (CLIENTS, 28),
        "A proxy: one server, on another transport or in another revision",
    );
    let client = Area::new((CLIENTS, 46), (SIDE, 70));
    let proxy = Area::new((MIDDLE, 46), (230, 70));
    let server = Area::new((SERVERS, 46), (SIDE, 70));
    canvas.block(Kind::Other, client, "host", &["starts a command"]);
    canvas.block(
        Kind::Ours,
        proxy,
        "toolwire proxy",
        &["logs in, renews the token"],
    );
    canvas.block(Kind::Other, server, "server", &["needs a login"]);
    canvas.double_arrow(&[client.right(), proxy.left()]);
    canvas.label((272, 72), Anchor::Middle, "stdio");
    canvas.double_arrow(&[proxy.right(), server.left()]);
    canvas.label((627, 72), Anchor::Middle, "HTTPS");

    canvas.heading((CLIENTS, 164), "A gateway: many servers at one address");
    let gateway = Area::new((MIDDLE, 190), (230, 300));
    canvas.block(
        Kind::Ours,
        gateway,
        "toolwire gateway",
        &[
            "",
            "who calls: [auth]",
            "what each may use: rules",
            "how often: limits",
            "what has changed: pins",
            "what happened: audit log",
            "",
            "/mcp: all servers",
            "/mcp/NAME: one server",
        ],
    );
    let clients = [
        ("host of a user", "modern era"),
        ("host of a user", "legacy era"),
        ("program", "with a token"),
    ];
    let servers = [
        ("server", "a child process"),
        ("server", "login of each user"),
        ("server", "in another revision"),
    ];
    let transports = ["stdio", "HTTPS", "HTTP"];
    for (index, ((client, about), (server, kind))) in clients.iter().zip(servers).enumerate() {
        let y = 190 + index * 115;
        let left = Area::new((CLIENTS, y), (SIDE, 70));
        let right = Area::new((SERVERS, y), (SIDE, 70));
        let (_, middle) = left.left();
        canvas.block(Kind::Other, left, client, &[about]);
        canvas.block(Kind::Other, right, server, &[kind]);
        canvas.double_arrow(&[left.right(), (gateway.x, middle)]);
        canvas.label((272, middle - 9), Anchor::Middle, "HTTP");
        let (x, _) = gateway.right();
        canvas.double_arrow(&[(x, middle), right.left()]);
        canvas.label((627, middle - 9), Anchor::Middle, transports[index]);
    }
    let description = Description {
        title: "A proxy and a gateway",
        text: "Above, a host starts toolwire proxy as a command. The proxy logs in at a server over HTTPS. Below, several \
               clients call toolwire gateway over HTTP. The gateway checks the caller, rules, limits and pins, writes the audit \
               log, and calls several servers over stdio, HTTP and HTTPS.",
    };
    canvas.finish((WIDTH, HEIGHT), &description)
}
