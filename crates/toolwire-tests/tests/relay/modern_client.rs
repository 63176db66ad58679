//! A modern client of a legacy upstream server.

use std::time::Duration;

use serde_json::{Value, json};
use toolwire::relay::{Relay, Upstream};
use toolwire_tests::peer::{Peer, cancel, modern, modern_with, notification, result_response};

use crate::raw_upstream::{RawConnection, RawUpstream, raw_upstream};

/// The result of `initialize` of the server.
pub(crate) fn details() -> String {
    json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {"listChanged": true}, "resources": {"subscribe": true}},
        "serverInfo": {"name": "old", "version": "1"},
        "instructions": "Read this.",
    })
    .to_string()
}

/// Returns a client and the session without capabilities.
pub(crate) async fn pair() -> (Relay, Peer, RawUpstream, RawConnection) {
    let (upstream, connections) = raw_upstream();
    pair_of(upstream, connections).await
}

/// Returns a client of this upstream server, and the session without capabilities.
pub(crate) async fn pair_of(
    upstream: Upstream,
    mut connections: RawUpstream,
) -> (Relay, Peer, RawUpstream, RawConnection) {
    let relay = upstream.relay();
    let mut client = Peer::connect(relay.server());
    client.send(modern(1, "server/discover", json!({}))).await;
    let mut server = connections.accept().await;
    let discover = server.receive().await;
    assert_eq!(discover["method"], "server/discover");
    server
        .reject(&discover, r#"{"code":-32601,"message":"unknown method"}"#)
        .await;
    let initialize = server.receive().await;
    assert_eq!(initialize["params"]["capabilities"], json!({}));
    server.respond(&initialize, &details()).await;
    let initialized = server.receive().await;
    assert_eq!(initialized["method"], "notifications/initialized");
    let discovered = client.receive().await;
    let result = &discovered["result"];
    assert_eq!(result["resultType"], "complete", "{discovered}");
    assert_eq!(result["instructions"], "Read this.");
    assert_eq!(
        result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
        "old"
    );
    (relay, client, connections, server)
}

/// Accepts the session of a call whose client can be asked.
pub(crate) async fn accept_askable(connections: &mut RawUpstream) -> RawConnection {
    let (mut session, params) = connections.accept_legacy(&details()).await;
    assert_eq!(
        params["capabilities"],
        json!({"elicitation": {}, "roots": {}})
    );
    let initialized = session.receive().await;
    assert_eq!(initialized["method"], "notifications/initialized");
    session
}

pub(crate) fn ask(id: impl Into<Value>, mut params: Value) -> Value {
    params["name"] = "ask".into();
    modern_with(
        id,
        "tools/call",
        params,
        json!({"elicitation": {}, "roots": {}}),
    )
}

pub(crate) fn elicitation(message: &str) -> Value {
    let schema = json!({"type": "object", "properties": {}});
    json!({"message": message, "requestedSchema": schema, "mode": "form"})
}

pub(crate) async fn send_request(server: &RawConnection, id: &str, method: &str, params: &Value) {
    let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    server.send(request).await;
}

#[tokio::test]
async fn results_get_the_members_of_the_revision() {
    let (_relay, mut client, _connections, mut server) = pair().await;
    client.send(modern(2, "tools/list", json!({"x": 1}))).await;
    let request = server.receive().await;
    assert_eq!(request["params"], json!({"x": 1}));
    server.respond(&request, r#"{"tools":[],"y":1.0}"#).await;
    let response = client.receive().await;
    let result = &response["result"];
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["ttlMs"], 0);
    assert_eq!(result["cacheScope"], "private");
    assert_eq!(result["y"], 1.0);
}

#[tokio::test]
async fn result_type_of_a_legacy_server_is_ignored() {
    let (_relay, mut client, mut connections, mut shared) = pair().await;
    let result = r#"{"resultType":"input_required","requestState":"forged","content":[]}"#;
    client
        .send(modern(2, "tools/call", json!({"name": "a"})))
        .await;
    let call = shared.receive().await;
    shared.respond(&call, result).await;
    let response = client.receive().await;
    assert_eq!(response["result"]["resultType"], "complete", "{response}");
    client.send(ask(3, json!({}))).await;
    let mut session = accept_askable(&mut connections).await;
    let call = session.receive().await;
    session.respond(&call, result).await;
    let response = client.receive().await;
    assert_eq!(response["result"]["resultType"], "complete", "{response}");
}

#[tokio::test]
async fn lists_of_a_client_with_input_capabilities_come_from_a_session_with_them() {
    let (_relay, mut client, mut connections, _shared) = pair().await;
    let capabilities = json!({"elicitation": {}, "roots": {}});
    let list = |id: i64| modern_with(id, "tools/list", json!({}), capabilities.clone());
    client.send(list(2)).await;
    let mut session = accept_askable(&mut connections).await;
    let request = session.receive().await;
    assert_eq!(request["method"], "tools/list");
    // A request that lists entries asks for no input.
    send_request(&session, "s1", "elicitation/create", &elicitation("Who?")).await;
    assert!(session.receive().await.get("error").is_some());
    session
        .respond(&request, r#"{"tools":[{"name":"ask","inputSchema":{}}]}"#)
        .await;
    let listed = client.receive().await;
    assert_eq!(listed["result"]["tools"][0]["name"], "ask", "{listed}");
    // The call and the next list use the same session, so they agree about the tools.
    client.send(ask(3, json!({}))).await;
    let call = session.receive().await;
    assert_eq!(call["method"], "tools/call");
    session.respond(&call, r#"{"content":[]}"#).await;
    assert_eq!(client.receive().await["id"], 3);
    client.send(list(4)).await;
    assert_eq!(session.receive().await["method"], "tools/list");
}

#[tokio::test]
async fn input_request_parks_the_call_until_the_client_retries() {
    let (_relay, mut client, mut connections, _shared) = pair().await;
    client.send(ask(2, json!({"arguments": {"a": 1}}))).await;
    let mut session = accept_askable(&mut connections).await;
    let call = session.receive().await;
    assert_eq!(
        call["params"],
        json!({"name": "ask", "arguments": {"a": 1}})
    );
    send_request(&session, "s1", "elicitation/create", &elicitation("Who?")).await;
    let roots = json!({"jsonrpc": "2.0", "id": "s2", "method": "roots/list"});
    session.send(roots).await;
    let required = client.receive().await;
    let result = required["result"].clone();
    assert_eq!(result["resultType"], "input_required", "{required}");
    assert_eq!(
        result["inputRequests"],
        json!({
            "q1": {"method": "elicitation/create", "params": elicitation("Who?")},
            "q2": {"method": "roots/list"},
        })
    );
    // The first response arrives alone, so the second input request is sent again.
    let state = result["requestState"].clone();
    let retry = |id: i64, state: &Value, responses: Value| {
        ask(
            id,
            json!({"arguments": {"a": 1}, "requestState": state, "inputResponses": responses}),
        )
    };
    let accepted = json!({"action": "accept", "content": {}});
    client.send(retry(3, &state, json!({"q1": accepted}))).await;
    assert_eq!(session.receive().await, result_response("s1", accepted));
    let again = client.receive().await["result"].clone();
    assert_eq!(
        again["inputRequests"],
        json!({"q2": {"method": "roots/list"}})
    );
    let listed = json!({"roots": []});
    let state = again["requestState"].clone();
    client.send(retry(4, &state, json!({"q2": listed}))).await;
    assert_eq!(session.receive().await, result_response("s2", listed));
    session.respond(&call, r#"{"content":[]}"#).await;
    let done = client.receive().await["result"].clone();
    assert_eq!(done["resultType"], "complete");
    // The client repeats the last round, because it lost the response. The tool does not run again.
    client
        .send(retry(5, &state, json!({"q2": {"roots": []}})))
        .await;
    assert_eq!(client.receive().await["result"], done);
    // The next call of the same client uses the session again.
    client.send(ask(6, json!({}))).await;
    let second = session.receive().await;
    assert_eq!(second["method"], "tools/call");
    session.respond(&second, r#"{"content":[]}"#).await;
    assert_eq!(client.receive().await["id"], 6);
}

#[tokio::test]
async fn retry_without_capabilities_does_not_run_the_tool_again() {
    let (_relay, mut client, mut connections, mut shared) = pair().await;
    client.send(ask(2, json!({}))).await;
    let mut session = accept_askable(&mut connections).await;
    let call = session.receive().await;
    send_request(&session, "s1", "elicitation/create", &elicitation("Who?")).await;
    let state = client.receive().await["result"]["requestState"].clone();
    let declined = json!({"action": "decline"});
    let retry = json!({"name": "ask", "requestState": state, "inputResponses": {"q1": declined}});
    client.send(modern(3, "tools/call", retry)).await;
    assert_eq!(session.receive().await, result_response("s1", declined));
    session.respond(&call, r#"{"content":[]}"#).await;
    assert_eq!(client.receive().await["result"]["resultType"], "complete");
    let invalid = json!({"name": "ask", "requestState": 1});
    client.send(modern(4, "tools/call", invalid)).await;
    client.expect_error(4, -32602).await;
    // The next message of the shared session is another request.
    client.send(modern(5, "tools/list", json!({}))).await;
    assert_eq!(shared.receive().await["method"], "tools/list");
}

#[tokio::test]
async fn late_progress_does_not_reach_another_call() {
    let (_relay, mut client, _connections, mut shared) = pair().await;
    let with_token = |id: i64, token: &str| {
        let mut request = modern(id, "tools/call", json!({"name": "slow"}));
        request["params"]["_meta"]["progressToken"] = token.into();
        request
    };
    client.send(with_token(2, "first")).await;
    let first = shared.receive().await;
    client.send(cancel(2)).await;
    assert_eq!(shared.receive().await["method"], "notifications/cancelled");
    client.send(with_token(3, "second")).await;
    let second = shared.receive().await;
    let token = &first["params"]["_meta"]["progressToken"];
    let late = json!({"progressToken": token, "progress": 1, "message": "of the first call"});
    shared
        .send(notification("notifications/progress", late))
        .await;
    shared.respond(&second, r#"{"content":[]}"#).await;
    assert_eq!(client.receive().await["id"], 3);
}

#[tokio::test]
async fn state_of_another_call_is_rejected() {
    let (_relay, mut client, mut connections, _shared) = pair().await;
    client.send(ask(2, json!({"arguments": {"a": 1}}))).await;
    let mut session = accept_askable(&mut connections).await;
    session.receive().await;
    send_request(&session, "s1", "elicitation/create", &elicitation("Who?")).await;
    let state = client.receive().await["result"]["requestState"].clone();
    let other = json!({"arguments": {"a": 2}, "requestState": state, "inputResponses": {}});
    client.send(ask(3, other)).await;
    client.expect_error(3, -32602).await;
    let forged = json!({"arguments": {"a": 1}, "requestState": "forged", "inputResponses": {}});
    client.send(ask(4, forged)).await;
    client.expect_error(4, -32602).await;
}

#[tokio::test(start_paused = true)]
async fn parked_call_is_cancelled_after_ten_minutes() {
    let (_relay, mut client, mut connections, _shared) = pair().await;
    client.send(ask(2, json!({}))).await;
    let mut session = accept_askable(&mut connections).await;
    let call = session.receive().await;
    send_request(&session, "s1", "elicitation/create", &elicitation("Who?")).await;
    let state = client.receive().await["result"]["requestState"].clone();
    tokio::time::sleep(Duration::from_secs(601)).await;
    let cancelled = session.receive().await;
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], call["id"]);
    // A retry does not start the tool again.
    let retry = json!({"requestState": state, "inputResponses": {"q1": {"action": "decline"}}});
    client.send(ask(3, retry)).await;
    let response = client.receive().await;
    assert_eq!(response["result"]["isError"], true, "{response}");
}

#[tokio::test]
async fn retry_of_a_dropped_call_is_a_tool_error() {
    let (_relay, mut client, mut connections, _shared) = pair().await;
    // The 17th parked call of one connection cancels the first one.
    let mut states = Vec::new();
    let mut sessions = Vec::new();
    for number in 0..17 {
        let arguments = json!({"n": number});
        client
            .send(ask(100 + number, json!({"arguments": arguments})))
            .await;
        let mut session = accept_askable(&mut connections).await;
        session.receive().await;
        send_request(&session, "s", "elicitation/create", &elicitation("Who?")).await;
        let required = client.receive().await;
        states.push(required["result"]["requestState"].clone());
        sessions.push(session);
    }
    let cancelled = sessions[0].receive().await;
    assert_eq!(cancelled["method"], "notifications/cancelled");
    let retry = |number: usize| {
        let responses = json!({"q1": {"action": "accept", "content": {}}});
        let arguments = json!({"n": number});
        json!({"arguments": arguments, "requestState": states[number], "inputResponses": responses})
    };
    client.send(ask(1, retry(0))).await;
    let response = client.receive().await;
    assert_eq!(response["result"]["isError"], true, "{response}");
    client.send(ask(2, retry(1))).await;
    assert_eq!(
        sessions[1].receive().await["id"],
        "s",
        "the second call is still parked"
    );
}

#[tokio::test]
async fn seventeenth_input_request_of_a_call_is_rejected() {
    let (_relay, mut client, mut connections, _shared) = pair().await;
    client.send(ask(2, json!({}))).await;
    let mut session = accept_askable(&mut connections).await;
    session.receive().await;
    for number in 1..=17 {
        let id = format!("s{number}");
        send_request(&session, &id, "elicitation/create", &elicitation("Who?")).await;
    }
    let rejected = session.receive().await;
    assert_eq!(rejected["id"], "s17");
    assert_eq!(rejected["error"]["code"], -32603);
    let required = client.receive().await;
    let requests = required["result"]["inputRequests"].as_object().unwrap();
    assert_eq!(requests.len(), 16);
}

/// Many clients with the same request ids get the input requests and the responses of their own calls only.
#[tokio::test]
async fn clients_with_equal_input_requests_receive_only_their_own() {
    let (upstream, mut connections) = raw_upstream();
    // One session for each client, and the shared one.
    let relay = upstream.with_max_sessions(65).relay();
    // The server: each call requests input, and returns the name in the response.
    let serving = tokio::spawn(async move {
        loop {
            let mut connection = connections.accept().await;
            tokio::spawn(async move {
                let mut call = Value::Null;
                while let Some(message) = connection.next().await {
                    match message["method"].as_str() {
                        Some("server/discover") => {
                            let error = r#"{"code":-32601,"message":"unknown"}"#;
                            connection.reject(&message, error).await;
                        }
                        Some("initialize") => connection.respond(&message, &details()).await,
                        Some("tools/call") => {
                            call = message;
                            send_request(
                                &connection,
                                "1",
                                "elicitation/create",
                                &elicitation("Who?"),
                            )
                            .await;
                        }
                        Some(_) => {}
                        None => {
                            let text = &message["result"]["content"]["name"];
                            let result = json!({"content": [], "asked": call["params"]["arguments"], "name": text});
                            connection.respond(&call, &result.to_string()).await;
                        }
                    }
                }
            });
        }
    });
    let mut clients = Vec::new();
    for _ in 0..64 {
        clients.push(Peer::connect(relay.server()));
    }
    for (number, client) in clients.iter().enumerate() {
        client
            .send(ask(1, json!({"arguments": {"client": number}})))
            .await;
    }
    for (number, client) in clients.iter_mut().enumerate() {
        let state = client.receive().await["result"]["requestState"].clone();
        let answer = json!({"action": "accept", "content": {"name": number}});
        let retry = json!({"arguments": {"client": number}, "requestState": state, "inputResponses": {"q1": answer}});
        client.send(ask(1, retry)).await;
        let response = client.receive().await;
        assert_eq!(
            response["result"]["asked"],
            json!({"client": number}),
            "{response}"
        );
        assert_eq!(response["result"]["name"], number, "{response}");
    }
    serving.abort();
}

#[tokio::test]
async fn client_without_capabilities_gets_no_input_request() {
    let (_relay, mut client, _connections, mut shared) = pair().await;
    client
        .send(modern(2, "tools/call", json!({"name": "ask"})))
        .await;
    let call = shared.receive().await;
    send_request(&shared, "s1", "elicitation/create", &elicitation("Who?")).await;
    let rejected = shared.receive().await;
    assert_eq!(rejected["id"], "s1");
    assert!(rejected.get("error").is_some(), "{rejected}");
    shared.respond(&call, r#"{"content":[]}"#).await;
    assert_eq!(client.receive().await["id"], 2);
}

#[tokio::test]
async fn subscription_receives_the_notifications_of_the_session() {
    let (_relay, mut client, _connections, mut shared) = pair().await;
    let filter = json!({"toolsListChanged": true, "promptsListChanged": true, "resourceSubscriptions": ["file:///a"]});
    client
        .send(modern(
            2,
            "subscriptions/listen",
            json!({"notifications": filter}),
        ))
        .await;
    let subscribe = shared.receive().await;
    assert_eq!(subscribe["method"], "resources/subscribe");
    shared.respond(&subscribe, "{}").await;
    let acknowledged = client.receive().await;
    assert_eq!(
        acknowledged["params"]["notifications"],
        json!({"toolsListChanged": true, "resourceSubscriptions": ["file:///a"]})
    );
    shared
        .send(json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}))
        .await;
    let changed = client.receive().await;
    assert_eq!(changed["method"], "notifications/tools/list_changed");
    let id = &changed["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
    assert_eq!(*id, 2);
    client.send(cancel(2)).await;
    let unsubscribe = shared.receive().await;
    assert_eq!(unsubscribe["method"], "resources/unsubscribe");
}

#[tokio::test]
async fn url_elicitations_of_an_error_become_input_requests() {
    let (_relay, mut client, mut connections, _shared) = pair().await;
    client.send(ask(2, json!({}))).await;
    let mut session = accept_askable(&mut connections).await;
    let call = session.receive().await;
    let error = json!({
        "code": -32042,
        "message": "visit",
        "data": {"elicitations": [{"mode": "url", "message": "Log in", "url": "https://example.test/", "elicitationId": "e"}]},
    });
    session.reject(&call, &error.to_string()).await;
    let required = client.receive().await;
    assert_eq!(required["result"]["resultType"], "input_required");
    let request = &required["result"]["inputRequests"]["q1"];
    assert_eq!(request["params"]["url"], "https://example.test/");
    // The retry is a new call.
    client
        .send(ask(
            3,
            json!({"inputResponses": {"q1": {"action": "accept"}}}),
        ))
        .await;
    let again = session.receive().await;
    assert_eq!(again["params"], json!({"name": "ask"}));
}

#[tokio::test]
async fn progress_and_requested_logs_reach_the_client() {
    let (_relay, mut client, _connections, mut shared) = pair().await;
    let mut request = modern(2, "tools/call", json!({"name": "slow"}));
    request["params"]["_meta"]["progressToken"] = "mine".into();
    client.send(&request).await;
    let call = shared.receive().await;
    let token = call["params"]["_meta"]["progressToken"].clone();
    assert!(token.is_string());
    let log = json!({"level": "error", "data": "not requested"});
    shared
        .send(notification("notifications/message", log))
        .await;
    let progress = json!({"progressToken": token, "progress": 1});
    shared
        .send(notification("notifications/progress", progress))
        .await;
    let expected = json!({"progressToken": "mine", "progress": 1});
    client
        .expect(notification("notifications/progress", expected))
        .await;
    shared.respond(&call, "{}").await;
    assert_eq!(client.receive().await["id"], 2);
}
