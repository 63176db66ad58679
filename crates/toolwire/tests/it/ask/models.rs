//! What reaches the client's model, and what comes back from it.

use serde_json::{Value, json};
use toolwire::types::{CreateMessageRequestParams, IncludeContext, SamplingMessage};
use toolwire::{Error, RequestContext, Server};

use crate::peer::{Peer, answer, legacy, modern_with, plain, text};

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
async fn context_is_asked_for_only_where_it_is_offered() {
    let offered = json!({"context": {}});
    for (capability, expected) in [(json!({}), json!(null)), (offered, json!("thisServer"))] {
        let mut peer = Peer::connect(&server());
        let call = json!({"name": "think"});
        let call = modern_with(1, "tools/call", call, sampling(&capability));
        let result = peer.result_of(call).await;
        let asked = &result["inputRequests"]["model"]["params"];
        assert_eq!(asked["includeContext"], expected, "{capability}");

        for version in ["2025-06-18", "2025-11-25"] {
            let mut peer = Peer::connect(&server());
            peer.initialize_with(version, sampling(&capability)).await;
            let call = legacy("c", "tools/call", json!({"name": "think"}));
            peer.send(call).await;
            let asked = peer.receive().await;
            let expected = match version {
                // There is no such capability yet, and any client may be asked.
                "2025-06-18" => json!("thisServer"),
                _ => expected.clone(),
            };
            assert_eq!(asked["params"]["includeContext"], expected, "{version}");
            let said = json!({"type": "text", "text": "well"});
            let said = json!({"role": "assistant", "model": "m", "content": said});
            peer.send(answer(1, said)).await;
            peer.expect(answer("c", text("well"))).await;
        }
    }
}

#[tokio::test]
async fn the_question_without_the_context_is_the_same_question() {
    let mut peer = Peer::connect(&server());
    let call = |params: Value| modern_with(1, "tools/call", params, sampling(&json!({})));
    let asked = peer.result_of(call(json!({"name": "think"}))).await;
    let said =
        json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "well"}});
    let again = json!({
        "name": "think", "requestState": asked["requestState"], "inputResponses": {"model": said},
    });
    let result = peer.result_of(call(again)).await;
    assert_eq!(result["content"][0]["text"], "well");
}
