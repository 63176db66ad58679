//! `includeContext` of sampling requests.

use serde_json::{Value, json};
use toolwire::types::{CreateMessageRequestParams, IncludeContext, SamplingMessage};
use toolwire::{Error, RequestContext, Server};
use toolwire_tests::peer::{Peer, legacy, modern_with, plain, result_response, text};

fn server() -> Server {
    let think = plain("think", |ctx: RequestContext| async move {
        let request = CreateMessageRequestParams::new([SamplingMessage::user("hi")], 5)
            .with_include_context(IncludeContext::ThisServer);
        let message = ctx.ask_model("model", request).await?;
        Ok::<_, Error>(message.content.text())
    });
    Server::new("models", "1").tool(think)
}

fn sampling(capability: &Value) -> Value {
    json!({ "sampling": capability })
}

#[tokio::test]
async fn include_context_is_sent_only_with_the_capability() {
    let offered = json!({"context": {}});
    for (capability, expected) in [(json!({}), json!(null)), (offered, json!("thisServer"))] {
        let mut peer = Peer::connect(&server());
        let call = json!({"name": "think"});
        let call = modern_with(1, "tools/call", call, sampling(&capability));
        let result = peer.result_of(call).await;
        let params = &result["inputRequests"]["model"]["params"];
        assert_eq!(params["includeContext"], expected, "{capability}");

        for version in ["2025-06-18", "2025-11-25"] {
            let mut peer = Peer::connect(&server());
            peer.initialize_with(version, sampling(&capability)).await;
            let call = legacy("c", "tools/call", json!({"name": "think"}));
            peer.send(call).await;
            let request = peer.receive().await;
            let expected = match version {
                // 2025-06-18 has no such capability, so the member is sent to every client.
                "2025-06-18" => json!("thisServer"),
                _ => expected.clone(),
            };
            assert_eq!(request["params"]["includeContext"], expected, "{version}");
            let response = json!({"type": "text", "text": "well"});
            let response = json!({"role": "assistant", "model": "m", "content": response});
            peer.send(result_response(1, response)).await;
            peer.expect(result_response("c", text("well"))).await;
        }
    }
}

#[tokio::test]
async fn request_without_include_context_matches_its_response() {
    let mut peer = Peer::connect(&server());
    let call = |params: Value| modern_with(1, "tools/call", params, sampling(&json!({})));
    let input_required = peer.result_of(call(json!({"name": "think"}))).await;
    let response =
        json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "well"}});
    let retry = json!({
        "name": "think", "requestState": input_required["requestState"], "inputResponses": {"model": response},
    });
    let result = peer.result_of(call(retry)).await;
    assert_eq!(result["content"][0]["text"], "well");
}
