//! Several upstream servers.

use serde_json::{Value, json};
use toolwire::Mount;
use toolwire::relay::UpstreamSource;
use toolwire_tests::peer::{Peer, call, modern, modern_with, notification, server};

use crate::raw_upstream::{RawConnection, RawUpstream, raw_upstream};
use crate::source::{Mounted, TOOL, UpstreamEra, acknowledge, listed, mounted, serve_modern_lists};

/// Mounts a second upstream server with the same entries as `other`.
pub(crate) async fn with_other(mounted: &Mounted) -> (UpstreamSource, RawUpstream, RawConnection) {
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
        upstreams.push(connected(source, connections, TOOL).await);
        let listed = listed(&mut client, "resources/list").await;
        let resources = listed["resources"].as_array().expect("a list");
        let uris: Vec<&Value> = resources.iter().map(|entry| &entry["uri"]).collect();
        assert_eq!(json!(uris), expected);
    }
}

/// Connects a source, and serves its lists.
async fn connected(
    source: &UpstreamSource,
    connections: &mut RawUpstream,
    tools: &str,
) -> RawConnection {
    let serve = async {
        let mut upstream = connections.accept().await;
        serve_modern_lists(&mut upstream, tools).await;
        upstream
    };
    let (connected, upstream) = tokio::join!(source.connect(), serve);
    connected.expect("the upstream server responds");
    upstream
}

async fn tools(client: &mut Peer) -> Vec<String> {
    let listed = listed(client, "tools/list").await;
    let tools = listed["tools"].as_array().expect("a list").iter();
    let names = tools.map(|tool| tool["name"].as_str().expect("a name").to_owned());
    names.collect()
}

#[tokio::test]
async fn later_upstream_server_cannot_take_a_name_before_the_first_one_is_connected() {
    let (first, mut first_connections) = raw_upstream();
    let (second, mut second_connections) = raw_upstream();
    let (first, second) = (first.source(), second.source());
    let server = server()
        .mount("git_hub", first.clone())
        .mount("git", second.clone());
    let mut client = Peer::connect(&server);
    let same = r#"{"name":"hub_get_issue","inputSchema":{}},{"name":"log","inputSchema":{}}"#;
    let _second = connected(&second, &mut second_connections, same).await;
    assert_eq!(tools(&mut client).await, ["git_log"]);
    let call_it = call(1, "git_hub_get_issue", json!({}));
    client.send(call_it.clone()).await;
    client.expect_error(1, -32602).await;
    let tool = r#"{"name":"get_issue","inputSchema":{}}"#;
    let mut first = connected(&first, &mut first_connections, tool).await;
    assert_eq!(tools(&mut client).await, ["git_hub_get_issue", "git_log"]);
    client.send(call_it).await;
    assert_eq!(first.receive().await["params"]["name"], "get_issue");
}

#[tokio::test]
async fn first_of_two_upstream_servers_without_prefix_keeps_a_name_that_it_lists_later() {
    let (first, mut first_connections) = raw_upstream();
    let (second, mut second_connections) = raw_upstream();
    let (first, second) = (first.source(), second.source());
    let server = server()
        .mount_with(Mount::flat(first.clone()))
        .mount_with(Mount::flat(second.clone()));
    let mut client = Peer::connect(&server);
    let both = format!(r#"{TOOL},{{"name":"own","inputSchema":{{}}}}"#);
    let mut second = connected(&second, &mut second_connections, &both).await;
    assert_eq!(tools(&mut client).await, ["greet", "own"]);
    client.send(call(1, "greet", json!({}))).await;
    assert_eq!(second.receive().await["params"]["name"], "greet");
    let mut first = connected(&first, &mut first_connections, TOOL).await;
    assert_eq!(tools(&mut client).await, ["greet", "own"]);
    client.send(call(2, "greet", json!({}))).await;
    assert_eq!(first.receive().await["params"]["name"], "greet");
}

#[tokio::test]
async fn upstream_server_that_is_not_connected_reserves_no_names_of_a_longer_prefix() {
    let (first, _connections) = raw_upstream();
    let (second, mut second_connections) = raw_upstream();
    let second = second.source();
    let server = server()
        .mount("git", first.source())
        .mount("git_hub", second.clone());
    let mut client = Peer::connect(&server);
    let tool = r#"{"name":"get_issue","inputSchema":{}}"#;
    let _second = connected(&second, &mut second_connections, tool).await;
    assert_eq!(tools(&mut client).await, ["git_hub_get_issue"]);
}
