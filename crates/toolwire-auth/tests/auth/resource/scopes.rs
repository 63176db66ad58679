//! Requests that require scopes: the challenge, and lists that are filtered by scope.

use serde_json::{Value, json};
use toolwire::transport::http::HttpOptions;
use toolwire_auth::ScopeHierarchy;
use toolwire_tests::http::request::Request;
use toolwire_tests::http::session::initialize_request;
use toolwire_tests::peer::{Peer, call, modern};

use super::protected_server::{
    ProtectedServer, config, insufficient, options, protected_server, tokens, whoami,
};

fn write() -> Value {
    call(7, "write", json!({}))
}

fn read(uri: &str) -> Value {
    modern(7, "resources/read", json!({ "uri": uri }))
}

fn letter() -> Value {
    modern(7, "prompts/get", json!({"name": "letter"}))
}

fn complete(reference: Value, argument: &str) -> Value {
    let params = json!({"ref": reference, "argument": {"name": argument, "value": ""}});
    modern(7, "completion/complete", params)
}

fn listen(uris: Value) -> Value {
    let filter = json!({"notifications": {"resourceSubscriptions": uris}});
    modern(7, "subscriptions/listen", filter)
}

#[tokio::test]
async fn challenge_names_all_scopes_of_a_request() {
    let server = ProtectedServer::new().await;
    let prompt = json!({"type": "ref/prompt", "name": "letter"});
    let template = json!({"type": "ref/resource", "uri": "file:///notes/{name}"});
    for (message, scopes) in [
        (write(), "files:read files:write"),
        (read("file:///plan"), "files:read"),
        (read("file:///notes/first"), "files:read"),
        (letter(), "mail:read"),
        (complete(prompt, "to"), "mail:read"),
        (complete(template, "name"), "files:read"),
        (
            listen(json!(["file:///open", "file:///plan"])),
            "files:read",
        ),
    ] {
        let response = server.send_message("ann", &message).await;
        assert_eq!(response.status(), 403, "{message}");
        assert_eq!(
            response.header("www-authenticate"),
            Some(&*insufficient(scopes)),
            "{message}"
        );
        assert_eq!(response.message()["id"], 7);
        let allowed = server.send_message("bob", &message);
        if message["method"] != "subscriptions/listen" {
            let allowed = allowed.await;
            assert_eq!(allowed.status(), 200, "{message}");
            assert_eq!(allowed.message().get("error"), None, "{message}");
        }
    }
    // A token with one of two scopes is rejected, and the challenge names both.
    let response = server.send_message("ann-reads", &write()).await;
    assert_eq!(response.status(), 403);
    let expected = insufficient("files:read files:write");
    assert_eq!(response.header("www-authenticate"), Some(&*expected));
    assert_eq!(server.runs(), 1);
}

#[tokio::test]
async fn challenge_names_all_scopes_of_a_batch() {
    let server = ProtectedServer::new().await;
    let response = server.send("ann", initialize_request("2025-03-26")).await;
    let session = response.header("mcp-session-id").unwrap().to_owned();
    let call_of = |id, tool| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool}});
    let letter =
        json!({"jsonrpc": "2.0", "id": 3, "method": "prompts/get", "params": {"name": "letter"}});
    let batch = json!([call_of(1, "whoami"), call_of(2, "write"), letter]);
    let request = Request::post(&batch).in_session(&session, "2025-03-26");
    for (token, scopes) in [
        ("ann", "files:read files:write mail:read"),
        ("ann-reads", "files:read files:write mail:read"),
    ] {
        let response = server.send(token, request.clone()).await;
        assert_eq!(response.status(), 403, "{}", response.text());
        let challenge = response.header("www-authenticate");
        assert_eq!(challenge, Some(&*insufficient(scopes)), "{token}");
    }
    assert_eq!(server.runs(), 0, "no request of the batch is served");
    let allowed = json!([call_of(1, "whoami")]);
    let request = Request::post(&allowed).in_session(&session, "2025-03-26");
    assert_eq!(server.send("ann", request).await.status(), 200);
    assert_eq!(server.runs(), 1);
}

#[tokio::test]
async fn required_scopes_apply_to_every_request() {
    let server = ProtectedServer::with(
        config()
            .with_verifier(tokens())
            .with_required_scopes(["mail:read"]),
    )
    .await;
    for request in [
        Request::modern(&whoami()),
        Request::modern(&modern(7, "tools/list", json!({}))),
        initialize_request("2025-11-25"),
        Request::get("made up", "2025-11-25"),
        Request::delete("made up", "2025-11-25"),
    ] {
        let response = server.send("ann-reads", request).await;
        assert_eq!(response.status(), 403);
        assert_eq!(
            response.header("www-authenticate"),
            Some(&*insufficient("mail:read"))
        );
    }
    assert_eq!(server.runs(), 0);
    assert_eq!(server.send_message("bob", &whoami()).await.status(), 200);
    assert_eq!(server.send_message("bob", &write()).await.status(), 200);
}

#[tokio::test]
async fn challenge_for_a_tool_includes_the_required_scopes_of_the_server() {
    let tokens = tokens().with_token("mail", "ann", "mail:read");
    let server = ProtectedServer::with(
        config()
            .with_verifier(tokens)
            .with_required_scopes(["mail:read"]),
    )
    .await;
    let response = server.send_message("mail", &write()).await;
    assert_eq!(response.status(), 403);
    let expected = insufficient("mail:read files:read files:write");
    assert_eq!(response.header("www-authenticate"), Some(&*expected));
}

#[tokio::test]
async fn scope_hierarchy_grants_implied_scopes() {
    let hierarchy = ScopeHierarchy::new()
        .with_implied("admin", ["files:write"])
        .with_implied("files:write", ["files:read"]);
    let tokens = tokens().with_token("root", "root", "admin");
    let config = config()
        .with_verifier(tokens)
        .with_required_scopes(["files:read"])
        .with_scope_hierarchy(hierarchy);
    let server = ProtectedServer::with(config).await;
    assert_eq!(server.send_message("root", &write()).await.status(), 200);
    assert_eq!(
        server.send_message("ann-reads", &write()).await.status(),
        403
    );
}

/// Returns the names in a list, and its cache scope.
async fn listed(
    server: &ProtectedServer,
    token: &str,
    method: &str,
    member: &str,
) -> (Vec<String>, Value) {
    let response = server
        .send_message(token, &modern(7, method, json!({})))
        .await;
    assert_eq!(response.status(), 200, "{}", response.text());
    let result = response.message()["result"].take();
    let names = result[member].as_array().unwrap().iter();
    let names = names
        .map(|entry| entry["name"].as_str().unwrap().to_owned())
        .collect();
    (names, result["cacheScope"].clone())
}

const LISTS: [(&str, &str, &str); 4] = [
    ("tools/list", "tools", "write"),
    ("prompts/list", "prompts", "letter"),
    ("resources/list", "resources", "plan"),
    ("resources/templates/list", "resourceTemplates", "notes"),
];

#[tokio::test]
async fn filtered_lists_omit_features_without_granted_scopes() {
    let options = options(config().with_verifier(tokens()));
    let server = ProtectedServer::serve(options, toolwire::Server::with_scope_filtered_lists).await;
    for (method, member, name) in LISTS {
        let (all, _) = listed(&server, "bob", method, member).await;
        assert!(all.iter().any(|own| own == name), "{method}: {all:?}");
        let (filtered, scope) = listed(&server, "ann", method, member).await;
        assert!(
            !filtered.iter().any(|own| own == name),
            "{method}: {filtered:?}"
        );
        assert_eq!(scope, "private", "{method}");
        let (again, _) = listed(&server, "bob", method, member).await;
        assert_eq!(again, all, "{method}");
    }
    let (filtered, _) = listed(&server, "ann-reads", "resources/list", "resources").await;
    assert_eq!(filtered, ["plan"]);
}

#[tokio::test]
async fn unfiltered_lists_contain_all_features() {
    let server = ProtectedServer::new().await;
    for (method, member, name) in LISTS {
        let (all, _) = listed(&server, "ann", method, member).await;
        assert!(all.iter().any(|own| own == name), "{method}: {all:?}");
    }
}

#[tokio::test]
async fn server_without_authorization_rejects_requests_that_require_scopes() {
    let server = ProtectedServer::serve(HttpOptions::new(), |server| server).await;
    let response = server.endpoint.request(&Request::modern(&whoami())).await;
    assert_eq!(response.status(), 200);
    for message in [write(), read("file:///plan"), letter()] {
        let response = server.endpoint.request(&Request::modern(&message)).await;
        assert_eq!(response.status(), 403, "{message}");
        assert_eq!(response.header("www-authenticate"), None);
        assert_eq!(response.message()["id"], 7);
    }
    assert_eq!(server.runs(), 1);
}

#[tokio::test]
async fn in_process_transport_requires_no_scopes() {
    let server = protected_server(&std::sync::Arc::default()).with_scope_filtered_lists();
    let mut peer = Peer::connect(&server);
    for message in [write(), read("file:///plan"), letter()] {
        peer.result_of(message).await;
    }
    let tools = peer.result_of(modern(8, "tools/list", json!({}))).await;
    assert_eq!(tools["tools"].as_array().unwrap().len(), 4, "{tools}");
}

/// Scopes in the attributes of the macros.
mod written_with_macros {
    use serde_json::json;
    use toolwire::{prompt, resource, resource_template, tool};

    use super::super::protected_server::{ProtectedServer, config, insufficient, options, tokens};
    use toolwire_tests::peer::{call, modern};

    #[tool(scopes("files:read", "files:delete"))]
    async fn erase() -> String {
        "erased".to_owned()
    }

    #[prompt(scopes("prompts:read"))]
    fn poem() -> String {
        "roses are red".to_owned()
    }

    #[resource(uri = "notes://all", scopes = "notes:read")]
    fn notes() -> String {
        "all".to_owned()
    }

    #[resource_template(uri = "notes://one/{name}", scopes("notes:read"))]
    fn note(name: String) -> String {
        name
    }

    #[tokio::test]
    async fn scopes_in_attributes_are_required() {
        let options = options(config().with_verifier(tokens()));
        let server = ProtectedServer::serve(options, |server| {
            let server = server.tool(erase).prompt(poem);
            server.resource(notes).resource_template(note)
        })
        .await;
        for (message, scopes) in [
            (call(7, "erase", json!({})), "files:read files:delete"),
            (
                modern(7, "prompts/get", json!({"name": "poem"})),
                "prompts:read",
            ),
            (
                modern(7, "resources/read", json!({"uri": "notes://all"})),
                "notes:read",
            ),
            (
                modern(7, "resources/read", json!({"uri": "notes://one/a"})),
                "notes:read",
            ),
        ] {
            let response = server.send_message("bob", &message).await;
            assert_eq!(response.status(), 403, "{message}");
            assert_eq!(
                response.header("www-authenticate"),
                Some(&*insufficient(scopes))
            );
        }
    }
}
