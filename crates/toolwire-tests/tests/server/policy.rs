//! Policies: which caller may use which entries.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolwire::middleware::{
    Audit, Middleware, Next, Outcome, Policy, PolicyConditions, PolicyHint, PolicyRule, Request,
};
use toolwire::relay::Upstream;
use toolwire::types::ToolAnnotations;
use toolwire::{
    BoxFuture, Catalog, ErrorObject, Mount, PromptHandler, RawJson, RequestContext,
    ResourceHandler, ResourceTemplateHandler, Server, Source,
};
use toolwire_tests::peer::{Peer, call, complete, modern, plain, server, text};

fn files() -> Server {
    let read_only = ToolAnnotations::new().with_read_only(true);
    server()
        .tool(plain("read_file", |_| async { "read" }).with_annotations(read_only))
        .tool(plain("drop_file", |_| async { "dropped" }))
        .prompt(PromptHandler::new("drop_prompt", |_, _| async { "p" }))
        .resource(ResourceHandler::new("x://drop_a", "a", |_, _| async {
            "a"
        }))
        .resource_template(ResourceTemplateHandler::new(
            "x://t/{name}",
            "t",
            |_, uri, _| async move { uri },
        ))
}

fn policy(rules: Value) -> Policy {
    let rules: Vec<PolicyRule> = serde_json::from_value(rules).expect("valid rules");
    Policy::new(rules).expect("a valid policy")
}

async fn tools(peer: &mut Peer) -> Vec<String> {
    let listed = peer.result_of(modern(0, "tools/list", json!({}))).await;
    let tools = listed["tools"].as_array().expect("a list").iter();
    tools
        .map(|tool| tool["name"].as_str().expect("a name").to_owned())
        .collect()
}

/// Checks that a server responds to a request as the reference does.
async fn check_same(server: &Server, reference: &Server, request: &Value) {
    let (mut peer, mut reference) = (Peer::connect(server), Peer::connect(reference));
    peer.send(request).await;
    reference.send(request).await;
    let expected = reference.receive_text().await;
    assert_eq!(peer.receive_text().await, expected, "{request}");
}

#[tokio::test]
async fn denied_entries_get_the_responses_of_unknown_ones() {
    let denying =
        || policy(json!([{"deny": {"tool": "*drop_*"}}, {"deny": {"tool": "x://t/secret"}}]));
    // The entries of the reference have other names, and are denied as well, so that both lists are private.
    let others = policy(json!([{"deny": {"tool": "*other*"}}]));
    let reference = server()
        .tool(
            plain("read_file", |_| async { "read" })
                .with_annotations(ToolAnnotations::new().with_read_only(true)),
        )
        .tool(plain("other", |_| async { "o" }))
        .prompt(PromptHandler::new("other", |_, _| async { "p" }))
        .resource(ResourceHandler::new("x://other", "a", |_, _| async { "a" }))
        .with_middleware(others);
    let requests = [
        modern(1, "tools/list", json!({})),
        modern(1, "prompts/list", json!({})),
        modern(1, "resources/list", json!({})),
        call(1, "drop_file", json!({"a": 1})),
        modern(1, "prompts/get", json!({"name": "drop_prompt"})),
        modern(1, "resources/read", json!({"uri": "x://drop_a"})),
        modern(1, "resources/read", json!({"uri": "x://t/secret"})),
    ];
    for request in &requests {
        let server = files().with_middleware(denying());
        check_same(&server, &reference, request).await;
        let mounted = server_with_flat_mount(Mount::flat(files()).with_middleware(denying()));
        check_same(&mounted, &reference, request).await;
        let inside = server_with_flat_mount(Mount::flat(files().with_middleware(denying())));
        check_same(&inside, &reference, request).await;
    }
    let mut peer = Peer::connect(&files().with_middleware(denying()));
    let public = modern(2, "resources/read", json!({"uri": "x://t/public"}));
    peer.result_of(public).await;
}

fn server_with_flat_mount(mount: Mount) -> Server {
    server().mount_with(mount)
}

#[tokio::test]
async fn first_matching_rule_decides_and_an_allow_rule_denies_the_rest() {
    let rules = json!([
        {"deny": {"tool": "read_file", "upstream": "files"}, "unless": {"upstream": "none"}},
        {"allow": {"hint": "read_only"}},
    ]);
    let read_only = ToolAnnotations::new().with_read_only(true);
    let outer = server()
        .tool(plain("read_file", |_| async { "own" }).with_annotations(read_only))
        .mount("files", files())
        .with_middleware(policy(rules));
    let mut peer = Peer::connect(&outer);
    assert_eq!(tools(&mut peer).await, ["read_file"]);
    let rules = [
        PolicyRule::deny(PolicyConditions::new().with_hint(PolicyHint::Destructive))
            .unless(PolicyConditions::new().with_scope("admin")),
    ];
    let local = files().with_middleware(Policy::new(rules).unwrap());
    assert_eq!(
        tools(&mut Peer::connect(&local)).await,
        ["read_file", "drop_file"],
        "callers of this transport have every scope"
    );
}

#[tokio::test]
async fn rule_about_a_hint_applies_to_tools_only() {
    let rules = json!([{"deny": {"hint": "destructive"}}]);
    for server in [
        files().with_middleware(policy(rules.clone())),
        server().mount_with(Mount::flat(files()).with_middleware(policy(rules))),
    ] {
        let mut peer = Peer::connect(&server);
        assert_eq!(tools(&mut peer).await, ["read_file"]);
        peer.result_of(modern(1, "prompts/get", json!({"name": "drop_prompt"})))
            .await;
        for uri in ["x://drop_a", "x://t/a"] {
            peer.result_of(modern(2, "resources/read", json!({"uri": uri})))
                .await;
        }
        let listed = peer.result_of(modern(3, "resources/list", json!({}))).await;
        assert_eq!(listed["resources"][0]["uri"], "x://drop_a");
    }
}

#[tokio::test]
async fn rule_about_arguments_decides_before_the_handler() {
    let public = PolicyConditions::new()
        .with_tool("read_file")
        .with_argument_start(["file", "path"], "/public/");
    let rules = [PolicyRule::allow(public)];
    let server = files().with_middleware(Policy::new(rules).unwrap());
    let mut peer = Peer::connect(&server);
    assert_eq!(tools(&mut peer).await, ["read_file"]);
    let path = |path: &str| json!({"file": {"path": path}});
    let configured = json!([{"allow": {"hint": "read-only",
        "argument": {"path": "file.path", "starts_with": "/public/"}}}]);
    let mut same = Peer::connect(&files().with_middleware(policy(configured)));
    same.result_of(call(1, "read_file", path("/public/a")))
        .await;
    same.error_of(call(1, "read_file", path("/secret")), -32602)
        .await;
    peer.send(call(1, "read_file", path("/public/a"))).await;
    peer.expect(complete(1, text("read"))).await;
    for denied in [path("/secret"), path("/public/../secret"), json!({})] {
        let error = peer.error_of(call(2, "read_file", denied), -32602).await;
        assert_eq!(error["message"], "unknown tool `read_file`");
    }
}

#[tokio::test]
async fn argument_with_two_values_reaches_neither_the_policy_nor_the_tool() {
    let rules = json!([{"deny": {"argument": {"path": "path", "starts_with": "/secret"}}}]);
    let server = files().with_middleware(policy(rules));
    let mut peer = Peer::connect(&server);
    for second in ["path", "p\\u0061th"] {
        let request = call(
            7,
            "read_file",
            json!({"path": "/public", "second": "/secret"}),
        );
        let request = request.to_string().replace("second", second);
        peer.send(request).await;
        peer.expect_error(7, -32600).await;
    }
}

#[tokio::test]
async fn policies_behind_a_mount_see_its_fixed_arguments() {
    let denying = || policy(json!([{"deny": {"argument": {"path": "path", "equals": "/secret"}}}]));
    let fixing =
        |source: Server| Mount::new("m", source).fix_argument("read_file", "path", "/secret");
    let expect = async |server: Server, name: &str, is_denied: bool| {
        let mut peer = Peer::connect(&server);
        let request = call(1, name, json!({"path": "/public"}));
        if is_denied {
            peer.error_of(request, -32602).await;
        } else {
            peer.result_of(request).await;
        }
    };
    // The server sees what the caller sent. The mount and what is inside it see the fixed argument.
    let outside = server()
        .mount_with(fixing(files()))
        .with_middleware(denying());
    expect(outside, "m_read_file", false).await;
    let of_mount = server().mount_with(fixing(files()).with_middleware(denying()));
    expect(of_mount, "m_read_file", true).await;
    let inside = || fixing(files().with_middleware(denying()));
    expect(server().mount_with(inside()), "m_read_file", true).await;
    let deeper = server().mount("outer", server().mount_with(inside()));
    expect(deeper, "outer_m_read_file", true).await;
}

#[tokio::test]
async fn denied_raw_tool_with_a_request_state_gets_the_response_of_an_unknown_tool() {
    struct Raw;
    impl Source for Raw {
        fn catalog(&self) -> Catalog {
            let mut catalog = Catalog::new();
            let tool = json!({"name": "raw", "inputSchema": {}});
            let added = catalog.add_raw_tool(
                RawJson::from_value(&tool),
                |_: RequestContext, params: RawJson| async move { Ok::<_, ErrorObject>(params) },
            );
            added.expect("a valid tool");
            catalog
        }
    }
    let denying = || policy(json!([{"deny": {"tool": "raw"}}]));
    let denied = server()
        .mount_with(Mount::flat(Raw))
        .with_middleware(denying());
    let unknown = server().tool(plain("t", |_| async { "t" }));
    let unknown = unknown.with_middleware(denying());
    let params = json!({"name": "raw", "requestState": "theirs"});
    check_same(&denied, &unknown, &modern(1, "tools/call", params)).await;
}

#[tokio::test]
async fn audit_names_the_rule() {
    let lines = Arc::new(Mutex::new(Vec::<Value>::new()));
    let sink = {
        let lines = Arc::clone(&lines);
        move |line: &str| {
            let line = serde_json::from_str(line).expect("a line of JSON");
            lines.lock().expect("not poisoned").push(line);
        }
    };
    let rules =
        json!([{"deny": {"tool": "drop_*"}, "name": "never drop"}, {"allow": {"tool": "read_*"}}]);
    let server = files()
        .tool(plain("other", |_| async { "o" }))
        .with_middleware(Audit::new(sink))
        .with_middleware(policy(rules));
    let mut peer = Peer::connect(&server);
    for name in ["drop_file", "other", "unknown"] {
        peer.error_of(call(1, name, json!({})), -32602).await;
    }
    peer.result_of(call(2, "read_file", json!({}))).await;
    let lines = lines.lock().unwrap();
    let rules: Vec<&Value> = lines.iter().map(|line| &line["rule"]).collect();
    let (never, none) = (json!("never drop"), json!("no rule allows it"));
    assert_eq!(rules, [&never, &none, &Value::Null, &Value::Null]);
}

#[tokio::test]
async fn policy_inside_another_middleware_rejects_everything() {
    struct Wrapped(Policy);
    impl Middleware for Wrapped {
        fn handle<'a>(
            &'a self,
            request: &'a mut Request,
            next: Next<'a>,
        ) -> BoxFuture<'a, Outcome> {
            self.0.handle(request, next)
        }
    }
    let allowing = policy(json!([{"allow": {}}]));
    let mut peer = Peer::connect(&files().with_middleware(Wrapped(allowing)));
    let error = peer.error_of(call(1, "read_file", json!({})), -32603).await;
    assert_eq!(
        error["message"],
        "the policy of the server is not set up correctly"
    );
}

fn relay_server() -> Server {
    let upstream = Upstream::new(|builder| async move { builder.in_process(&files()).await });
    upstream.relay().server().clone()
}

#[test]
#[should_panic(expected = "a policy has no effect on the server of a relay")]
fn server_of_a_relay_accepts_no_policy() {
    let denying = policy(json!([{"deny": {"tool": "drop_*"}}]));
    drop(relay_server().with_middleware(denying));
}

#[test]
#[should_panic(expected = "a visibility rule has no effect on the server of a relay")]
fn server_of_a_relay_accepts_no_visibility_rule() {
    drop(relay_server().with_visibility(|_, _| false));
}

#[test]
fn server_of_a_relay_is_not_mounted() {
    let error = server().add_mount(Mount::new("up", relay_server()));
    let error = error.unwrap_err().to_string();
    assert!(
        error.starts_with("mount `up`: the server of a relay"),
        "{error}"
    );
}

#[test]
fn invalid_rules_are_rejected_with_their_position() {
    let check = |rules: Value, expected: &str| {
        let rules: Result<Vec<PolicyRule>, _> = serde_json::from_value(rules);
        let problem = match rules {
            Ok(rules) => Policy::new(rules).unwrap_err().to_string(),
            Err(error) => error.to_string(),
        };
        assert!(problem.contains(expected), "{problem}");
    };
    check(json!([{}]), "rule 1: a rule has either `allow` or `deny`");
    check(
        json!([{"allow": {}, "deny": {}, "name": "both"}]),
        "both: a rule has either",
    );
    check(json!([{"deny": {"tol": "x"}}]), "unknown field `tol`");
    check(json!([{"deny": {"tool": ""}}]), "rule 1: `tool`");
    check(
        json!([{"deny": {"argument": {"path": "a"}}}]),
        "`argument` needs one of",
    );
    check(json!([{"deny": {"hint": "bad"}}]), "unknown hint `bad`");
    check(json!([{"deny": {"scope": "a b"}}]), "rule 1: `scope`");
    check(json!([{"deny": {"scope": "a\"b"}}]), "rule 1: `scope`");
    let rules = vec![PolicyRule::deny(PolicyConditions::new()); 1025];
    let problem = Policy::new(rules.clone()).unwrap_err().to_string();
    assert!(problem.contains("1024"), "{problem}");
    assert!(Policy::new(rules.into_iter().skip(1)).is_ok());
}
