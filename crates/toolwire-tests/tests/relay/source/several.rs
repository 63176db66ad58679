//! Several upstream servers.

use serde_json::{Value, json};
use toolwire::Mount;
use toolwire::relay::UpstreamSource;
use toolwire_tests::peer::{Peer, call, modern, modern_with, notification, server};

use crate::raw_upstream::{RawConnection, RawUpstream, raw_upstream};
use crate::source::{Mounted, TOOL, UpstreamEra, acknowledge, listed, mounted, serve_modern_lists};

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
