//! Extensions of a client: their declaration, the server's settings, and requests in both directions.

use serde_json::{Value, json};
use toolwire::testing::ScriptedServer;
use toolwire::{
    Client, ClientBuilder, ErrorObject, Extension, ProtocolVersion, RequestContext, Server,
};

use super::{LEGACY, MODERN, builder};

const OWN: &str = "com.example/own";
const TASKS: &str = "io.modelcontextprotocol/tasks";

/// Returns settings of several shapes, by extension id.
fn settings() -> Value {
    json!({
        "io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]},
        "com.example/conformance": {"list": [1.5, [null, {"deep": "é"}]], "null": null},
        "com.example/empty": {},
    })
}

fn declaring(builder: ClientBuilder, settings: &Value) -> ClientBuilder {
    let entries = settings.as_object().expect("an object").clone();
    entries
        .into_iter()
        .fold(builder, |builder, (id, settings)| {
            builder.with_extension(id, settings)
        })
}

#[tokio::test]
async fn settings_of_any_shape_survive_in_both_directions() {
    let seen = |ctx: RequestContext, _: Value| async move {
        let extensions = &ctx.client_capabilities().extensions;
        Ok::<_, ErrorObject>(json!({"extensions": extensions}))
    };
    let entries = settings().as_object().expect("an object").clone();
    let server = Server::new("s", "1").method("com.example/seen", seen);
    let server = entries.into_iter().fold(server, |server, (id, settings)| {
        server.with_extension(id, settings)
    });
    for version in [LEGACY, MODERN] {
        let builder = declaring(builder(), &settings()).with_versions([version]);
        let client = builder.in_process(&server).await.expect("connected");
        let details = client.server().expect("the server was probed");
        let declared = serde_json::to_value(&details.capabilities.extensions);
        assert_eq!(declared.expect("plain data"), settings(), "{version}");
        let seen = client.request("com.example/seen", json!({})).await;
        let seen: Value = seen.expect("a result").parse().expect("an object");
        assert_eq!(seen["extensions"], settings(), "{version}");
    }
}

#[tokio::test]
async fn initialize_declares_only_extensions_of_its_revision() {
    let check = async |version: ProtocolVersion, expected: Value| {
        let mut all = settings();
        all[TASKS] = json!({});
        let builder = declaring(builder(), &all).with_versions([version]);
        let (mut server, connecting) = ScriptedServer::listening(builder);
        let connecting = tokio::spawn(connecting);
        server.accept().await;
        let request = server.expect("initialize").await;
        assert_eq!(
            request.params["capabilities"]["extensions"], expected,
            "{version}"
        );
        connecting.abort();
    };
    check(ProtocolVersion::V2025_11_25, settings()).await;
    check(ProtocolVersion::V2025_06_18, Value::Null).await;
    check(ProtocolVersion::V2024_11_05, Value::Null).await;
}

/// Returns a server whose method sends a request of the extension to the client.
fn pasting() -> Server {
    let paste = |ctx: RequestContext, params: Value| async move {
        let client = ctx
            .client()
            .ok_or_else(|| ErrorObject::internal("no session"))?;
        let pasted = client.request("com.example/own/paste", params).await;
        pasted.map_err(|error| match error.rpc() {
            Some(error) => error.clone(),
            None => ErrorObject::internal(error.to_string()),
        })
    };
    let own = Extension::new(OWN)
        .requires_client()
        .method("com.example/own/start", paste);
    Server::new("s", "1").extension(own)
}

#[tokio::test]
async fn client_responds_to_requests_of_an_extension() {
    #[derive(serde::Deserialize)]
    struct Paste {
        line: usize,
    }
    let client = builder()
        .with_versions([LEGACY])
        .with_extension(OWN, json!({}))
        .on_request("com.example/own/paste", |params: Paste| async move {
            match params.line {
                0 => Err(ErrorObject::new(7, "no line")),
                1 => panic!("a secret"),
                line => Ok(json!({"text": format!("line {line}")})),
            }
        })
        .in_process(&pasting())
        .await
        .expect("connected");
    let start = async |params: Value| client.request("com.example/own/start", params).await;
    let pasted: Value = start(json!({"line": 2}))
        .await
        .expect("a text")
        .parse()
        .unwrap();
    assert_eq!(pasted, json!({"text": "line 2"}));
    let check = async |params: Value, code: i64| {
        let error = start(params).await.expect_err("an error");
        let error = error.rpc().expect("an error of the client").clone();
        assert_eq!(error.code, code, "{error}");
        assert!(!error.message.contains("secret"), "{error}");
    };
    check(json!({"line": 0}), 7).await;
    check(json!({"line": 1}), -32603).await;
    check(json!({"line": "two"}), -32602).await;
    assert_eq!(client.pending_operations(), 0);
}

#[tokio::test]
async fn request_without_a_handler_is_an_unknown_method() {
    let client = builder()
        .with_versions([LEGACY])
        .with_extension(OWN, json!({}))
        .on_request("com.example/other", |_: Value| async {
            Ok::<Value, _>(json!({}))
        })
        .in_process(&pasting())
        .await
        .expect("connected");
    let error = client.request("com.example/own/start", json!({})).await;
    let error = error.expect_err("no handler");
    assert_eq!(error.rpc().map(|error| error.code), Some(-32601));
}

async fn handler(_: Value) -> Result<Value, ErrorObject> {
    Ok(json!({}))
}

#[test]
fn invalid_extensions_and_handlers_are_reported_when_they_are_set() {
    let check = |build: fn(ClientBuilder) -> ClientBuilder, expected: &str| {
        let panic = std::panic::catch_unwind(|| build(Client::builder("c", "1")));
        let panic = panic.expect_err("a panic");
        let message = panic.downcast_ref::<String>().expect("a message");
        assert!(message.contains(expected), "{message}");
    };
    check(
        |builder| builder.with_extension("own", json!({})),
        "\"own\"",
    );
    check(|builder| builder.with_extension(OWN, json!([])), OWN);
    check(
        |builder| builder.on_request("roots/list", handler),
        "`roots/list` is defined by the protocol",
    );
    check(
        |builder| {
            builder
                .on_request("a/b", handler)
                .on_request("a/b", handler)
        },
        "`a/b` has two handlers",
    );
}
