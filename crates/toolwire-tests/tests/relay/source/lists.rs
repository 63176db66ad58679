//! The entries of an upstream server, and their changes.

use std::time::Duration;

use serde_json::{Value, json};
use toolwire::relay::{UpstreamSource, UpstreamStatus};
use toolwire::{Client, ClientLimits, Mount};
use toolwire_tests::peer::{Peer, call, modern, notification, server, within};

use crate::raw_upstream::{RawConnection, RawUpstream, raw_upstream};
use crate::source::{
    TOOL, UpstreamEra, acknowledge, capabilities, list_of, listed, modern_list, mounted,
    serve_modern_lists,
};

#[tokio::test]
async fn entries_keep_their_text_and_get_the_prefix() {
    for era in [UpstreamEra::Modern, UpstreamEra::Legacy] {
        let mounted = mounted(era).await;
        let mut client = Peer::connect(&mounted.server);
        client.send(modern(1, "tools/list", json!({}))).await;
        let text = client.receive_text().await;
        assert!(text.contains(&TOOL.replace("greet", "up_greet")), "{text}");
        let prompts = listed(&mut client, "prompts/list").await;
        assert_eq!(prompts["prompts"], json!([{"name": "up_p", "y": 2.0}]));
        let discovered = client
            .result_of(modern(2, "server/discover", json!({})))
            .await;
        assert_eq!(discovered["instructions"], "# up\nRead this.");
        assert_eq!(discovered["capabilities"]["logging"], json!({}));
        assert_eq!(discovered["capabilities"]["completions"], json!({}));
        assert_eq!(
            discovered["capabilities"]["resources"],
            json!({"listChanged": true, "subscribe": true})
        );
        let state = mounted.source.state();
        assert_eq!(state.status, UpstreamStatus::Connected);
        assert_eq!((state.tools, state.entries()), (1, 4));
    }
}

#[tokio::test]
async fn list_change_of_the_upstream_server_reaches_clients_once() {
    for era in [UpstreamEra::Modern, UpstreamEra::Legacy] {
        let mut mounted = mounted(era).await;
        let mut client = Peer::connect(&mounted.server);
        let filter =
            json!({"notifications": {"toolsListChanged": true, "promptsListChanged": true}});
        client
            .send(modern("l", "subscriptions/listen", filter))
            .await;
        let acknowledged = client.receive().await;
        assert_eq!(
            acknowledged["method"],
            "notifications/subscriptions/acknowledged"
        );
        let mut params = json!({});
        if era == UpstreamEra::Modern {
            params["_meta"] =
                json!({"io.modelcontextprotocol/subscriptionId": mounted.listen["id"]});
        }
        let changed = notification("notifications/tools/list_changed", params);
        mounted.upstream.send(changed).await;
        let other = r#"{"name":"other","inputSchema":{"type":"object"}}"#;
        for _ in 0..4 {
            let request = mounted.upstream.receive().await;
            let method = request["method"].as_str().expect("a request");
            let list = match era {
                UpstreamEra::Modern => modern_list(method, other),
                UpstreamEra::Legacy => list_of(method, other),
            };
            mounted.upstream.respond(&request, &list).await;
        }
        let changed = client.receive().await;
        assert_eq!(changed["method"], "notifications/tools/list_changed");
        let tools = listed(&mut client, "tools/list").await;
        assert_eq!(tools["tools"][0]["name"], "up_other");
    }
}

#[tokio::test]
async fn unreachable_upstream_server_removes_only_its_own_entries() {
    let mounted = mounted(UpstreamEra::Modern).await;
    let (down, mut attempts) = raw_upstream();
    let down = down.with_name("down").source();
    let server = mounted.server.clone().mount("down", down.clone());
    let refuse = async {
        drop(attempts.accept().await);
    };
    let (connected, ()) = tokio::join!(down.connect(), refuse);
    assert!(connected.is_err());
    let state = down.state();
    assert!(
        matches!(state.status, UpstreamStatus::Unreachable { .. }),
        "{state:?}"
    );
    let mut client = Peer::connect(&server);
    let tools = listed(&mut client, "tools/list").await;
    assert_eq!(tools["tools"].as_array().map(Vec::len), Some(1));
    assert_eq!(tools["_meta"].get("toolwire/outdatedSources"), None);
    // The other one goes away, and its entries stay listed.
    drop(mounted.upstream);
    let mut connections = mounted.connections;
    tokio::spawn(async move {
        loop {
            drop(connections.accept().await);
        }
    });
    let error = client
        .error_of(call(2, "up_greet", json!({})), -32603)
        .await;
    assert_eq!(
        error["data"],
        json!({"reason": "upstream_unreachable", "upstream": "up"})
    );
    until_unreachable(&mounted.source).await;
    let tools = listed(&mut client, "tools/list").await;
    assert_eq!(tools["tools"].as_array().map(Vec::len), Some(1));
    assert_eq!(tools["_meta"]["toolwire/outdatedSources"], json!(["up"]));
}

/// Waits until a source has noticed that its server is not reachable.
async fn until_unreachable(source: &UpstreamSource) {
    let is_unreachable = || matches!(source.state().status, UpstreamStatus::Unreachable { .. });
    within(async {
        while !is_unreachable() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// Connects a source, whose lists have these hints.
async fn with_hint(
    source: &UpstreamSource,
    connections: &mut RawUpstream,
    hint: &str,
) -> RawConnection {
    let serve = async {
        let mut upstream = connections.accept().await;
        let mut served = 0;
        while served < 4 {
            let request = upstream.receive().await;
            let method = request["method"].as_str().expect("a request");
            match method {
                "server/discover" => {
                    let result = json!({
                        "resultType": "complete",
                        "supportedVersions": ["2026-07-28"],
                        "capabilities": capabilities(),
                        "ttlMs": 0,
                        "cacheScope": "public",
                    });
                    upstream.respond(&request, &result.to_string()).await;
                }
                "subscriptions/listen" => acknowledge(&upstream, &request).await,
                _ => {
                    let list = list_of(method, TOOL).replacen('{', &format!("{{{hint},"), 1);
                    upstream.respond(&request, &list).await;
                    served += 1;
                }
            }
        }
        upstream
    };
    let (connected, upstream) = tokio::join!(source.connect(), serve);
    connected.expect("the upstream server responds");
    upstream
}

#[tokio::test]
async fn lists_have_the_shortest_and_narrowest_hint_of_the_upstream_servers() {
    let (first, mut first_connections) = raw_upstream();
    let (second, mut second_connections) = raw_upstream();
    let (first, second) = (first.source(), second.source());
    let public = r#""resultType":"complete","ttlMs":7000,"cacheScope":"public""#;
    let private = r#""resultType":"complete","ttlMs":9000,"cacheScope":"private""#;
    let server = server().mount("first", first.clone());
    let mut client = Peer::connect(&server);
    let check = async |client: &mut Peer, ttl: u64, scope: &str| {
        let tools = listed(client, "tools/list").await;
        assert_eq!(tools["ttlMs"], ttl, "{tools}");
        assert_eq!(tools["cacheScope"], scope, "{tools}");
    };
    let first_upstream = with_hint(&first, &mut first_connections, public).await;
    check(&mut client, 7000, "public").await;
    server
        .add_mount(Mount::new("second", second.clone()))
        .expect("the names are free");
    check(&mut client, 0, "private").await;
    let _second_upstream = with_hint(&second, &mut second_connections, private).await;
    check(&mut client, 7000, "private").await;
    // The lists of a server that is not reachable are not fresh.
    drop(first_upstream);
    until_unreachable(&first).await;
    check(&mut client, 0, "private").await;
}

#[tokio::test(start_paused = true)]
async fn entries_appear_when_the_upstream_server_becomes_reachable() {
    let (upstream, mut connections) = raw_upstream();
    let source = upstream.source();
    let server = server().mount("up", source.clone());
    drop(connections.accept().await);
    let mut client = Peer::connect(&server);
    let filter = json!({"notifications": {"toolsListChanged": true}});
    client
        .send(modern("l", "subscriptions/listen", filter))
        .await;
    client.receive().await;
    let mut upstream = connections.accept().await;
    serve_modern_lists(&mut upstream, TOOL).await;
    let changed = client.receive().await;
    assert_eq!(changed["method"], "notifications/tools/list_changed");
    let tools = listed(&mut client, "tools/list").await;
    assert_eq!(tools["tools"][0]["name"], "up_greet");
    source.close().await;
    assert_eq!(source.state().status, UpstreamStatus::Closed);
    assert_eq!(source.state().entries(), 0);
    upstream.expect_end().await;
}

/// Responds to `server/discover` of a server with tools whose changes are not announced, until the tools are requested.
async fn tools_request(server: &mut RawConnection) -> Value {
    let result = json!({
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}},
        "ttlMs": 0,
        "cacheScope": "public",
    });
    loop {
        let request = server.receive().await;
        match request["method"].as_str() {
            Some("server/discover") => server.respond(&request, &result.to_string()).await,
            Some("tools/list") => return request,
            _ => panic!("unexpected message {request}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn lists_without_announced_changes_are_read_again_after_a_minute() {
    let (upstream, mut connections) = raw_upstream();
    let source = upstream.source();
    let server = server().mount("up", source.clone());
    let mut upstream = connections.accept().await;
    let mut client = Peer::connect(&server);
    for tool in [TOOL.to_owned(), TOOL.replace("greet", "leave")] {
        let request = tools_request(&mut upstream).await;
        upstream
            .respond(&request, &modern_list("tools/list", &tool))
            .await;
        // The next read starts within this time.
        tokio::time::sleep(Duration::from_secs(61)).await;
        let tools = listed(&mut client, "tools/list").await;
        let renamed = tool.replace(r#""name":""#, r#""name":"up_"#);
        let expected: Value = serde_json::from_str(&renamed).expect("JSON");
        assert_eq!(tools["tools"], json!([expected]));
    }
}

#[tokio::test]
async fn list_with_too_many_pages_is_rejected() {
    for (pages, is_accepted) in [(2, true), (3, false)] {
        let (upstream, mut connections) = raw_upstream();
        let mut limits = ClientLimits::default();
        limits.pages = 2;
        let builder = Client::builder("test", "1").with_limits(limits);
        let source = upstream.with_builder(builder).source();
        let serve = async {
            let mut upstream = connections.accept().await;
            for page in 1..=pages.min(2) {
                let request = tools_request(&mut upstream).await;
                let mut list: Value =
                    serde_json::from_str(&modern_list("tools/list", TOOL)).expect("JSON");
                if page < pages {
                    list["nextCursor"] = page.to_string().into();
                }
                upstream.respond(&request, &list.to_string()).await;
            }
            upstream
        };
        let (connected, _upstream) = tokio::join!(source.connect(), serve);
        assert_eq!(connected.is_ok(), is_accepted, "{connected:?}");
        assert_eq!(source.state().tools, if is_accepted { 2 } else { 0 });
    }
}

#[tokio::test(start_paused = true)]
async fn list_that_the_upstream_server_rejects_does_not_change_other_lists() {
    let (upstream, mut connections) = raw_upstream();
    let source = upstream.source();
    let serve = async {
        let mut upstream = connections.accept().await;
        let result = json!({
            "resultType": "complete",
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}, "prompts": {}, "resources": {}},
            "ttlMs": 0,
            "cacheScope": "public",
        });
        let mut reads = 0;
        while reads < 8 {
            let request = upstream.receive().await;
            let method = request["method"].as_str().expect("a request");
            reads += usize::from(method != "server/discover");
            match method {
                "server/discover" => upstream.respond(&request, &result.to_string()).await,
                "prompts/list" => {
                    let error = r#"{"code":-32601,"message":"unknown method"}"#;
                    upstream.reject(&request, error).await;
                }
                // The second request for this list is rejected, so that the first one stays.
                "resources/list" if reads > 4 => {
                    let error = r#"{"code":-32603,"message":"busy"}"#;
                    upstream.reject(&request, error).await;
                }
                _ => upstream.respond(&request, &modern_list(method, TOOL)).await,
            }
            if reads == 4 || reads == 8 {
                // The next reading starts within this time.
                tokio::time::sleep(Duration::from_secs(61)).await;
            }
        }
        upstream
    };
    let (connected, _upstream) = tokio::join!(source.connect(), serve);
    assert!(connected.is_ok(), "{connected:?}");
    let state = source.state();
    assert_eq!(state.status, UpstreamStatus::Connected);
    let counts = (
        state.tools,
        state.prompts,
        state.resources,
        state.resource_templates,
    );
    assert_eq!(counts, (1, 0, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn many_announced_changes_cause_one_more_reading() {
    let mut mounted = mounted(UpstreamEra::Modern).await;
    let subscription = json!({"io.modelcontextprotocol/subscriptionId": mounted.listen["id"]});
    let announce = async |upstream: &RawConnection, list: &str| {
        let method = format!("notifications/{list}/list_changed");
        let changed = notification(&method, json!({"_meta": subscription}));
        upstream.send(changed).await;
    };
    announce(&mounted.upstream, "tools").await;
    for reading in 0..2 {
        for _ in 0..4 {
            let request = mounted.upstream.receive().await;
            let method = request["method"].as_str().expect("a request");
            if reading == 0 && method == "prompts/list" {
                for _ in 0..10 {
                    announce(&mounted.upstream, "tools").await;
                    announce(&mounted.upstream, "prompts").await;
                    announce(&mounted.upstream, "resources").await;
                }
            }
            let list = modern_list(method, TOOL);
            mounted.upstream.respond(&request, &list).await;
        }
    }
    let quiet = tokio::time::timeout(Duration::from_secs(30), mounted.upstream.next());
    assert!(quiet.await.is_err());
}
