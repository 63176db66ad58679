//! Rebinding of DNS, and web pages of elsewhere: who is meant, and who sends, is judged before anything else.

use super::house::{House, Reply};
use super::routers::ROUTERS;

const EVIL_HOSTS: [&str; 8] = [
    "evil.test",
    "evil.test:80",
    "localhost.evil.test",
    "127.0.0.1.nip.io",
    "mcp.example.com",
    "10.0.0.1",
    "0.0.0.0",
    "[::2]",
];

#[track_caller]
fn refused(house: &House, reply: &Reply, status: u16, what: &str) {
    let name = house.router.name;
    assert_eq!(reply.status, status, "{name}: {what}: {}", reply.text);
    for header in [
        "mcp-session-id",
        "access-control-allow-origin",
        "www-authenticate",
        "allow",
    ] {
        assert_eq!(reply.header(header), None, "{name}: {what}: {header}");
    }
    assert_eq!(house.runs(), 0, "{name}: {what}");
}

#[tokio::test]
async fn nobody_is_served_under_a_name_that_is_not_ours() {
    for router in ROUTERS {
        let house = House::open(router).await;
        for entrance in house.entrances() {
            let good = house.by("ann", (entrance.request)(&house.ann));
            for host in EVIL_HOSTS {
                let what = format!("{} at {host}", entrance.name);
                let reply = house.ask(&good.clone().replacing("Host", host)).await;
                refused(&house, &reply, 403, &what);
            }
            let elsewhere = good
                .clone()
                .replacing("Host", "evil.test")
                .with_target("/elsewhere");
            refused(&house, &house.ask(&elsewhere).await, 403, entrance.name);
        }
    }
}

#[tokio::test]
async fn a_target_that_names_another_host_is_judged_too() {
    for router in ROUTERS {
        let house = House::open(router).await;
        for entrance in house.entrances() {
            let good = house.by("ann", (entrance.request)(&house.ann));
            let path = good.target().to_owned();
            let evil = good.with_target(format!("http://evil.test{path}"));
            refused(&house, &house.ask(&evil).await, 403, entrance.name);
        }
    }
}

#[tokio::test]
async fn two_hosts_are_none() {
    for router in ROUTERS.iter().filter(|one| one.way.has_host_lines()) {
        let house = House::open(router).await;
        for entrance in house.entrances() {
            let good = house.by("ann", (entrance.request)(&house.ann));
            for second in ["localhost", "evil.test"] {
                let reply = house.ask(&good.clone().with("Host", second)).await;
                refused(&house, &reply, 400, entrance.name);
            }
        }
    }
}

#[tokio::test]
async fn pages_of_elsewhere_are_not_heard_whatever_their_token() {
    for router in ROUTERS {
        let house = House::open(router).await;
        for entrance in house.entrances() {
            let good = house.by("ann", (entrance.request)(&house.ann));
            for origin in [
                "https://evil.test",
                "null",
                "",
                "http://localhost.evil.test",
                "https://mcp.example.com",
                "file://",
            ] {
                let what = format!("{} from {origin:?}", entrance.name);
                let page = match good.has("Origin") {
                    true => good.clone().replacing("Origin", origin),
                    false => good.clone().with("Origin", origin),
                };
                let reply = house.ask(&page).await;
                // The document is the same for everybody, and every page may read it.
                if entrance.name.starts_with("metadata") {
                    assert_eq!(reply.status, 200, "{what}");
                    let readers = reply.header("access-control-allow-origin");
                    assert_eq!(readers, Some("*"), "{what}");
                    continue;
                }
                refused(&house, &reply, 403, &what);
            }
        }
    }
}

#[tokio::test]
async fn what_a_page_may_send_without_asking_is_not_read() {
    for router in ROUTERS {
        let house = House::open(router).await;
        for entrance in house.entrances().filter(|one| one.has_body) {
            let good = house.by("ann", (entrance.request)(&house.ann));
            for kind in [
                "text/plain",
                "application/x-www-form-urlencoded",
                "multipart/form-data; boundary=x",
                "text/plain; application/json",
                "",
            ] {
                let simple = good.clone().replacing("Content-Type", kind);
                let what = format!("{} as {kind:?}", entrance.name);
                refused(&house, &house.ask(&simple).await, 415, &what);
            }
            let untyped = good.without("Content-Type");
            refused(&house, &house.ask(&untyped).await, 415, entrance.name);
        }
    }
}
