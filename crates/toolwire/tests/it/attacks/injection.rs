//! Header injection: what comes in with a request does not come out in the head of an answer.

use super::house::{House, Reply};
use super::routers::ROUTERS;
use super::ways::Way;
use crate::http::request::Request;
use crate::http::socket::Wire;

const MARK: &str = "injected";

#[track_caller]
fn clean(house: &House, reply: &Reply, what: &str) {
    for (name, value) in &reply.headers {
        let value = String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase();
        let line = format!("{name}: {value}");
        assert!(
            !line.contains(MARK),
            "{}: {what}: {line}",
            house.router.name
        );
    }
}

fn replacing(request: &Request, name: &str, value: &str) -> Request {
    match request.has(name) {
        true => request.clone().replacing(name, value),
        false => request.clone().with(name, value),
    }
}

#[tokio::test]
async fn nothing_of_a_request_comes_back_in_a_head() {
    // Everything that a head may hold, and what others may make of it.
    let value = format!("a\u{ff}\t%0d%0aX-Evil: \", error=\"{MARK}");
    for router in ROUTERS {
        let house = House::open(router).await;
        for entrance in house.entrances() {
            let good = house.by("ann", (entrance.request)(&house.ann));
            for name in [
                "Mcp-Session-Id",
                "Last-Event-ID",
                "MCP-Protocol-Version",
                "Mcp-Method",
                "Mcp-Name",
                "Origin",
                "Authorization",
                "Content-Type",
                "Accept",
                "X-Forwarded-Host",
            ] {
                for value in [MARK, &value] {
                    let what = format!("{}: {name}: {value:?}", entrance.name);
                    let reply = house.ask(&replacing(&good, name, value)).await;
                    clean(&house, &reply, &what);
                }
            }
            let target = good.target().to_owned();
            let separator = if target.contains('?') { '&' } else { '?' };
            for query in [
                format!("sessionId=x%0d%0aX-Evil:%20{MARK}"),
                format!("{MARK}=1"),
            ] {
                let asked = good
                    .clone()
                    .with_target(format!("{target}{separator}{query}"));
                clean(&house, &house.ask(&asked).await, entrance.name);
            }
            let elsewhere = good.clone().with_target(format!("/{MARK}"));
            clean(&house, &house.ask(&elsewhere).await, entrance.name);
        }
    }
}

#[tokio::test]
async fn line_breaks_and_zeros_in_a_head_end_the_connection() {
    for router in ROUTERS.iter().filter(|one| one.way == Way::Http1) {
        let house = House::open(router).await;
        for entrance in house.entrances() {
            let good = house.by("ann", (entrance.request)(&house.ann));
            for value in ["a\rX-Evil: 1", "a\0b", "a\nX-Evil 1"] {
                for name in ["Mcp-Session-Id", "Last-Event-ID", "X-Any"] {
                    let bad = replacing(&good, name, value);
                    let mut wire = Wire::connect(house.endpoint.address).await;
                    wire.send_if_possible(bad.bytes()).await;
                    let head = wire.head_unless_closed().await;
                    let status = head.map(|head| head.status);
                    assert_eq!(status, Some(400), "{}: {name}: {value:?}", entrance.name);
                }
            }
        }
        assert_eq!(house.runs(), 0);
    }
}
