//! Requests to an upstream server, in all pairs of eras.

use serde_json::{Value, json};
use toolwire::Server;
use toolwire::relay::Upstream;
use toolwire::transport::http::HttpOptions;
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::http::named_users::NamedUsers;
use toolwire_tests::http::request::Request;
use toolwire_tests::peer::{
    Peer, cancel, legacy, modern, modern_with, notification, result_response,
};

use crate::source::{UpstreamEra, legacy_details, mounted, mounted_with};

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
async fn state_of_an_upgraded_upstream_server_is_sealed_for_a_new_principal() {
    let mut mounted = mounted(UpstreamEra::Legacy).await;
    let options = HttpOptions::new().with_authorizer(NamedUsers);
    let front = Endpoint::serve_with(&mounted.server, options).await;
    let params = json!({"name": "up_greet", "arguments": {}});
    let message = modern_with(1, "tools/call", params, json!({"elicitation": {}}));
    let request = Request::modern(&message).with("Authorization", "Bearer ann");
    let serve = async {
        let mut upstream = mounted.connections.accept_modern().await;
        let call = upstream.receive().await;
        let result =
            r#"{"resultType":"input_required","inputRequests":{},"requestState":"secret"}"#;
        upstream.respond(&call, result).await;
        upstream
    };
    let (response, _upstream) = tokio::join!(front.request(&request), serve);
    let result = response.message()["result"].clone();
    assert_eq!(result["resultType"], "input_required");
    let state = result["requestState"].as_str().expect("a state");
    assert!(!state.contains("secret"), "{state}");
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
