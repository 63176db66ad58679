//! Upstream servers that a server mounts, and the helpers of their tests.

mod calls;
mod lists;
mod roots;
mod sampling_limit;
pub(crate) mod several;
mod subscriptions;

use serde_json::{Value, json};
use toolwire::relay::{Upstream, UpstreamSource};
use toolwire::{Mount, Server};
use toolwire_tests::peer::{Peer, modern, notification, server};

use crate::raw_upstream::{RawConnection, RawUpstream, raw_upstream};

pub(crate) const TOOL: &str = r#"{"x":1.0,"name":"greet","inputSchema":{"type":"object","n":1e2}}"#;

/// The capabilities of the upstream servers of these tests.
pub(crate) fn capabilities() -> Value {
    json!({
        "tools": {"listChanged": true},
        "prompts": {"listChanged": true},
        "resources": {"listChanged": true, "subscribe": true},
        "completions": {},
        "logging": {},
    })
}

/// Returns the result of a list method.
pub(crate) fn list_of(method: &str, tools: &str) -> String {
    match method {
        "tools/list" => format!(r#"{{"tools":[{tools}]}}"#),
        "prompts/list" => r#"{"prompts":[{"name":"p","y":2.0}]}"#.to_owned(),
        "resources/list" => r#"{"resources":[{"uri":"x://a","name":"a"}]}"#.to_owned(),
        "resources/templates/list" => {
            r#"{"resourceTemplates":[{"uriTemplate":"x://{b}/t","name":"b"}]}"#.to_owned()
        }
        _ => panic!("unexpected request {method}"),
    }
}

/// Adds the members of a modern list.
pub(crate) fn modern_list(method: &str, tools: &str) -> String {
    let list = list_of(method, tools);
    list.replacen(
        '{',
        r#"{"resultType":"complete","ttlMs":0,"cacheScope":"private","#,
        1,
    )
}

/// Serves the requests of a source that connects to a modern server. Returns the `subscriptions/listen` request.
pub(crate) async fn serve_modern_lists(server: &mut RawConnection, tools: &str) -> Value {
    let discover = server.receive().await;
    assert_eq!(discover["method"], "server/discover");
    let result = json!({
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": capabilities(),
        "instructions": "Read this.",
        "ttlMs": 0,
        "cacheScope": "public",
    });
    server.respond(&discover, &result.to_string()).await;
    // The relay and the source ask one after the other.
    let mut listen = None;
    let mut lists = 0;
    while lists < 4 {
        let request = server.receive().await;
        match request["method"].as_str() {
            Some("server/discover") => server.respond(&request, &result.to_string()).await,
            Some("subscriptions/listen") => {
                acknowledge(server, &request).await;
                listen = Some(request);
            }
            Some(method) => {
                server.respond(&request, &modern_list(method, tools)).await;
                lists += 1;
            }
            None => panic!("unexpected message {request}"),
        }
    }
    listen.expect("the source listens before it reads the lists")
}

pub(crate) async fn acknowledge(server: &RawConnection, listen: &Value) {
    let mut params = json!({"notifications": listen["params"]["notifications"]});
    params["_meta"] = json!({"io.modelcontextprotocol/subscriptionId": listen["id"]});
    let method = "notifications/subscriptions/acknowledged";
    server.send(notification(method, params)).await;
}

/// Serves the requests of a source that connects to a legacy server.
pub(crate) async fn serve_legacy_lists(server: &mut RawConnection, tools: &str) {
    let discover = server.receive().await;
    assert_eq!(discover["method"], "server/discover");
    server
        .reject(&discover, r#"{"code":-32601,"message":"unknown method"}"#)
        .await;
    let initialize = server.receive().await;
    assert_eq!(initialize["params"]["capabilities"], json!({}));
    server.respond(&initialize, &legacy_details()).await;
    let initialized = server.receive().await;
    assert_eq!(initialized["method"], "notifications/initialized");
    for _ in 0..4 {
        let request = server.receive().await;
        let method = request["method"].as_str().expect("a request");
        server.respond(&request, &list_of(method, tools)).await;
    }
}

pub(crate) fn legacy_details() -> String {
    json!({
        "protocolVersion": "2025-11-25",
        "capabilities": capabilities(),
        "serverInfo": {"name": "old", "version": "1"},
        "instructions": "Read this.",
    })
    .to_string()
}

/// A server with one upstream server that is mounted as `up`, and its first connection.
pub(crate) struct Mounted {
    pub(crate) server: Server,
    pub(crate) source: UpstreamSource,
    pub(crate) connections: RawUpstream,
    pub(crate) upstream: RawConnection,
    /// The `subscriptions/listen` request to a modern upstream server.
    pub(crate) listen: Value,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum UpstreamEra {
    Modern,
    Legacy,
}

pub(crate) async fn mounted(era: UpstreamEra) -> Mounted {
    mounted_with(era, |upstream| upstream).await
}

pub(crate) async fn mounted_with(
    era: UpstreamEra,
    options: impl FnOnce(Upstream) -> Upstream,
) -> Mounted {
    let (upstream, mut connections) = raw_upstream();
    let source = options(upstream.with_name("up")).source();
    let server = server().mount_with(Mount::new("up", source.clone()));
    let connect = source.connect();
    let serve = async {
        let mut upstream = connections.accept().await;
        let listen = match era {
            UpstreamEra::Modern => serve_modern_lists(&mut upstream, TOOL).await,
            UpstreamEra::Legacy => {
                serve_legacy_lists(&mut upstream, TOOL).await;
                Value::Null
            }
        };
        (upstream, listen)
    };
    let (connected, (upstream, listen)) = tokio::join!(connect, serve);
    connected.expect("the upstream server responds");
    Mounted {
        server,
        source,
        connections,
        upstream,
        listen,
    }
}

pub(crate) async fn listed(client: &mut Peer, method: &str) -> Value {
    client.result_of(modern("list", method, json!({}))).await
}
