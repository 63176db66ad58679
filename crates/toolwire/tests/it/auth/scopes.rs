//! What a token grants, and what is refused, hidden and named.

use serde_json::{Value, json};
use toolwire::transport::http::HttpOptions;
use toolwire_auth::ScopeHierarchy;

use super::guarded::{Guarded, config, insufficient, options, protected_server, tokens, whoami};
use crate::http::request::Request;
use crate::http::session::initialize_request;
use crate::peer::{Peer, call, modern};

fn write() -> Value {
    call(7, "write", json!({}))
}

fn read(uri: &str) -> Value {
    modern(7, "resources/read", json!({ "uri": uri }))
}

fn letter() -> Value {
    modern(7, "prompts/get", json!({"name": "letter"}))
}

fn completing(reference: Value, argument: &str) -> Value {
    let params = json!({"ref": reference, "argument": {"name": argument, "value": ""}});
    modern(7, "completion/complete", params)
}

fn listening(uris: Value) -> Value {
    let wish = json!({"notifications": {"resourceSubscriptions": uris}});
    modern(7, "subscriptions/listen", wish)
}

#[tokio::test]
async fn all_scopes_of_an_operation_are_named_at_once() {
    let guarded = Guarded::new().await;
    let prompt = json!({"type": "ref/prompt", "name": "letter"});
    let template = json!({"type": "ref/resource", "uri": "file:///notes/{name}"});
    for (message, scopes) in [
        (write(), "files:read files:write"),
        (read("file:///plan"), "files:read"),
        (read("file:///notes/first"), "files:read"),
        (letter(), "mail:read"),
        (completing(prompt, "to"), "mail:read"),
        (completing(template, "name"), "files:read"),
        (
            listening(json!(["file:///open", "file:///plan"])),
            "files:read",
        ),
    ] {
        let answer = guarded.say("ann", &message).await;
        assert_eq!(answer.status(), 403, "{message}");
        assert_eq!(
            answer.header("www-authenticate"),
            Some(&*insufficient(scopes)),
            "{message}"
        );
        assert_eq!(answer.message()["id"], 7);
        let allowed = guarded.say("bob", &message);
        if message["method"] != "subscriptions/listen" {
            let allowed = allowed.await;
            assert_eq!(allowed.status(), 200, "{message}");
            assert_eq!(allowed.message().get("error"), None, "{message}");
        }
    }
    // Having one of two is not enough, and both are named again.
    let answer = guarded.say("ann-reads", &write()).await;
    assert_eq!(answer.status(), 403);
    let expected = insufficient("files:read files:write");
    assert_eq!(answer.header("www-authenticate"), Some(&*expected));
    assert_eq!(guarded.runs(), 1);
}

#[tokio::test]
async fn a_batch_is_challenged_with_all_scopes_of_its_requests() {
    let guarded = Guarded::new().await;
    let answer = guarded.ask("ann", initialize_request("2025-03-26")).await;
    let session = answer.header("mcp-session-id").unwrap().to_owned();
    let call_of = |id, tool| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool}});
    let letter =
        json!({"jsonrpc": "2.0", "id": 3, "method": "prompts/get", "params": {"name": "letter"}});
    let batch = json!([call_of(1, "whoami"), call_of(2, "write"), letter]);
    let request = Request::post(&batch).in_session(&session, "2025-03-26");
    for (token, scopes) in [
        ("ann", "files:read files:write mail:read"),
        ("ann-reads", "files:read files:write mail:read"),
    ] {
        let answer = guarded.ask(token, request.clone()).await;
        assert_eq!(answer.status(), 403, "{}", answer.text());
        let challenge = answer.header("www-authenticate");
        assert_eq!(challenge, Some(&*insufficient(scopes)), "{token}");
    }
    assert_eq!(guarded.runs(), 0, "nothing of it is served");
    let allowed = json!([call_of(1, "whoami")]);
    let request = Request::post(&allowed).in_session(&session, "2025-03-26");
    assert_eq!(guarded.ask("ann", request).await.status(), 200);
    assert_eq!(guarded.runs(), 1);
}

#[tokio::test]
async fn a_server_may_need_scopes_for_everything() {
    let guarded = Guarded::with(
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
        let answer = guarded.ask("ann-reads", request).await;
        assert_eq!(answer.status(), 403);
        assert_eq!(
            answer.header("www-authenticate"),
            Some(&*insufficient("mail:read"))
        );
    }
    assert_eq!(guarded.runs(), 0);
    assert_eq!(guarded.say("bob", &whoami()).await.status(), 200);
    assert_eq!(guarded.say("bob", &write()).await.status(), 200);
}

#[tokio::test]
async fn a_challenge_for_a_tool_keeps_what_the_server_needs() {
    let tokens = tokens().with_token("mail", "ann", "mail:read");
    let guarded = Guarded::with(
        config()
            .with_verifier(tokens)
            .with_required_scopes(["mail:read"]),
    )
    .await;
    let answer = guarded.say("mail", &write()).await;
    assert_eq!(answer.status(), 403);
    let expected = insufficient("mail:read files:read files:write");
    assert_eq!(answer.header("www-authenticate"), Some(&*expected));
}

#[tokio::test]
async fn broader_scopes_imply_narrower_ones() {
    let hierarchy = ScopeHierarchy::new()
        .with_implied("admin", ["files:write"])
        .with_implied("files:write", ["files:read"]);
    let tokens = tokens().with_token("root", "root", "admin");
    let config = config()
        .with_verifier(tokens)
        .with_required_scopes(["files:read"])
        .with_scope_hierarchy(hierarchy);
    let guarded = Guarded::with(config).await;
    assert_eq!(guarded.say("root", &write()).await.status(), 200);
    assert_eq!(guarded.say("ann-reads", &write()).await.status(), 403);
}

/// The names in a list, and its cache scope.
async fn listed(
    guarded: &Guarded,
    token: &str,
    method: &str,
    member: &str,
) -> (Vec<String>, Value) {
    let answer = guarded.say(token, &modern(7, method, json!({}))).await;
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let result = answer.message()["result"].take();
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
async fn lists_hide_what_a_caller_may_not_use_when_asked_to() {
    let options = options(config().with_verifier(tokens()));
    let guarded = Guarded::serve(options, toolwire::Server::with_scope_filtered_lists).await;
    for (method, member, name) in LISTS {
        let (all, _) = listed(&guarded, "bob", method, member).await;
        assert!(all.iter().any(|own| own == name), "{method}: {all:?}");
        let (few, scope) = listed(&guarded, "ann", method, member).await;
        assert!(!few.iter().any(|own| own == name), "{method}: {few:?}");
        assert_eq!(scope, "private", "{method}");
        let (again, _) = listed(&guarded, "bob", method, member).await;
        assert_eq!(again, all, "{method}");
    }
    let (few, _) = listed(&guarded, "ann-reads", "resources/list", "resources").await;
    assert_eq!(few, ["plan"]);
}

#[tokio::test]
async fn lists_show_everything_otherwise_so_that_clients_can_step_up() {
    let guarded = Guarded::new().await;
    for (method, member, name) in LISTS {
        let (all, _) = listed(&guarded, "ann", method, member).await;
        assert!(all.iter().any(|own| own == name), "{method}: {all:?}");
    }
}

#[tokio::test]
async fn without_authorization_nobody_over_http_has_scopes() {
    let open = Guarded::serve(HttpOptions::new(), |server| server).await;
    let answer = open.endpoint.ask(&Request::modern(&whoami())).await;
    assert_eq!(answer.status(), 200);
    for message in [write(), read("file:///plan"), letter()] {
        let answer = open.endpoint.ask(&Request::modern(&message)).await;
        assert_eq!(answer.status(), 403, "{message}");
        assert_eq!(answer.header("www-authenticate"), None);
        assert_eq!(answer.message()["id"], 7);
    }
    assert_eq!(open.runs(), 1);
}

#[tokio::test]
async fn in_process_there_are_no_tokens_and_nothing_is_asked_for() {
    let server = protected_server(&std::sync::Arc::default()).with_scope_filtered_lists();
    let mut peer = Peer::connect(&server);
    for message in [write(), read("file:///plan"), letter()] {
        peer.result_of(message).await;
    }
    let tools = peer.result_of(modern(8, "tools/list", json!({}))).await;
    assert_eq!(tools["tools"].as_array().unwrap().len(), 4, "{tools}");
}

/// The words of the macros for the same.
mod written_with_macros {
    use serde_json::json;
    use toolwire::{prompt, resource, resource_template, tool};

    use super::super::guarded::{Guarded, config, insufficient, options, tokens};
    use crate::peer::{call, modern};

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
    async fn scopes_are_named_in_attributes() {
        let options = options(config().with_verifier(tokens()));
        let guarded = Guarded::serve(options, |server| {
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
            let answer = guarded.say("bob", &message).await;
            assert_eq!(answer.status(), 403, "{message}");
            assert_eq!(
                answer.header("www-authenticate"),
                Some(&*insufficient(scopes))
            );
        }
    }
}
