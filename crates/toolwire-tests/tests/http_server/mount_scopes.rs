//! The scopes of a mount: callers without them cannot use its entries.

use serde_json::{Value, json};
use toolwire::transport::http::HttpOptions;
use toolwire::types::PromptArgument;
use toolwire::{
    CompletionRequest, Mount, PromptHandler, RequestContext, ResourceHandler,
    ResourceTemplateHandler, Server,
};
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::http::named_users::NamedUsers;
use toolwire_tests::http::request::Request;
use toolwire_tests::http::session::initialize_request;
use toolwire_tests::peer::{call, legacy, modern, plain, server};

fn entries() -> Server {
    let complete = |_: RequestContext, _: CompletionRequest| async { vec!["suggested"] };
    server()
        .with_resource_subscriptions()
        .tool(plain("open", |_| async { "open" }))
        .tool(plain("erase", |_| async { "erased" }).requires_scopes(["write"]))
        .prompt(
            PromptHandler::new("sum_up", |_, _| async { "Sum up." })
                .with_argument(PromptArgument::new("a"))
                .with_completion("a", complete),
        )
        .resource(ResourceHandler::new("x://a", "a", |_, _| async { "A" }))
        .resource_template(ResourceTemplateHandler::new(
            "x://by/{name}",
            "by name",
            |_, uri, _| async move { uri },
        ))
}

/// Returns requests for entries of the mount.
fn requests(prefix: &str) -> Vec<Value> {
    let prompt = format!("{prefix}_sum_up");
    let reference = json!({"type": "ref/prompt", "name": prompt});
    let argument = json!({"name": "a", "value": ""});
    let completion = json!({"ref": reference, "argument": argument});
    vec![
        call(1, &format!("{prefix}_open"), json!({})),
        modern(1, "prompts/get", json!({"name": prompt})),
        modern(1, "resources/read", json!({"uri": "x://a"})),
        modern(1, "resources/read", json!({"uri": "x://by/ann"})),
        modern(1, "completion/complete", completion),
    ]
}

async fn status(endpoint: &Endpoint, scopes: &str, request: Request) -> u16 {
    let request = request.with("Authorization", format!("Bearer ann:{scopes}"));
    endpoint.request(&request).await.status()
}

#[tokio::test]
async fn caller_without_the_scope_of_a_mount_gets_403_for_its_entries() {
    let admin = || Mount::new("admin", entries()).with_scopes(["admin"]);
    let direct = (server().mount_with(admin()), "admin");
    let nested = (
        server().mount("outer", server().mount_with(admin())),
        "outer_admin",
    );
    for (server, prefix) in [direct, nested] {
        let server = server.tool(plain("own", |_| async { "own" }));
        let options = HttpOptions::new().with_authorizer(NamedUsers);
        let endpoint = Endpoint::serve_with(&server, options).await;
        let status = async |scopes: &str, message: &Value| {
            status(&endpoint, scopes, Request::modern(message)).await
        };
        for request in requests(prefix) {
            assert_eq!(status("read", &request).await, 403, "{request}");
            assert_eq!(status("admin", &request).await, 200, "{request}");
        }
        // The scopes of a mount are added to those of its entries, and do not apply to other entries.
        let erase = call(1, &format!("{prefix}_erase"), json!({}));
        assert_eq!(status("admin", &erase).await, 403);
        assert_eq!(status("write", &erase).await, 403);
        assert_eq!(status("admin,write", &erase).await, 200);
        assert_eq!(status("read", &call(1, "own", json!({}))).await, 200);
    }
}

#[tokio::test]
async fn session_without_the_scope_of_a_mount_gets_403_for_its_resources() {
    let mount = Mount::new("admin", entries()).with_scopes(["admin"]);
    let options = HttpOptions::new().with_authorizer(NamedUsers);
    let endpoint = Endpoint::serve_with(&server().mount_with(mount), options).await;
    for (scopes, expected) in [("read", 403), ("admin", 200)] {
        let initialize =
            initialize_request("2025-11-25").with("Authorization", format!("Bearer ann:{scopes}"));
        let opened = endpoint.request(&initialize).await;
        let session = opened
            .header("mcp-session-id")
            .expect("a session is opened");
        for method in ["resources/subscribe", "resources/read"] {
            let message = legacy(1, method, json!({"uri": "x://a"}));
            let request = Request::post(&message).in_session(session, "2025-11-25");
            assert_eq!(
                status(&endpoint, scopes, request).await,
                expected,
                "{method}"
            );
        }
    }
}
