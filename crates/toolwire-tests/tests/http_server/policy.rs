//! Policies with rules about the caller: scopes, subjects and claims of its token.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use toolwire::middleware::{Audit, Policy, PolicyRule};
use toolwire::transport::http::{HttpOptions, HttpService};
use toolwire::types::{CompletionReference, PromptArgument};
use toolwire::{
    CacheHint, CompletionRequest, Mount, PromptHandler, RequestContext, ResourceHandler,
    ResourceTemplateHandler, Server, TokenInfo,
};
use toolwire_tests::http::direct::{InProcessClient, in_session, next_chunk};
use toolwire_tests::http::request::Request;
use toolwire_tests::peer::{legacy, modern, plain, server};
use toolwire_tests::traces::Traces;

fn entries() -> Server {
    let complete = |_: RequestContext, _: CompletionReference, _: CompletionRequest| async {
        vec!["suggested".to_owned()]
    };
    server()
        .with_list_cache(CacheHint::public(Duration::from_secs(60)))
        .with_resource_subscriptions()
        .with_completion(complete)
        .tool(plain("open", |_| async { "open" }))
        .tool(plain("admin", |_| async { "admin" }))
        .prompt(
            PromptHandler::new("admin", |_, _| async { "p" })
                .with_argument(PromptArgument::new("a")),
        )
        .resource(ResourceHandler::new("x://admin", "r", |_, _| async { "r" }))
        .resource_template(ResourceTemplateHandler::new(
            "x://admin/{a}",
            "t",
            |_, uri, _| async move { uri },
        ))
}

fn policy(unless: Value) -> Policy {
    let rules = json!([{"deny": {"tool": "*admin*"}, "unless": unless}]);
    let rules: Vec<PolicyRule> = serde_json::from_value(rules).expect("valid rules");
    Policy::new(rules).expect("a valid policy")
}

/// Returns requests for the entries with this name.
fn requests(name: &str) -> Vec<Value> {
    let complete = |reference: Value| {
        let argument = json!({"name": "a", "value": ""});
        let params = json!({"ref": reference, "argument": argument});
        modern(1, "completion/complete", params)
    };
    let uri = format!("x://{name}");
    vec![
        modern(1, "tools/call", json!({ "name": name })),
        modern(1, "prompts/get", json!({ "name": name })),
        modern(1, "resources/read", json!({ "uri": uri })),
        modern(1, "resources/read", json!({"uri": format!("{uri}/1")})),
        complete(json!({"type": "ref/prompt", "name": name})),
        complete(json!({"type": "ref/resource", "uri": format!("{uri}/{{a}}")})),
    ]
}

async fn text_of(client: &InProcessClient, request: &Value) -> String {
    client.request(Request::modern(request)).await.body
}

/// Checks what a caller gets. What is denied gets the responses of what does not exist.
async fn check_caller(server: &Server, token: Option<TokenInfo>, is_allowed: bool) {
    let service = HttpService::new(server.clone(), HttpOptions::new());
    let client = InProcessClient::with_caller(&service, token);
    for (known, unknown) in requests("admin").iter().zip(requests("other")) {
        let (found, missing) = (
            text_of(&client, known).await,
            text_of(&client, &unknown).await,
        );
        assert!(missing.contains("\"error\""), "{missing}");
        if is_allowed {
            assert!(found.contains("\"result\""), "{known}: {found}");
        } else {
            assert_eq!(found.replace("admin", "other"), missing, "{known}");
        }
    }
    for list in [
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
    ] {
        let listed = text_of(&client, &modern(1, list, json!({}))).await;
        assert_eq!(listed.contains("admin"), is_allowed, "{list}: {listed}");
        assert!(
            listed.contains(r#""cacheScope":"private""#),
            "{list}: {listed}"
        );
    }
    let filter = json!({"notifications": {"resourceSubscriptions": ["x://admin"]}});
    let listen = Request::modern(&modern("l", "subscriptions/listen", filter));
    let mut stream = Box::pin(client.send(listen).await.into_body());
    let acknowledged = next_chunk(&mut stream).await.expect("an acknowledgement");
    assert!(acknowledged.contains("x://admin"), "as for an unknown one");
    assert_eq!(
        server.resource_updated("x://admin"),
        usize::from(is_allowed)
    );
    drop(stream);
    let session = client.open_session().await;
    let subscribe = |uri: &str| {
        let message = legacy(1, "resources/subscribe", json!({ "uri": uri }));
        client.request(in_session(&session, &message))
    };
    let (known, unknown) = (subscribe("x://admin").await, subscribe("x://other").await);
    if is_allowed {
        assert!(known.body.contains("\"result\""), "{}", known.body);
    } else {
        assert_eq!(known.body.replace("admin", "other"), unknown.body);
    }
}

fn outer(mount: Mount) -> Server {
    let hint = CacheHint::public(Duration::from_secs(60));
    server().with_list_cache(hint).mount_with(mount)
}

/// Checks a rule on the server itself, on a mount, and on a mounted server.
async fn check(unless: Value, permitted: TokenInfo, others: Vec<TokenInfo>) {
    let denying = || policy(unless.clone());
    for server in [
        entries().with_middleware(denying()),
        outer(Mount::flat(entries()).with_middleware(denying())),
        outer(Mount::flat(entries().with_middleware(denying()))),
    ] {
        check_caller(&server, Some(permitted.clone()), true).await;
        for other in &others {
            check_caller(&server, Some(other.clone()), false).await;
        }
        check_caller(&server, None, false).await;
    }
}

#[tokio::test]
async fn audit_and_traces_have_no_secrets() {
    const CANARY: &str = "canary-7f3a";
    let lines = Arc::new(Mutex::new(String::new()));
    let sink = {
        let lines = Arc::clone(&lines);
        move |line: &str| *lines.lock().expect("not poisoned") += line
    };
    let (traces, _guard) = Traces::record();
    let server = entries()
        .with_middleware(Audit::new(sink).with_arguments(["path"]))
        .with_middleware(policy(json!({"scope": "staff"})));
    let service = HttpService::new(server, HttpOptions::new());
    let token = TokenInfo::verified()
        .with_subject("ann")
        .with_claim("jti", CANARY);
    let client = InProcessClient::with_caller(&service, Some(token));
    // A forged state is rejected before the middleware, and so it has no line.
    for (name, state) in [("open", None), ("admin", None), ("open", Some(CANARY))] {
        let arguments = json!({"path": "/a", "password": CANARY});
        let mut request = modern(
            1,
            "tools/call",
            json!({"name": name, "arguments": arguments}),
        );
        if let Some(state) = state {
            request["params"]["requestState"] = json!(state);
        }
        request["params"]["_meta"]["example.test/secret"] = json!(CANARY);
        let request = Request::modern(&request).with("Authorization", format!("Bearer {CANARY}"));
        client.request(request).await;
    }
    let lines = lines.lock().unwrap();
    assert_eq!(lines.matches(r#""subject":"ann""#).count(), 2, "{lines}");
    assert!(lines.contains(r#""rule":"rule 1""#), "{lines}");
    assert!(!lines.contains(CANARY), "{lines}");
    let traces = traces.text();
    assert!(!traces.is_empty() && !traces.contains(CANARY), "{traces}");
}

#[tokio::test]
async fn rule_about_a_scope_decides_in_every_method() {
    let token = |scopes: &[&str]| TokenInfo::verified().with_scopes(scopes.iter().copied());
    check(
        json!({"scope": "staff"}),
        token(&["read", "not\"valid", "staff"]),
        vec![token(&[]), token(&["read", "staffs"])],
    )
    .await;
}

#[tokio::test]
async fn rule_about_a_subject_decides_in_every_method() {
    let token = |subject: &str| TokenInfo::verified().with_subject(subject);
    check(
        json!({"principal": "*@example.com"}),
        token("ann@example.com"),
        vec![token("ann@example.com.test"), TokenInfo::verified()],
    )
    .await;
}

#[tokio::test]
async fn rule_about_a_claim_decides_in_every_method() {
    let token = |team: Value| TokenInfo::verified().with_claim("team", team);
    check(
        json!({"claim": {"name": "team", "value": "blue"}}),
        token(json!(["red", "blue"])),
        vec![
            token(json!("red")),
            token(json!([["blue"]])),
            token(json!({})),
        ],
    )
    .await;
}
