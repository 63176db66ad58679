//! `prompts/list`, `prompts/get` and `completion/complete`.

use serde_json::{Value, json};
use toolwire::types::{CompletionReference, PromptArgument};
use toolwire::{
    CompletionRequest, CompletionValues, GetPromptResult, PromptArguments, PromptHandler,
    PromptMessage, ResourceHandler, ResourceTemplateHandler, Server,
};
use toolwire_tests::peer::{Peer, complete, legacy, modern, server};

const PEOPLE: [&str; 4] = ["Ada", "Alan", "Barbara", "adele"];

fn prompt_server() -> Server {
    let greet = PromptHandler::new("greet", |_, mut arguments: PromptArguments| async move {
        let name: String = arguments.required("name")?;
        let times: Option<u8> = arguments.optional("times")?;
        let greeting = format!("Greet {name} {} times.", times.unwrap_or(1));
        Ok::<_, toolwire::ToolError>(
            GetPromptResult::new(vec![
                PromptMessage::user(greeting),
                PromptMessage::assistant("I will."),
            ])
            .with_description("A greeting"),
        )
    })
    .with_description("Greets a person.")
    .with_argument(PromptArgument::required("name").with_description("the name of the person"))
    .with_argument(PromptArgument::new("times"))
    .with_completion("name", |_, request: CompletionRequest| async move {
        CompletionValues::prefix_match(&request.value, PEOPLE)
    });
    let many = PromptHandler::new("many", |_, _| async { "many" })
        .with_argument(PromptArgument::new("count"))
        .with_argument(PromptArgument::new("bound"))
        .with_completion("count", |_, request: CompletionRequest| async move {
            let count: usize = request.value.parse().unwrap_or_default();
            (0..count).map(|n| n.to_string()).collect::<Vec<_>>()
        })
        .with_completion("bound", |_, request: CompletionRequest| async move {
            let count = request.arguments.get("count").cloned();
            CompletionValues::new(count.into_iter().collect())
                .with_total(7)
                .with_has_more()
        });
    server().prompt(greet).prompt(many)
}

#[tokio::test]
async fn prompts_are_listed_with_their_arguments() {
    let mut peer = Peer::connect(&prompt_server());
    let result = peer.result_of(modern(1, "prompts/list", json!({}))).await;
    assert_eq!(
        result["prompts"][0],
        json!({
            "name": "greet",
            "description": "Greets a person.",
            "arguments": [
                {"name": "name", "description": "the name of the person", "required": true},
                {"name": "times"},
            ],
        })
    );
}

#[tokio::test]
async fn prompts_get_returns_the_messages() {
    let mut peer = Peer::connect(&prompt_server());
    let params = json!({"name": "greet", "arguments": {"name": "Ada", "times": "2"}});
    peer.send(modern(1, "prompts/get", params)).await;
    peer.expect(complete(
        1,
        json!({
            "description": "A greeting",
            "messages": [
                {"role": "user", "content": {"type": "text", "text": "Greet Ada 2 times."}},
                {"role": "assistant", "content": {"type": "text", "text": "I will."}},
            ],
        }),
    ))
    .await;
}

#[tokio::test]
async fn error_names_the_invalid_prompt_argument() {
    let mut peer = Peer::connect(&prompt_server());
    let mut check = async |params: Value, word: &str| {
        let error = peer
            .error_of(modern(1, "prompts/get", params), -32602)
            .await;
        let message = error["message"].as_str().unwrap_or_default();
        assert!(message.contains(word), "{message} should contain {word}");
    };
    check(json!({"name": "nope"}), "`nope`").await;
    check(json!({"name": "greet"}), "`name`").await;
    check(json!({"name": "greet", "arguments": {}}), "`name`").await;
    let unreadable = json!({"name": "greet", "arguments": {"name": "A", "times": "many"}});
    check(unreadable, "`times` must be an integer from 0 to 255").await;
    check(json!({"name": "greet", "arguments": {"name": 1}}), "string").await;
    check(json!({}), "").await;
}

fn complete_argument(prompt: &str, argument: Value) -> Value {
    let params = json!({"ref": {"type": "ref/prompt", "name": prompt}, "argument": argument});
    modern(1, "completion/complete", params)
}

#[tokio::test]
async fn arguments_are_completed() {
    let mut peer = Peer::connect(&prompt_server());
    let request = complete_argument("greet", json!({"name": "name", "value": "AD"}));
    peer.send(request).await;
    let completion = json!({"values": ["Ada", "adele"], "hasMore": false});
    peer.expect(complete(1, json!({"completion": completion})))
        .await;
    // An argument without a completer has no values, which is not an error.
    peer.send(complete_argument(
        "greet",
        json!({"name": "times", "value": ""}),
    ))
    .await;
    let completion = json!({"values": [], "hasMore": false});
    peer.expect(complete(1, json!({"completion": completion})))
        .await;
}

#[tokio::test]
async fn completion_has_at_most_100_values_and_a_total() {
    let mut peer = Peer::connect(&prompt_server());
    for (count, sent, has_more, total) in [
        (0, 0, false, Value::Null),
        (100, 100, false, Value::Null),
        (101, 100, true, json!(101)),
        (2000, 100, true, json!(2000)),
    ] {
        let argument = json!({"name": "count", "value": count.to_string()});
        let result = peer.result_of(complete_argument("many", argument)).await;
        let completion = &result["completion"];
        assert_eq!(completion["values"].as_array().map(Vec::len), Some(sent));
        assert_eq!(completion["hasMore"], has_more);
        assert_eq!(completion["total"], total);
    }
}

#[tokio::test]
async fn completer_receives_the_other_arguments() {
    let mut peer = Peer::connect(&prompt_server());
    let mut request = complete_argument("many", json!({"name": "bound", "value": ""}));
    request["params"]["context"] = json!({"arguments": {"count": "12"}});
    let result = peer.result_of(request).await;
    assert_eq!(
        result["completion"],
        json!({"values": ["12"], "total": 7, "hasMore": true})
    );
}

#[tokio::test]
async fn template_variables_are_completed() {
    let people =
        ResourceTemplateHandler::new("people://{name}", "person", |_, _, _| async { "a person" })
            .with_completion("name", |_, request: CompletionRequest| async move {
                CompletionValues::prefix_match(&request.value, PEOPLE)
            });
    let fixed = ResourceHandler::new("people://all", "all", |_, _| async { "all people" });
    let mut peer = Peer::connect(&server().resource_template(people).resource(fixed));
    let request = |uri: &str| {
        let argument = json!({"name": "name", "value": "b"});
        let params = json!({"ref": {"type": "ref/resource", "uri": uri}, "argument": argument});
        modern(1, "completion/complete", params)
    };
    let result = peer.result_of(request("people://{name}")).await;
    assert_eq!(result["completion"]["values"], json!(["Barbara"]));
    let result = peer.result_of(request("people://all")).await;
    assert_eq!(result["completion"]["values"], json!([]));
    peer.error_of(request("people://{other}"), -32602).await;
}

#[tokio::test]
async fn completion_of_an_unknown_reference_is_rejected() {
    let mut peer = Peer::connect(&prompt_server());
    let argument = json!({"name": "name", "value": ""});
    peer.error_of(complete_argument("nope", argument.clone()), -32602)
        .await;
    for params in [
        json!({}),
        json!({"ref": {"type": "ref/prompt", "name": "greet"}}),
        json!({"ref": {"type": "ref/tool", "name": "greet"}, "argument": argument}),
        json!({"argument": argument}),
    ] {
        peer.error_of(modern(1, "completion/complete", params), -32602)
            .await;
    }
}

#[tokio::test]
async fn completion_without_completers_is_unknown() {
    let bare = server().prompt(
        PromptHandler::new("p", |_, _| async { "hi" }).with_argument(PromptArgument::new("a")),
    );
    let mut peer = Peer::connect(&bare);
    let argument = json!({"name": "a", "value": ""});
    peer.error_of(complete_argument("p", argument.clone()), -32601)
        .await;
    // 2024-11-05 has no capability for completion, so the method is always served.
    peer.initialize("2024-11-05").await;
    let params = json!({"ref": {"type": "ref/prompt", "name": "p"}, "argument": argument});
    peer.result_of(legacy(2, "completion/complete", params))
        .await;
}

#[tokio::test]
async fn server_completes_arguments_without_a_completer_of_their_own() {
    let template =
        ResourceTemplateHandler::new("people://{name}", "person", |_, _, _| async { "a person" });
    let fixed = ResourceHandler::new("people://all", "all", |_, _| async { "all people" });
    let server = prompt_server()
        .resource_template(template)
        .resource(fixed)
        .with_completion(
            |_, reference: CompletionReference, request: CompletionRequest| async move {
                let name = match reference {
                    CompletionReference::Prompt(prompt) => prompt.name,
                    CompletionReference::Resource(template) => template.uri,
                    _ => String::new(),
                };
                let known = request.arguments.len();
                vec![format!(
                    "{name} {} {:?} {known}",
                    request.argument, request.value
                )]
            },
        );
    let mut peer = Peer::connect(&server);
    let mut check = async |mut reference: Value, argument: &str, expected: &[&str]| {
        let kind = if reference.get("uri").is_some() {
            "ref/resource"
        } else {
            "ref/prompt"
        };
        reference["type"] = json!(kind);
        let argument = json!({"name": argument, "value": "A"});
        let context = json!({"arguments": {"other": "x"}});
        let params = json!({"ref": reference, "argument": argument, "context": context});
        let request = modern(1, "completion/complete", params);
        let result = peer.result_of(request).await;
        assert_eq!(result["completion"]["values"], json!(expected));
    };
    let greet = || json!({"name": "greet"});
    check(greet(), "times", &["greet times \"A\" 1"]).await;
    check(
        json!({"uri": "people://{name}"}),
        "name",
        &["people://{name} name \"A\" 1"],
    )
    .await;
    // A completer of the argument precedes the one of the server.
    check(greet(), "name", &["Ada", "Alan", "adele"]).await;
    // There is nothing to complete.
    check(greet(), "nothing", &[]).await;
    check(json!({"uri": "people://{name}"}), "other", &[]).await;
    check(json!({"uri": "people://all"}), "name", &[]).await;

    let argument = json!({"name": "name", "value": ""});
    peer.error_of(complete_argument("nope", argument), -32602)
        .await;
}

#[tokio::test]
async fn completer_of_the_server_adds_the_capability() {
    let bare = || {
        let prompt = PromptHandler::new("p", |_, _| async { "hi" });
        server().prompt(prompt.with_argument(PromptArgument::new("a")))
    };
    assert_eq!(bare().capabilities().completions, None);
    let complete =
        |_, _: CompletionReference, _: CompletionRequest| async { CompletionValues::default() };
    let server = bare().with_completion(complete);
    assert!(server.capabilities().completions.is_some());
    let mut peer = Peer::connect(&server);
    let argument = json!({"name": "a", "value": ""});
    let result = peer.result_of(complete_argument("p", argument)).await;
    assert_eq!(result["completion"]["values"], json!([]));
}
