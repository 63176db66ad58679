//! Upstream servers that a server mounts.

use serde_json::{Value, json};
use toolwire::relay::{Upstream, UpstreamSource, UpstreamStatus};
use toolwire::{Mount, Server};
use toolwire_tests::peer::{
    Peer, call, cancel, legacy, modern, modern_with, notification, result_response, server,
};

use crate::raw_upstream::{RawConnection, RawUpstream, raw_upstream};

const TOOL: &str = r#"{"x":1.0,"name":"greet","inputSchema":{"type":"object","n":1e2}}"#;

/// The capabilities of the upstream servers of these tests.
fn capabilities() -> Value {
    json!({
        "tools": {"listChanged": true},
        "prompts": {"listChanged": true},
        "resources": {"listChanged": true, "subscribe": true},
        "completions": {},
        "logging": {},
    })
}

/// Returns the result of a list method.
fn list_of(method: &str, tools: &str) -> String {
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
fn modern_list(method: &str, tools: &str) -> String {
    let list = list_of(method, tools);
    list.replacen(
        '{',
        r#"{"resultType":"complete","ttlMs":0,"cacheScope":"private","#,
        1,
    )
}

/// Serves the requests of a source that connects to a modern server. Returns the `subscriptions/listen` request.
async fn serve_modern_lists(server: &mut RawConnection, tools: &str) -> Value {
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

async fn acknowledge(server: &RawConnection, listen: &Value) {
    let mut params = json!({"notifications": listen["params"]["notifications"]});
    params["_meta"] = json!({"io.modelcontextprotocol/subscriptionId": listen["id"]});
    let method = "notifications/subscriptions/acknowledged";
    server.send(notification(method, params)).await;
}

/// Serves the requests of a source that connects to a legacy server.
async fn serve_legacy_lists(server: &mut RawConnection, tools: &str) {
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

fn legacy_details() -> String {
    json!({
        "protocolVersion": "2025-11-25",
        "capabilities": capabilities(),
        "serverInfo": {"name": "old", "version": "1"},
        "instructions": "Read this.",
    })
    .to_string()
}

/// A server with one upstream server that is mounted as `up`, and its first connection.
struct Mounted {
    server: Server,
    source: UpstreamSource,
    connections: RawUpstream,
    upstream: RawConnection,
    /// The `subscriptions/listen` request to a modern upstream server.
    listen: Value,
}

#[derive(Clone, Copy, PartialEq)]
enum UpstreamEra {
    Modern,
    Legacy,
}

async fn mounted(era: UpstreamEra) -> Mounted {
    mounted_with(era, |upstream| upstream).await
}

async fn mounted_with(era: UpstreamEra, options: impl FnOnce(Upstream) -> Upstream) -> Mounted {
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

async fn listed(client: &mut Peer, method: &str) -> Value {
    client.result_of(modern("list", method, json!({}))).await
}

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
async fn modern_client_calls_a_modern_upstream_server() {
    let mut mounted = mounted(UpstreamEra::Modern).await;
    let mut client = Peer::connect(&mounted.server);
    let mut request = modern_with(
        7,
        "tools/call",
        json!({"name": "up_greet", "arguments": {"a": 1.0}, "own": 1}),
        json!({"elicitation": {}, "sampling": {}, "roots": {}}),
    );
    request["params"]["_meta"]["progressToken"] = "t".into();
    client.send(request).await;
    let call = mounted.upstream.receive().await;
    assert_eq!(call["method"], "tools/call");
    assert_eq!(call["params"]["name"], "greet");
    assert_eq!(call["params"]["arguments"], json!({"a": 1.0}));
    assert_eq!(call["params"]["own"], 1);
    let meta = &call["params"]["_meta"];
    // Sampling and roots are not permitted.
    assert_eq!(
        meta["io.modelcontextprotocol/clientCapabilities"],
        json!({"elicitation": {}})
    );
    let progress = json!({"progressToken": meta["progressToken"], "progress": 1, "x": 2.0});
    mounted
        .upstream
        .send(notification("notifications/progress", progress))
        .await;
    let progress = client.receive().await;
    assert_eq!(
        progress["params"],
        json!({"progressToken": "t", "progress": 1, "x": 2.0})
    );
    let result = r#"{"resultType":"complete","content":[],"n":1.0}"#;
    mounted.upstream.respond(&call, result).await;
    let response = client.receive_text().await;
    assert!(response.contains(r#""content":[],"n":1.0"#), "{response}");
}

#[tokio::test]
async fn input_of_a_modern_upstream_server_has_a_sealed_state() {
    let mut mounted = mounted(UpstreamEra::Modern).await;
    let mut client = Peer::connect(&mounted.server);
    let ask = |id: i64, mut params: Value| {
        params["name"] = "up_greet".into();
        modern_with(id, "tools/call", params, json!({"elicitation": {}}))
    };
    client.send(ask(1, json!({"arguments": {"a": 1}}))).await;
    let call = mounted.upstream.receive().await;
    let result = json!({
        "resultType": "input_required",
        "inputRequests": {"k": {"method": "elicitation/create", "params": {"message": "Who?"}}},
        "requestState": "secret",
    });
    mounted.upstream.respond(&call, &result.to_string()).await;
    let required = client.receive().await["result"].clone();
    // The upstream server is the only source.
    assert_eq!(required["inputRequests"], result["inputRequests"]);
    let state = required["requestState"].as_str().expect("a state");
    assert!(!state.contains("secret"));
    let responses = json!({"k": {"action": "accept", "content": {}}});
    let retry = |id, arguments: Value| {
        ask(
            id,
            json!({"arguments": arguments, "requestState": state, "inputResponses": responses}),
        )
    };
    // The state belongs to the call with the same arguments.
    client.error_of(retry(2, json!({"a": 2})), -32602).await;
    client.send(retry(3, json!({"a": 1}))).await;
    let call = mounted.upstream.receive().await;
    assert_eq!(call["params"]["requestState"], "secret");
    assert_eq!(call["params"]["inputResponses"], responses);
    let result = r#"{"resultType":"complete","content":[]}"#;
    mounted.upstream.respond(&call, result).await;
    assert_eq!(client.receive().await["result"]["content"], json!([]));
}

#[tokio::test]
async fn input_of_a_legacy_upstream_server_parks_the_call_of_a_modern_client() {
    let mut mounted = mounted(UpstreamEra::Legacy).await;
    let mut client = Peer::connect(&mounted.server);
    let ask = |id: i64, mut params: Value| {
        params["name"] = "up_greet".into();
        let capabilities = json!({"elicitation": {}, "roots": {}});
        modern_with(id, "tools/call", params, capabilities)
    };
    client.send(ask(1, json!({"arguments": {"a": 1}}))).await;
    let (mut session, params) = mounted.connections.accept_legacy(&legacy_details()).await;
    assert_eq!(params["capabilities"], json!({"elicitation": {}}));
    assert_eq!(
        session.receive().await["method"],
        "notifications/initialized"
    );
    let call = session.receive().await;
    assert_eq!(
        call["params"],
        json!({"name": "greet", "arguments": {"a": 1}})
    );
    let question =
        json!({"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}});
    let request =
        json!({"jsonrpc": "2.0", "id": "s1", "method": "elicitation/create", "params": question});
    session.send(request).await;
    let required = client.receive().await["result"].clone();
    assert_eq!(required["resultType"], "input_required");
    let accepted = json!({"action": "accept", "content": {}});
    let retry = json!({
        "arguments": {"a": 1},
        "requestState": required["requestState"],
        "inputResponses": {"q1": accepted},
    });
    client.send(ask(2, retry)).await;
    assert_eq!(session.receive().await, result_response("s1", accepted));
    session.respond(&call, r#"{"content":[],"n":1.0}"#).await;
    let response = client.receive().await;
    assert_eq!(response["result"]["n"], 1.0);
}

/// Returns an initialized 2025-11-25 client with all capabilities.
async fn legacy_client(server: &Server) -> Peer {
    let mut client = Peer::connect(server);
    let capabilities = json!({"elicitation": {"form": {}}, "sampling": {}, "roots": {}});
    client.initialize_with("2025-11-25", capabilities).await;
    client
}

#[tokio::test]
async fn input_of_a_modern_upstream_server_is_requested_from_a_legacy_client() {
    let mut mounted = mounted(UpstreamEra::Modern).await;
    let mut client = legacy_client(&mounted.server).await;
    let call = json!({"name": "up_greet", "arguments": {"a": 1}});
    client.send(legacy(5, "tools/call", call)).await;
    // The server is asked for a session first.
    let mut rejecting = mounted.connections.accept().await;
    let initialize = rejecting.receive().await;
    assert_eq!(initialize["method"], "initialize");
    let unknown = r#"{"code":-32601,"message":"unknown method"}"#;
    rejecting.reject(&initialize, unknown).await;
    let call = mounted.upstream.receive().await;
    assert_eq!(call["params"]["name"], "greet");
    assert_eq!(
        call["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"],
        json!({"elicitation": {"form": {}}})
    );
    let form = json!({"mode": "form", "message": "Who?", "requestedSchema": {"type": "object", "properties": {}}});
    let result = json!({
        "resultType": "input_required",
        "inputRequests": {"k": {"method": "elicitation/create", "params": form}},
        "requestState": "s",
    });
    mounted.upstream.respond(&call, &result.to_string()).await;
    let request = client.receive().await;
    assert_eq!(request["method"], "elicitation/create");
    assert_eq!(request["params"]["message"], "Who?");
    let accepted = json!({"action": "accept", "content": {}});
    client
        .send(result_response(request["id"].clone(), accepted.clone()))
        .await;
    let again = mounted.upstream.receive().await;
    assert_eq!(again["params"]["requestState"], "s");
    assert_eq!(again["params"]["inputResponses"], json!({"k": accepted}));
    let result = r#"{"resultType":"complete","content":[],"n":1.0}"#;
    mounted.upstream.respond(&again, result).await;
    client
        .expect(result_response(5, json!({"content": [], "n": 1.0})))
        .await;
}

#[tokio::test]
async fn legacy_client_has_a_session_with_a_legacy_upstream_server() {
    let mut mounted = mounted(UpstreamEra::Legacy).await;
    let mut client = legacy_client(&mounted.server).await;
    client
        .send(legacy(4, "logging/setLevel", json!({"level": "warning"})))
        .await;
    client.expect(result_response(4, json!({}))).await;
    let call = |id: i64| {
        legacy(
            id,
            "tools/call",
            json!({"name": "up_greet", "arguments": {}}),
        )
    };
    client.send(call(5)).await;
    let (mut session, params) = mounted.connections.accept_legacy(&legacy_details()).await;
    assert_eq!(params["capabilities"], json!({"elicitation": {"form": {}}}));
    assert_eq!(params["clientInfo"]["name"], "legacy-peer");
    assert_eq!(
        session.receive().await["method"],
        "notifications/initialized"
    );
    let level = session.receive().await;
    assert_eq!(level["method"], "logging/setLevel");
    assert_eq!(level["params"], json!({"level": "warning"}));
    session.respond(&level, "{}").await;
    let first = session.receive().await;
    assert_eq!(first["params"]["name"], "greet");
    let sampling =
        json!({"jsonrpc": "2.0", "id": "s0", "method": "sampling/createMessage", "params": {}});
    session.send(sampling).await;
    let rejected = session.receive().await;
    assert_eq!(rejected["error"]["code"], -32603);
    let question =
        json!({"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}});
    let request =
        json!({"jsonrpc": "2.0", "id": "s1", "method": "elicitation/create", "params": question});
    session.send(request).await;
    let request = client.receive().await;
    assert_eq!(request["params"], question);
    let declined = json!({"action": "decline"});
    client
        .send(result_response(request["id"].clone(), declined.clone()))
        .await;
    assert_eq!(session.receive().await, result_response("s1", declined));
    session.respond(&first, r#"{"content":[],"n":1.0}"#).await;
    client
        .expect(result_response(5, json!({"content": [], "n": 1.0})))
        .await;
    // The next call uses the same session.
    client.send(call(6)).await;
    let second = session.receive().await;
    client.send(cancel(6)).await;
    let cancelled = session.receive().await;
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], second["id"]);
    drop(client);
    session.expect_end().await;
}

#[tokio::test]
async fn other_methods_reach_the_upstream_server_with_its_names() {
    let mut mounted = mounted(UpstreamEra::Modern).await;
    let mut client = Peer::connect(&mounted.server);
    let reference = json!({"type": "ref/prompt", "name": "up_p"});
    let complete = json!({"ref": reference, "argument": {"name": "a", "value": "v"}});
    for (method, params, member, expected, result) in [
        (
            "prompts/get",
            json!({"name": "up_p"}),
            "name",
            json!("p"),
            r#"{"messages":[]}"#,
        ),
        (
            "resources/read",
            json!({"uri": "x://a"}),
            "uri",
            json!("x://a"),
            r#"{"contents":[]}"#,
        ),
        (
            "resources/read",
            json!({"uri": "x://7/t"}),
            "uri",
            json!("x://7/t"),
            r#"{"contents":[]}"#,
        ),
        (
            "completion/complete",
            complete,
            "ref",
            json!({"type": "ref/prompt", "name": "p"}),
            r#"{"completion":{"values":[]}}"#,
        ),
    ] {
        client.send(modern(1, method, params)).await;
        let request = mounted.upstream.receive().await;
        assert_eq!(request["method"], method);
        assert_eq!(request["params"][member], expected);
        mounted.upstream.respond(&request, result).await;
        let response = client.receive().await;
        assert!(response.get("result").is_some(), "{response}");
    }
}

#[tokio::test]
async fn subscriptions_are_forwarded_and_updates_come_back() {
    let mut mounted = mounted(UpstreamEra::Legacy).await;
    let mut client = Peer::connect(&mounted.server);
    let filter = json!({"notifications": {"resourceSubscriptions": ["x://a"]}});
    client
        .send(modern("l", "subscriptions/listen", filter))
        .await;
    client.receive().await;
    let subscribe = mounted.upstream.receive().await;
    assert_eq!(subscribe["method"], "resources/subscribe");
    assert_eq!(subscribe["params"]["uri"], "x://a");
    mounted.upstream.respond(&subscribe, "{}").await;
    let updated = notification("notifications/resources/updated", json!({"uri": "x://a"}));
    mounted.upstream.send(updated).await;
    let updated = client.receive().await;
    assert_eq!(updated["method"], "notifications/resources/updated");
    assert_eq!(updated["params"]["uri"], "x://a");
    client.send(cancel("l")).await;
    let unsubscribe = mounted.upstream.receive().await;
    assert_eq!(unsubscribe["method"], "resources/unsubscribe");
}

#[tokio::test]
async fn unreachable_upstream_server_costs_only_its_own_entries() {
    let mounted = mounted(UpstreamEra::Modern).await;
    let (down, mut attempts) = raw_upstream();
    let down = down.with_name("down").source();
    let server = mounted.server.mount("down", down.clone());
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
    // The other one goes away, and its entries stay listed.
    let Mounted {
        upstream,
        connections,
        ..
    } = mounted;
    drop(upstream);
    let mut connections = connections;
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
    let tools = listed(&mut client, "tools/list").await;
    assert_eq!(tools["tools"].as_array().map(Vec::len), Some(1));
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

/// Mounts a second upstream server with the same entries as `other`.
async fn with_other(mounted: &Mounted) -> (UpstreamSource, RawUpstream, RawConnection) {
    let (upstream, mut connections) = raw_upstream();
    let source = upstream.with_name("other").source();
    let mount = Mount::new("other", source.clone());
    mounted
        .server
        .add_mount(mount)
        .expect("names have a prefix");
    let serve = async {
        let mut upstream = connections.accept().await;
        let view = r#"{"name":"view","inputSchema":{},"_meta":{"ui":{"resourceUri":"x://a"}}}"#;
        serve_modern_lists(&mut upstream, view).await;
        upstream
    };
    let (connected, upstream) = tokio::join!(source.connect(), serve);
    connected.expect("the upstream server responds");
    (source, connections, upstream)
}

#[tokio::test]
async fn uri_that_two_upstream_servers_claim_gets_a_prefix_for_the_later_one() {
    let mounted = mounted(UpstreamEra::Modern).await;
    let (source, _connections, mut other) = with_other(&mounted).await;
    let mut client = Peer::connect(&mounted.server);
    let resources = listed(&mut client, "resources/list").await;
    assert_eq!(
        resources["resources"],
        json!([{"uri": "x://a", "name": "a"}, {"uri": "other+x://a", "name": "a"}])
    );
    let templates = listed(&mut client, "resources/templates/list").await;
    assert_eq!(
        templates["resourceTemplates"][1]["uriTemplate"],
        "other+x://{b}/t"
    );
    let tools = listed(&mut client, "tools/list").await;
    assert_eq!(
        tools["tools"][1]["_meta"]["ui"]["resourceUri"],
        "other+x://a"
    );
    for uri in ["x://a", "x://7/t"] {
        let exposed = format!("other+{uri}");
        let read = modern(1, "resources/read", json!({"uri": exposed}));
        client.send(read).await;
        let request = other.receive().await;
        assert_eq!(request["params"]["uri"], uri);
        let result = json!({"resultType": "complete", "contents": [{"uri": uri, "text": uri}]});
        other.respond(&request, &result.to_string()).await;
        let response = client.receive().await;
        assert_eq!(
            response["result"]["contents"],
            json!([{"uri": exposed, "text": uri}])
        );
    }
    client.send(call(2, "other_view", json!({}))).await;
    let request = other.receive().await;
    let content = json!([
        {"type": "resource_link", "uri": "x://a", "name": "a"},
        {"type": "resource", "resource": {"uri": "x://a", "text": "x://a"}},
        {"type": "text", "text": "x://a"},
    ]);
    let result = json!({"resultType": "complete", "content": content, "structuredContent": {"uri": "x://a"}});
    other.respond(&request, &result.to_string()).await;
    let response = client.receive().await;
    assert_eq!(response["result"]["content"][0]["uri"], "other+x://a");
    assert_eq!(
        response["result"]["content"][1]["resource"],
        json!({"uri": "other+x://a", "text": "x://a"})
    );
    assert_eq!(response["result"]["content"][2]["text"], "x://a");
    assert_eq!(
        response["result"]["structuredContent"],
        json!({"uri": "x://a"})
    );
    let filter = json!({"notifications": {"resourceSubscriptions": ["other+x://a"]}});
    client
        .send(modern("l", "subscriptions/listen", filter))
        .await;
    client.receive().await;
    let listen = other.receive().await;
    assert_eq!(
        listen["params"]["notifications"]["resourceSubscriptions"],
        json!(["x://a"])
    );
    acknowledge(&other, &listen).await;
    let mut params = json!({"uri": "x://a"});
    params["_meta"] = json!({"io.modelcontextprotocol/subscriptionId": listen["id"]});
    other
        .send(notification("notifications/resources/updated", params))
        .await;
    let updated = client.receive().await;
    assert_eq!(updated["params"]["uri"], "other+x://a", "{updated}");
    drop(source);
}

#[tokio::test]
async fn input_request_names_its_upstream_server_if_there_are_several() {
    let mut mounted = mounted(UpstreamEra::Modern).await;
    let _other = with_other(&mounted).await;
    let mut client = Peer::connect(&mounted.server);
    let params = json!({"name": "up_greet", "arguments": {}});
    let ask = |id: i64| {
        modern_with(
            id,
            "tools/call",
            params.clone(),
            json!({"elicitation": {}, "sampling": {}}),
        )
    };
    client.send(ask(1)).await;
    let request = mounted.upstream.receive().await;
    let input = |method: &str| {
        json!({
            "resultType": "input_required",
            "inputRequests": {"k": {"method": method, "params": {"message": "Who?"}}},
        })
    };
    let result = input("elicitation/create").to_string();
    mounted.upstream.respond(&request, &result).await;
    let response = client.receive().await;
    assert_eq!(
        response["result"]["inputRequests"]["k"]["params"]["message"],
        "[up] Who?"
    );
    // A server that requests input without permission does not reach the client.
    client.send(ask(2)).await;
    let request = mounted.upstream.receive().await;
    let result = input("sampling/createMessage").to_string();
    mounted.upstream.respond(&request, &result).await;
    let error = client.expect_error(2, -32603).await;
    let message = error["message"].as_str().expect("a message");
    assert!(message.contains("`up`"), "{message}");
}

#[tokio::test]
async fn permitted_sampling_and_roots_reach_the_client() {
    let permit = |upstream: Upstream| upstream.with_sampling(true).with_roots(true);
    let mut mounted = mounted_with(UpstreamEra::Modern, permit).await;
    let mut client = Peer::connect(&mounted.server);
    let capabilities = json!({"roots": {}, "sampling": {}});
    let params = json!({"name": "up_greet", "arguments": {}});
    client
        .send(modern_with(1, "tools/call", params, capabilities.clone()))
        .await;
    let request = mounted.upstream.receive().await;
    assert_eq!(
        request["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"],
        capabilities
    );
    let requests = json!({"a": {"method": "roots/list"}, "b": {"method": "sampling/createMessage", "params": {}}});
    let result = json!({"resultType": "input_required", "inputRequests": requests});
    mounted
        .upstream
        .respond(&request, &result.to_string())
        .await;
    let response = client.receive().await;
    assert_eq!(response["result"]["inputRequests"], requests);
}

#[tokio::test]
async fn earlier_mount_gets_its_uri_from_a_later_one() {
    let (first, mut first_connections) = raw_upstream();
    let (second, mut second_connections) = raw_upstream();
    let (first, second) = (first.source(), second.source());
    let server = server()
        .mount("first", first.clone())
        .mount("second", second.clone());
    let mut upstreams = Vec::new();
    let mut client = Peer::connect(&server);
    for (source, connections, expected) in [
        (&second, &mut second_connections, json!(["x://a"])),
        (
            &first,
            &mut first_connections,
            json!(["x://a", "second+x://a"]),
        ),
    ] {
        let serve = async {
            let mut upstream = connections.accept().await;
            serve_modern_lists(&mut upstream, TOOL).await;
            upstream
        };
        let (connected, upstream) = tokio::join!(source.connect(), serve);
        connected.expect("the upstream server responds");
        upstreams.push(upstream);
        let listed = listed(&mut client, "resources/list").await;
        let resources = listed["resources"].as_array().expect("a list");
        let uris: Vec<&Value> = resources.iter().map(|entry| &entry["uri"]).collect();
        assert_eq!(json!(uris), expected);
    }
}
