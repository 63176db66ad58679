//! Every method as a typed call to a server of this crate, in both eras.

use serde::{Deserialize, Serialize};
use serde_json::json;
use toolwire::testing::{
    assert_rpc_error, assert_structured, assert_text, assert_tool_error, client_with_version,
};
use toolwire::types::{CompletionArgument, PromptArgument, PromptReference};
use toolwire::{
    CompletionRequest, CompletionValues, JsonSchema, PromptArguments, PromptHandler,
    ProtocolVersion, RawJson, RequestContext, ResourceHandler, ResourceTemplateHandler, Server,
    TemplateArguments, ToolError, ToolHandler,
};
use toolwire_tests::peer::plain;

use super::{LEGACY, MODERN};

#[derive(Debug, Deserialize, JsonSchema)]
struct Numbers {
    a: i64,
    b: i64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Sum {
    sum: i64,
}

fn server() -> Server {
    let add = ToolHandler::typed("add", |_: RequestContext, numbers: Numbers| async move {
        Sum {
            sum: numbers.a + numbers.b,
        }
    });
    let fails = plain("fails", |_| async {
        Err::<String, _>(ToolError::failed("no luck"))
    });
    let greet = PromptHandler::new("greet", |_, mut arguments: PromptArguments| async move {
        let who: String = arguments.required("who")?;
        Ok::<_, ToolError>(format!("Greet {who}."))
    })
    .with_argument(PromptArgument::required("who"))
    .with_completion("who", |_, request: CompletionRequest| async move {
        CompletionValues::prefix_match(&request.value, ["Ada", "Bob"])
    });
    let note = ResourceHandler::new("test://note", "note", |_, _| async { "a note" });
    let page = ResourceTemplateHandler::new(
        "test://page/{number}",
        "page",
        |_, _, mut variables: TemplateArguments| async move {
            let number: u32 = variables.required("number")?;
            Ok::<_, ToolError>(format!("page {number}"))
        },
    );
    Server::new("demo", "1.0.0")
        .with_instructions("Add.")
        .tool(add)
        .tool(fails)
        .prompt(greet)
        .resource(note)
        .resource_template(page)
}

const VERSIONS: [ProtocolVersion; 5] = [
    ProtocolVersion::V2024_11_05,
    ProtocolVersion::V2025_03_26,
    ProtocolVersion::V2025_06_18,
    LEGACY,
    MODERN,
];

#[tokio::test]
async fn every_method_returns_its_typed_result_in_every_version() {
    let server = server();
    for version in VERSIONS {
        let client = client_with_version(&server, version).await;
        assert_eq!(client.version(), version);
        let details = client.server().expect("server information");
        assert_eq!(details.instructions.as_deref(), Some("Add."));

        let tools = client.list_tools().await.expect("tools");
        let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["add", "fails"]);
        let sum = client
            .call_tool("add", json!({"a": 1, "b": 2}))
            .await
            .expect("a sum");
        if version >= ProtocolVersion::V2025_06_18 {
            assert_structured(&sum, json!({"sum": 3}));
        }
        let failed = client.call_tool("fails", ()).await.expect("a result");
        assert_tool_error(&failed, "no luck");
        assert_rpc_error(&client.call_tool("unknown", json!({})).await, -32602);

        let prompts = client.list_prompts().await.expect("prompts");
        assert_eq!(prompts[0].name, "greet");
        let prompt = client
            .get_prompt("greet", [("who", "Ada")])
            .await
            .expect("a prompt");
        assert_text(&prompt, "Greet Ada.");
        let none: [(&str, &str); 0] = [];
        assert_rpc_error(&client.get_prompt("greet", none).await, -32602);

        let resources = client.list_resources().await.expect("resources");
        assert_eq!(resources[0].uri, "test://note");
        assert_text(
            &client.read_resource("test://note").await.expect("a note"),
            "a note",
        );
        let templates = client.list_resource_templates().await.expect("templates");
        assert_eq!(templates[0].uri_template, "test://page/{number}");
        assert_text(
            &client.read_resource("test://page/3").await.expect("a page"),
            "page 3",
        );
        client
            .read_resource("test://nothing")
            .await
            .expect_err("no such resource");

        let argument = CompletionArgument::new("who", "A");
        let completed = client
            .complete(PromptReference::new("greet"), argument)
            .await;
        assert_eq!(completed.expect("completions").completion.values, ["Ada"]);

        client.ping().await.expect("a response");
        let discovered = client.discover().await;
        if version == MODERN {
            assert!(!discovered.expect("a result").supported_versions.is_empty());
        } else {
            assert_rpc_error(&discovered, -32601);
        }
        let raw: RawJson = client
            .request("tools/list", json!({}))
            .await
            .expect("raw tools");
        assert!(raw.get().contains("\"add\""));
        assert_rpc_error(&client.request("acme/none", json!({})).await, -32601);
        assert_eq!(client.pending_operations(), 0);
        assert_eq!(client.ignored_messages(), 0);
    }
}

#[tokio::test]
async fn concurrent_calls_get_their_own_results() {
    let client = client_with_version(&server(), MODERN).await;
    let calls: Vec<_> = (0..100)
        .map(|a| {
            (
                a,
                super::spawn_call(client.call_tool("add", json!({"a": a, "b": 1}))),
            )
        })
        .collect();
    for (a, call) in calls {
        let sum = super::outcome_of(call).await.expect("a sum");
        assert_structured(&sum, Sum { sum: a + 1 });
    }
}

#[tokio::test]
async fn arguments_that_are_not_json_are_rejected_before_sending() {
    let (client, mut server) = super::modern().await;
    let non_string_keys = std::collections::HashMap::from([((1, 2), 3)]);
    let error = client
        .call_tool("add", non_string_keys)
        .await
        .expect_err("an encoding error");
    assert!(error.to_string().contains("arguments"), "{error}");
    server.expect_silence().await;
}
