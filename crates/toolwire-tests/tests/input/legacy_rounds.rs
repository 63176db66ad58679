//! Handlers that return input requests: on a legacy connection the server sends the requests to the client.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use toolwire::middleware::Audit;
use toolwire::types::{
    CreateMessageRequestParams, ElicitRequestFormParams, ElicitRequestURLParams, ElicitResult,
    InputRequest, InputRequests, SamplingMessage,
};
use toolwire::{
    CallToolResult, PromptArguments, PromptHandler, PromptResponse, RequestContext,
    ResourceHandler, ResourceResponse, Server, ToolError, ToolHandler, ToolResponse, tool,
};
use toolwire_tests::legacy_server::LEGACY;
use toolwire_tests::peer::{Peer, cancel, legacy, modern_with, result_response, text};
use toolwire_tests::server_requests::{all_capabilities, call, error_response};

fn form(message: &str) -> ElicitRequestFormParams {
    ElicitRequestFormParams::new(message, json!({"type": "object", "properties": {}}))
}

fn elicitation_request(id: i64, message: &str) -> Value {
    let schema = json!({"type": "object", "properties": {}});
    legacy(
        id,
        "elicitation/create",
        json!({"message": message, "requestedSchema": schema}),
    )
}

fn roots_request(id: i64) -> Value {
    legacy(id, "roots/list", json!({}))
}

/// Requests the roots, then two forms, and stores its progress in the request state.
#[tool]
fn interview(ctx: &RequestContext) -> Result<ToolResponse, ToolError> {
    let seen: Vec<String> = ctx.request_state_as()?;
    let responses = ctx.input_responses();
    let keys: Vec<&str> = responses.iter().map(|(key, _)| key).collect();
    match seen.len() {
        0 => ToolResponse::input_required_with(
            InputRequests::new().with("where", InputRequest::roots()),
            &vec!["asked where"],
        ),
        1 => {
            assert_eq!(keys, ["where"]);
            ToolResponse::input_required_with(
                InputRequests::new()
                    .with("who", form("Who?"))
                    .with("what", form("What?")),
                &vec!["asked where", "asked who and what"],
            )
        }
        _ => {
            let who: ElicitResult = ctx.input_response_or_empty("who")?;
            let expected = format!("{seen:?} {keys:?} {:?}", who.action);
            Ok(ToolResponse::complete(CallToolResult::text(expected)))
        }
    }
}

#[tokio::test]
async fn input_requests_are_sent_and_the_handler_runs_again_with_the_responses() {
    for version in ["2025-06-18", "2025-11-25"] {
        let mut peer = Peer::connect(&Server::new("s", "1").tool(interview));
        peer.initialize_with(version, all_capabilities()).await;
        peer.send(call("c", "interview")).await;
        peer.expect(roots_request(1)).await;
        peer.send(result_response(1, json!({"roots": []}))).await;
        peer.expect(elicitation_request(2, "Who?")).await;
        peer.send(result_response(
            2,
            json!({"action": "accept", "content": {}}),
        ))
        .await;
        peer.expect(elicitation_request(3, "What?")).await;
        peer.send(result_response(3, json!({"action": "decline"})))
            .await;
        let expected = r#"["asked where", "asked who and what"] ["who", "what"] Accept"#;
        peer.expect(result_response("c", text(expected))).await;
        peer.expect_silence().await;
    }
}

#[tokio::test]
async fn client_error_fails_the_request() {
    let mut peer = Peer::connect(&Server::new("s", "1").tool(interview));
    peer.initialize_with("2025-06-18", all_capabilities()).await;
    peer.send(call("c", "interview")).await;
    peer.expect(roots_request(1)).await;
    peer.send(error_response(1, -32603, "no roots today")).await;
    peer.expect(error_response("c", -32603, "no roots today"))
        .await;
    peer.expect_silence().await;
}

#[tokio::test]
async fn cancellation_between_rounds_cancels_the_pending_server_request() {
    let mut peer = Peer::connect(&Server::new("s", "1").tool(interview));
    peer.initialize_with("2025-06-18", all_capabilities()).await;
    peer.send(call("c", "interview")).await;
    peer.expect(roots_request(1)).await;
    peer.send(result_response(1, json!({"roots": []}))).await;
    peer.expect(elicitation_request(2, "Who?")).await;
    peer.send(cancel("c")).await;
    peer.expect(cancel(2)).await;
    peer.expect_silence().await;
}

/// Returns a tool that always returns the same input request, and the number of its runs.
fn always_requests(input_request: InputRequest) -> (ToolHandler, Arc<AtomicU32>) {
    let runs = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&runs);
    let descriptor = toolwire::Tool::new("always_requests", json!({"type": "object"}));
    let tool = ToolHandler::raw(descriptor, move |_: RequestContext, _| {
        counted.fetch_add(1, Ordering::Relaxed);
        let requests = InputRequests::new().with("more", input_request.clone());
        async move { ToolResponse::input_required(requests, None) }
    });
    (tool, runs)
}

#[tokio::test]
async fn request_fails_after_16_rounds() {
    let (tool, runs) = always_requests(InputRequest::roots());
    let mut peer = Peer::connect(&Server::new("s", "1").tool(tool));
    peer.initialize_with("2025-11-25", all_capabilities()).await;
    peer.send(call("c", "always_requests")).await;
    for round in 1..=16 {
        peer.expect(roots_request(round)).await;
        peer.send(result_response(round, json!({"roots": []})))
            .await;
    }
    peer.expect_error("c", -32603).await;
    assert_eq!(runs.load(Ordering::Relaxed), 17);
    peer.expect_silence().await;
}

#[tokio::test(start_paused = true)]
async fn state_without_input_requests_runs_the_handler_again_after_a_pause() {
    /// Counts to three in its state.
    #[tool]
    fn count(ctx: &RequestContext) -> ToolResponse {
        match ctx.request_state() {
            "xxx" => CallToolResult::text("three").into(),
            state => ToolResponse::input_required(InputRequests::new(), Some(format!("{state}x"))),
        }
    }

    for version in LEGACY {
        let mut peer = Peer::connect(&Server::new("s", "1").tool(count));
        peer.initialize(version).await;
        let start = tokio::time::Instant::now();
        peer.send(call("c", "count")).await;
        peer.expect(result_response("c", text("three"))).await;
        assert!(start.elapsed() >= Duration::from_millis(700), "{version}");
    }
}

#[tokio::test]
async fn input_request_that_the_client_does_not_support_fails_the_request() {
    let check = async |version: &str, capabilities: Value, input_request: InputRequest| {
        let (tool, _) = always_requests(input_request);
        let mut peer = Peer::connect(&Server::new("s", "1").tool(tool));
        peer.initialize_with(version, capabilities).await;
        peer.error_of(call("c", "always_requests"), -32600).await;
    };
    let sampling = || CreateMessageRequestParams::new([SamplingMessage::user("hi")], 1);
    for version in LEGACY {
        check(version, json!({}), InputRequest::roots()).await;
        check(version, json!({}), form("Who?").into()).await;
        check(version, json!({}), sampling().into()).await;
    }
    check("2024-11-05", all_capabilities(), form("Who?").into()).await;
    check("2025-03-26", all_capabilities(), form("Who?").into()).await;
    let visit = ElicitRequestURLParams::new("Go", "https://example.test");
    check("2025-06-18", all_capabilities(), visit.into()).await;
}

#[tokio::test]
async fn url_elicitation_gets_an_id_in_2025_11_25() {
    let visit = ElicitRequestURLParams::new("Go", "https://example.test");
    for given in [None, Some("v")] {
        let mut visit = visit.clone();
        visit.elicitation_id = given.map(str::to_owned);
        let (tool, _) = always_requests(visit.into());
        let mut peer = Peer::connect(&Server::new("s", "1").tool(tool));
        peer.initialize_with("2025-11-25", all_capabilities()).await;
        peer.send(call("c", "always_requests")).await;
        let input_request = peer.receive().await;
        let id = input_request["params"]["elicitationId"].as_str().unwrap();
        match given {
            Some(given) => assert_eq!(id, given),
            None => assert_eq!(id.len(), 32, "{id}"),
        }
    }
}

#[tokio::test]
async fn input_responses_of_a_legacy_request_are_ignored() {
    let mut peer = Peer::connect(&Server::new("s", "1").tool(interview));
    peer.initialize_with("2025-11-25", all_capabilities()).await;
    let params = json!({
        "name": "interview",
        "requestState": "forged",
        "inputResponses": {"where": {"roots": []}},
    });
    peer.send(legacy("c", "tools/call", params)).await;
    peer.expect(roots_request(1)).await;
}

#[tokio::test]
async fn prompts_and_resources_can_return_input_requests() {
    let prompt = PromptHandler::new("p", async |ctx: RequestContext, _: PromptArguments| {
        if ctx.is_resubmit() {
            PromptResponse::Complete(toolwire::GetPromptResult::new(vec![]))
        } else {
            PromptResponse::input_required(
                InputRequests::new().with("r", InputRequest::roots()),
                None,
            )
        }
    });
    let resource = ResourceHandler::new("r://r", "r", async |ctx: RequestContext, _: String| {
        if ctx.is_resubmit() {
            ResourceResponse::Contents(toolwire::ResourceData::Text("read".to_owned()))
        } else {
            ResourceResponse::input_required(
                InputRequests::new().with("r", InputRequest::roots()),
                None,
            )
        }
    });
    let server = Server::new("s", "1").prompt(prompt).resource(resource);
    for version in LEGACY {
        let mut peer = Peer::connect(&server);
        peer.initialize_with(version, all_capabilities()).await;
        peer.send(legacy("p", "prompts/get", json!({"name": "p"})))
            .await;
        peer.expect(roots_request(1)).await;
        peer.send(result_response(1, json!({"roots": []}))).await;
        peer.expect(result_response("p", json!({"messages": []})))
            .await;
        peer.send(legacy("r", "resources/read", json!({"uri": "r://r"})))
            .await;
        peer.expect(roots_request(2)).await;
        peer.send(result_response(2, json!({"roots": []}))).await;
        let contents = json!({"contents": [{"uri": "r://r", "text": "read"}]});
        peer.expect(result_response("r", contents)).await;
    }
}

#[tokio::test]
async fn audit_counts_the_input_requests_of_an_exchange() {
    let lines = Arc::new(Mutex::new(Vec::<Value>::new()));
    let sink = {
        let lines = Arc::clone(&lines);
        move |line: &str| {
            let line = serde_json::from_str(line).expect("a line of JSON");
            lines.lock().expect("not poisoned").push(line);
        }
    };
    let counts = || {
        let lines = std::mem::take(&mut *lines.lock().expect("not poisoned"));
        let calls = lines.into_iter();
        let calls = calls.filter(|line| line["method"] == "tools/call");
        let counts = calls.map(|line| (line["retry"].clone(), line["inputRequests"].clone()));
        counts.collect::<Vec<(Value, Value)>>()
    };
    let server = Server::new("s", "1").tool(interview);
    let server = server.with_middleware(Audit::new(sink));

    // Before 2026-07-28, all rounds are one exchange.
    let mut peer = Peer::connect(&server);
    peer.initialize_with("2025-11-25", all_capabilities()).await;
    peer.send(call("c", "interview")).await;
    peer.expect(roots_request(1)).await;
    peer.send(result_response(1, json!({"roots": []}))).await;
    for (id, message) in [(2, "Who?"), (3, "What?")] {
        peer.expect(elicitation_request(id, message)).await;
        peer.send(result_response(id, json!({"action": "decline"})))
            .await;
    }
    assert_eq!(peer.receive().await["id"], "c");
    assert_eq!(counts(), [(json!(false), json!(3))]);

    // Each round is an exchange of its own.
    let mut peer = Peer::connect(&server);
    let params = json!({"name": "interview"});
    let first = modern_with(1, "tools/call", params.clone(), all_capabilities());
    let first = peer.result_of(first).await;
    let mut params = params;
    params["requestState"] = first["requestState"].clone();
    params["inputResponses"] = json!({"where": {"roots": []}});
    let second = modern_with(2, "tools/call", params, all_capabilities());
    peer.result_of(second).await;
    assert_eq!(
        counts(),
        [(json!(false), json!(1)), (json!(true), json!(2))]
    );
}
