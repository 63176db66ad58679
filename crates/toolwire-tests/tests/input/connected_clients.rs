//! Requests to a client, and the completion of URL elicitations, outside of a request of the client.

use serde_json::{Value, json};
use toolwire::types::{ElicitRequestFormParams, ElicitRequestURLParams};
use toolwire::{ConnectedClient, Error, RequestContext, Server};
use toolwire_tests::peer::{
    Peer, legacy, modern, notification, plain, result_response, server, within,
};
use toolwire_tests::server_requests::all_capabilities;

/// Returns the only connected client.
fn client_of(server: &Server) -> ConnectedClient {
    let mut clients = server.connected_clients();
    assert_eq!(clients.len(), 1, "{clients:?}");
    clients.remove(0)
}

/// Receives a request of the server and responds with this result.
async fn respond(peer: &mut Peer, method: &str, result: Value) -> Value {
    let request = peer.receive().await;
    assert_eq!(request["method"], method, "{request}");
    peer.send(result_response(request["id"].clone(), result))
        .await;
    request["params"].clone()
}

#[tokio::test]
async fn server_pings_and_asks_a_client_outside_of_a_call() {
    let server = server();
    let mut peer = Peer::connect(&server);
    peer.initialize_with("2025-11-25", all_capabilities()).await;
    let client = client_of(&server);

    let (pinged, _) = tokio::join!(client.ping(), respond(&mut peer, "ping", json!({})));
    pinged.unwrap();

    let roots = json!({"roots": [{"uri": "file:///home"}]});
    let (listed, _) = tokio::join!(client.list_roots(), respond(&mut peer, "roots/list", roots));
    assert_eq!(listed.unwrap().roots[0].uri, "file:///home");

    let form = ElicitRequestFormParams::new("Sure?", json!({"type": "object", "properties": {}}));
    let declined = json!({"action": "decline"});
    let (asked, params) = tokio::join!(
        client.elicit(form),
        respond(&mut peer, "elicitation/create", declined)
    );
    assert_eq!(params["message"], "Sure?");
    assert!(asked.unwrap().content.is_none());

    let (answered, params) = tokio::join!(
        client.request("com.example/ask", json!({"n": 1})),
        respond(&mut peer, "com.example/ask", json!({"n": 2}))
    );
    assert_eq!(params, json!({"n": 1}));
    assert_eq!(answered.unwrap().get(), r#"{"n":2}"#);
}

#[tokio::test]
async fn handler_of_a_notification_asks_for_the_roots() {
    let (sender, mut listed) = tokio::sync::mpsc::unbounded_channel();
    let server = server().on_notification(
        "notifications/roots/list_changed",
        move |client: ConnectedClient, _: Value| {
            let sender = sender.clone();
            async move {
                let roots = client.list_roots().await.unwrap().roots;
                sender.send(roots.len()).unwrap();
            }
        },
    );
    let mut peer = Peer::connect(&server);
    peer.initialize_with("2025-06-18", all_capabilities()).await;
    peer.send(notification("notifications/roots/list_changed", json!({})))
        .await;
    let roots = json!({"roots": [{"uri": "file:///a"}, {"uri": "file:///b"}]});
    respond(&mut peer, "roots/list", roots).await;
    assert_eq!(within(listed.recv()).await, Some(2));
}

#[tokio::test]
async fn requests_outside_of_a_call_need_capabilities_and_a_session() {
    let server = server();
    let mut peer = Peer::connect(&server);
    peer.initialize("2025-11-25").await;
    let client = client_of(&server);
    let error = client.list_roots().await.unwrap_err();
    assert_eq!(error.rpc().unwrap().code, -32021, "{error}");
    let error = client.request("tools/list", json!({})).await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("not a request that servers send"),
        "{error}"
    );
    peer.close_input();
    peer.expect_end().await;
    let error = within(client.ping()).await.unwrap_err();
    assert!(error.is_closed(), "{error}");
    let error = client.notify("com.example/tick", json!({})).unwrap_err();
    assert!(error.is_closed(), "{error}");
    assert!(!client.is_reachable());
}

#[tokio::test]
async fn client_of_2026_07_28_gets_no_requests() {
    let server = server().tool(plain("who", |ctx: RequestContext| async move {
        let client = ctx.client().expect("a connection");
        client.ping().await.unwrap_err().to_string()
    }));
    let mut peer = Peer::connect(&server);
    let params = json!({"name": "who", "arguments": {}});
    let result = peer.result_of(modern(1, "tools/call", params)).await;
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("has not opened a session"), "{text}");
}

/// Returns a server whose tool requires that the user visits a URL first.
fn requiring_server() -> Server {
    server().tool(plain("connect", |ctx: RequestContext| async move {
        let page = ElicitRequestURLParams::new("Connect.", "https://example.test/connect")
            .with_elicitation_id("connect-1");
        Err::<String, Error>(ctx.url_elicitation_required([page]))
    }))
}

fn connect(id: u64) -> Value {
    legacy(
        id,
        "tools/call",
        json!({"name": "connect", "arguments": {}}),
    )
}

fn url_client() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}})
}

#[tokio::test]
async fn required_url_is_completed_after_its_request() {
    let server = requiring_server();
    let mut other = Peer::connect(&server);
    other.initialize_with("2025-11-25", url_client()).await;
    let mut peer = Peer::connect(&server);
    peer.initialize_with("2025-11-25", url_client()).await;
    assert!(
        !server.elicitation_complete("connect-1"),
        "not requested yet"
    );
    let error = peer.error_of(connect(1), -32042).await;
    let elicitations = json!([{
        "mode": "url",
        "message": "Connect.",
        "url": "https://example.test/connect",
        "elicitationId": "connect-1",
    }]);
    assert_eq!(error["data"]["elicitations"], elicitations);
    assert!(server.elicitation_complete("connect-1"));
    let completed = json!({"elicitationId": "connect-1"});
    peer.expect(notification(
        "notifications/elicitation/complete",
        completed,
    ))
    .await;
    assert!(
        !server.elicitation_complete("connect-1"),
        "it was sent once"
    );
    assert!(!server.elicitation_complete("unknown"));
    peer.expect_silence().await;
    other.expect_silence().await;
}

#[tokio::test]
async fn elicited_url_is_completed_after_its_request() {
    let server = server().tool(plain("visit", |ctx: RequestContext| async move {
        let visited = ctx
            .elicit_url("Visit.", "https://example.test", "visit-1")
            .await;
        visited.map(|result| format!("{:?}", result.action))
    }));
    let mut peer = Peer::connect(&server);
    peer.initialize_with("2025-11-25", url_client()).await;
    peer.send(legacy(
        1,
        "tools/call",
        json!({"name": "visit", "arguments": {}}),
    ))
    .await;
    respond(&mut peer, "elicitation/create", json!({"action": "accept"})).await;
    assert_eq!(peer.receive().await["id"], 1);
    assert!(server.elicitation_complete("visit-1"));
    let completed = json!({"elicitationId": "visit-1"});
    peer.expect(notification(
        "notifications/elicitation/complete",
        completed,
    ))
    .await;
}

#[tokio::test]
async fn required_url_is_an_error_where_it_is_not_supported() {
    for (version, capabilities) in [
        ("2025-06-18", url_client()),
        ("2025-11-25", json!({"elicitation": {}})),
    ] {
        let server = requiring_server();
        let mut peer = Peer::connect(&server);
        peer.initialize_with(version, capabilities).await;
        let response = peer.call(connect(1)).await;
        assert_ne!(response["error"]["code"], -32042, "{version}: {response}");
        assert!(!server.elicitation_complete("connect-1"));
    }
}

#[tokio::test]
async fn required_urls_are_checked() {
    let without_id = ElicitRequestURLParams::new("Visit.", "https://example.test");
    let unsafe_url =
        ElicitRequestURLParams::new("Visit.", "javascript:alert(1)").with_elicitation_id("1");
    for (expected, elicitations) in [
        ("at least one", vec![]),
        ("needs an id", vec![without_id]),
        ("url", vec![unsafe_url]),
    ] {
        let server = server().tool(plain("connect", move |ctx: RequestContext| {
            let error = ctx.url_elicitation_required(elicitations.clone());
            async move { error.to_string() }
        }));
        let mut peer = Peer::connect(&server);
        peer.initialize_with("2025-11-25", url_client()).await;
        let result = peer.result_of(connect(1)).await;
        let text = result["content"][0]["text"]
            .as_str()
            .unwrap()
            .to_lowercase();
        assert!(text.contains(expected), "{text}");
    }
}
