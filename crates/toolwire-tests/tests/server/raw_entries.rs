//! Raw entries of a source: descriptors, parameters and results are passed on as they are.

use std::time::Duration;

use serde_json::json;
use toolwire::middleware::{Next, Policy, PolicyConditions, PolicyRule, Request, from_fn};
use toolwire::{
    CacheHint, Caller, Catalog, ErrorObject, Mount, RawJson, RequestContext, ResourceHandler,
    Server, Source,
};
use toolwire_tests::peer::{Peer, call, legacy, modern, server};

const TOOL: &str = r#"{"zeta":1.0,"name":"fetch","title":"Fetch","inputSchema":{"type":"object","minimum":1e2},"x-own":[1.50]}"#;

fn json(text: &str) -> RawJson {
    RawJson::from_string(text.to_owned()).expect("valid JSON")
}

/// A source that returns the parameters that it gets.
struct Raw;

async fn echo(_: RequestContext, params: RawJson) -> Result<RawJson, ErrorObject> {
    let mut params: serde_json::Map<_, _> = params.parse().expect("an object");
    params.remove("_meta");
    if params.get("name") == Some(&json!("broken")) {
        return Err(ErrorObject::new(-1, "broken").with_data(json!({"n": 1.0})));
    }
    let asks = params.get("requestState").is_none();
    let text = serde_json::to_string(&params).expect("JSON");
    if params.get("name") == Some(&json!("media")) {
        let content = r#"[{"type":"audio","data":"aGk=","mimeType":"audio/wav"},{"type":"text","text":"t","x":1.0}]"#;
        let result =
            format!(r#"{{"resultType":"complete","content":{content},"structuredContent":[1]}}"#);
        return Ok(json(&result));
    }
    let result = if asks && params.get("name") == Some(&json!("ask")) {
        format!(r#"{{"resultType":"input_required","requestState":"theirs","echo":{text}}}"#)
    } else {
        format!(r#"{{"content":[],"number":2.0,"echo":{text}}}"#)
    };
    Ok(json(&result))
}

impl Source for Raw {
    fn catalog(&self) -> Catalog {
        let mut catalog = Catalog::new();
        let added = [
            catalog.add_raw_tool(json(TOOL), echo),
            catalog.add_raw_tool(json(r#"{"name":"ask","inputSchema":{}}"#), echo),
            catalog.add_raw_tool(json(r#"{"name":"broken","inputSchema":true}"#), echo),
            catalog.add_raw_tool(json(r#"{"name":"media","inputSchema":{}}"#), echo),
            catalog.add_raw_prompt(
                json(r#"{"name":"p","q":1.0,"arguments":[{"name":"a","title":"A"}]}"#),
                echo,
            ),
            catalog.add_raw_resource(json(r#"{"uri":"x://a","name":"a","size":1,"q":1.0}"#), echo),
            catalog
                .add_raw_resource_template(json(r#"{"uriTemplate":"x://{b}/t","name":"b"}"#), echo),
        ];
        assert!(added.iter().all(Result::is_ok), "{added:?}");
        catalog.with_raw_completion(echo)
    }
}

fn mounted() -> Server {
    server().mount("raw", Raw)
}

#[tokio::test]
async fn descriptors_keep_their_text() {
    let list = async |server: &Server, version: &str, method: &str| {
        let mut peer = Peer::connect(server);
        if version == "2026-07-28" {
            peer.send(modern(1, method, json!({}))).await;
        } else {
            peer.initialize(version).await;
            peer.send(legacy(1, method, json!({}))).await;
        }
        peer.receive_text().await
    };
    let renamed = TOOL.replace("\"fetch\"", "\"raw_fetch\"");
    let listed = list(&mounted(), "2026-07-28", "tools/list").await;
    assert!(listed.contains(&renamed), "{listed}");
    let listed = list(&mounted(), "2024-11-05", "tools/list").await;
    let older = renamed.replace(r#""title":"Fetch","#, "");
    assert!(listed.contains(&older), "{listed}");
    let listed = list(&mounted(), "2025-03-26", "prompts/list").await;
    let prompt = r#"{"name":"raw_p","q":1.0,"arguments":[{"name":"a"}]}"#;
    assert!(listed.contains(prompt), "{listed}");
    let listed = list(&mounted(), "2025-11-25", "resources/list").await;
    assert!(
        listed.contains(r#"{"uri":"x://a","name":"a","size":1,"q":1.0}"#),
        "{listed}"
    );

    let nested = server().mount_with(
        Mount::new("m", mounted())
            .retitle_tool("raw_fetch", "Get")
            .fix_argument("raw_fetch", "key", 1.5),
    );
    let listed = list(&nested, "2026-07-28", "tools/list").await;
    let retitled = TOOL
        .replace("\"fetch\"", "\"m_raw_fetch\"")
        .replace("\"Fetch\"", "\"Get\"");
    let start = &retitled[..retitled.find("\"inputSchema\"").unwrap()];
    assert!(listed.contains(start), "{listed}");
}

#[tokio::test]
async fn parameters_and_results_keep_their_text() {
    let nested =
        server().mount_with(Mount::new("m", mounted()).fix_argument("raw_fetch", "key", 1.5));
    let mut peer = Peer::connect(&nested);
    let mut request = call(1, "m_raw_fetch", json!({"a": 1.0}));
    request["params"]["own"] = json!({"n": 2.50});
    peer.send(request).await;
    let response = peer.receive_text().await;
    let echoed = r#""echo":{"name":"fetch","arguments":{"a":1.0,"key":1.5},"own":{"n":2.5}}"#;
    assert!(response.contains(echoed), "{response}");
    assert!(
        response.contains(r#""content":[],"number":2.0"#),
        "{response}"
    );
    assert!(
        response.contains(r#""resultType":"complete""#),
        "{response}"
    );
    let error = peer.error_of(call(2, "m_raw_broken", json!({})), -1).await;
    assert_eq!(error["data"], json!({"n": 1.0}));
    let got = modern(
        3,
        "prompts/get",
        json!({"name": "m_raw_p", "arguments": {"a": 7}}),
    );
    let got = peer.result_of(got).await;
    assert_eq!(got["echo"], json!({"name": "p", "arguments": {"a": 7}}));
    for uri in ["x://a", "x://anything/t"] {
        let read = peer
            .result_of(modern(4, "resources/read", json!({"uri": uri})))
            .await;
        assert_eq!(read["echo"], json!({"uri": uri}));
    }
    for (reference, own) in [
        (
            json!({"type": "ref/prompt", "name": "m_raw_p"}),
            json!({"type": "ref/prompt", "name": "p"}),
        ),
        (
            json!({"type": "ref/resource", "uri": "x://{b}/t"}),
            json!({"type": "ref/resource", "uri": "x://{b}/t"}),
        ),
    ] {
        let params = json!({"ref": reference, "argument": {"name": "a", "value": "v"}});
        let completed = peer
            .result_of(modern(5, "completion/complete", params))
            .await;
        assert_eq!(completed["echo"]["ref"], own, "{completed}");
    }
}

#[tokio::test]
async fn input_of_a_raw_call_belongs_to_its_source() {
    let mut peer = Peer::connect(&mounted());
    let first = peer.result_of(call(1, "raw_ask", json!({}))).await;
    assert_eq!(first["resultType"], "input_required", "{first}");
    assert_eq!(first["requestState"], "theirs", "it is not sealed");
    let params = json!({
        "name": "raw_ask",
        "requestState": "theirs",
        "inputResponses": {"q": {"action": "accept", "x": 1}},
    });
    let second = peer.result_of(modern(2, "tools/call", params)).await;
    assert_eq!(second["echo"]["requestState"], "theirs");
    assert_eq!(second["echo"]["inputResponses"]["q"]["x"], 1);
}

#[tokio::test]
async fn results_have_the_form_of_the_clients_revision() {
    let mut peer = Peer::connect(&mounted());
    let modern_result = peer.result_of(call(1, "raw_media", json!({}))).await;
    assert_eq!(modern_result["content"][0]["type"], "audio");
    assert_eq!(modern_result["structuredContent"], json!([1]));
    let mut peer = Peer::connect(&mounted());
    peer.initialize("2024-11-05").await;
    peer.send(legacy(1, "tools/call", json!({"name": "raw_media"})))
        .await;
    let received = peer.receive_text().await;
    assert!(!received.contains("aGk="), "{received}");
    assert!(!received.contains("structuredContent"), "{received}");
    assert!(!received.contains("resultType"), "{received}");
    assert!(
        received.contains(r#"{"type":"text","text":"t","x":1.0}"#),
        "{received}"
    );
    let asks = legacy(2, "tools/call", json!({"name": "raw_ask"}));
    let error = peer.error_of(asks, -32603).await;
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("input_required"), "{message}");
}

#[tokio::test]
async fn hidden_raw_entries_get_the_responses_of_unknown_ones() {
    let hidden = server().mount_with(Mount::new("raw", Raw).with_filter(|_, _| false));
    let reference = server().mount_with(Mount::new("other", Raw).with_filter(|_, _| false));
    let (mut peer, mut reference) = (Peer::connect(&hidden), Peer::connect(&reference));
    let requests = [
        ("tools/call", json!({"name": "raw_ask"})),
        ("prompts/get", json!({"name": "raw_p"})),
        ("resources/read", json!({"uri": "y://a"})),
    ];
    for (method, params) in requests {
        for more in [
            json!({}),
            json!({"requestState": "theirs"}),
            json!({"inputResponses": 7}),
        ] {
            let mut params = params.clone();
            let members = params.as_object_mut().unwrap();
            members.extend(more.as_object().unwrap().clone());
            let request = modern(1, method, params);
            peer.send(&request).await;
            reference.send(&request).await;
            let expected = reference.receive_text().await;
            assert_eq!(peer.receive_text().await, expected, "{request}");
        }
    }
}

#[tokio::test]
async fn request_that_is_renamed_to_a_raw_tool_keeps_its_parameters() {
    let renaming = from_fn(async |request: &mut Request, next: Next<'_>| {
        if request.name() == Some("question") {
            request.set_name("raw_ask");
        }
        next.run(request).await
    });
    let mut peer = Peer::connect(&mounted().with_middleware(renaming));
    let params = json!({"name": "question", "arguments": {"a": 1}, "own": 2});
    let first = peer
        .result_of(modern(1, "tools/call", params.clone()))
        .await;
    let echo = json!({"name": "ask", "arguments": {"a": 1}, "own": 2});
    assert_eq!(first["echo"], echo, "{first}");
    let mut params = params;
    params["requestState"] = first["requestState"].clone();
    let second = peer
        .result_of(modern(2, "tools/call", params.clone()))
        .await;
    assert_eq!(second["echo"]["requestState"], "theirs", "{second}");
    params["name"] = json!("unknown");
    let error = peer.error_of(modern(3, "tools/call", params), -32602).await;
    assert_eq!(error["message"], "unknown tool `unknown`");
}

#[tokio::test]
async fn fixed_argument_of_the_inner_mount_applies() {
    let inner = server().mount_with(Mount::new("raw", Raw).fix_argument("fetch", "key", "inner"));
    let outer =
        server().mount_with(Mount::new("m", inner).fix_argument("raw_fetch", "key", "outer"));
    let mut peer = Peer::connect(&outer);
    let called = peer.result_of(call(1, "m_raw_fetch", json!({}))).await;
    assert_eq!(called["echo"]["arguments"], json!({"key": "inner"}));
}

#[tokio::test]
async fn shortened_names_of_raw_entries_are_in_their_meta() {
    struct Long;
    impl Source for Long {
        fn catalog(&self) -> Catalog {
            let mut catalog = Catalog::new();
            let name = "n".repeat(70);
            let prompt = format!(r#"{{"name":"{name}","_meta":{{"x":1.0}}}}"#);
            catalog.add_raw_prompt(json(&prompt), echo).expect("valid");
            let tool = format!(r#"{{"name":"{name}","inputSchema":{{}}}}"#);
            catalog.add_raw_tool(json(&tool), echo).expect("valid");
            catalog
        }
    }
    for (mount, full) in [
        (Mount::flat(Long), "n".repeat(70)),
        (Mount::new("p", Long), format!("p_{}", "n".repeat(70))),
    ] {
        let mut peer = Peer::connect(&server().mount_with(mount));
        for list in ["prompts", "tools"] {
            let method = format!("{list}/list");
            let listed = peer.result_of(modern(1, &method, json!({}))).await;
            let entry = &listed[list][0];
            assert_eq!(entry["name"].as_str().unwrap().len(), 64, "{entry}");
            assert_eq!(entry["_meta"]["toolwire/fullName"], full, "{entry}");
        }
        peer.send(modern(2, "prompts/list", json!({}))).await;
        let listed = peer.receive_text().await;
        assert!(listed.contains(r#""_meta":{"x":1.0,"#), "{listed}");
    }
}

#[test]
fn catalog_is_limited_in_entries_and_bytes() {
    let descriptor = |bytes: usize| {
        let start = r#"{"name":"t","inputSchema":{},"x":""#;
        let text = format!("{start}{}\"}}", "x".repeat(bytes - start.len() - 2));
        assert_eq!(text.len(), bytes);
        json(&text)
    };
    let mut catalog = Catalog::new();
    catalog.add_raw_tool(descriptor(64 * 1024), echo).unwrap();
    let error = catalog.add_raw_tool(descriptor(64 * 1024 + 1), echo);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("the limit is 65536"), "{error}");
    let small = json(r#"{"name":"t","inputSchema":{}}"#);
    for _ in 1..10_000 {
        catalog.add_raw_tool(small.clone(), echo).unwrap();
    }
    let error = catalog.add_raw_tool(small.clone(), echo).unwrap_err();
    assert!(error.to_string().contains("10000 entries"), "{error}");
    // A full catalog permits to replace an entry, and not to add one.
    catalog.replace_raw_tool(small, echo).unwrap();
    let other = json(r#"{"name":"other","inputSchema":{}}"#);
    for error in [
        catalog.replace_raw_tool(other.clone(), echo).unwrap_err(),
        catalog.replace_raw_prompt(other, echo).unwrap_err(),
    ] {
        assert!(error.to_string().contains("10000 entries"), "{error}");
    }
    for error in [
        catalog.replace_raw_tool(descriptor(64 * 1024 + 1), echo),
        catalog.replace_raw_prompt(descriptor(64 * 1024 + 1), echo),
    ] {
        let error = error.unwrap_err().to_string();
        assert!(error.contains("the limit is 65536"), "{error}");
    }
}

#[tokio::test]
async fn contents_are_shared_only_if_every_caller_may_read_them() {
    /// A source with a resource and a template that all callers of its server may share.
    struct Public;
    impl Source for Public {
        fn catalog(&self) -> Catalog {
            let read = async |_: RequestContext, _: RawJson| {
                let result = r#"{"contents":[],"n":1.0,"ttlMs":5,"cacheScope":"public"}"#;
                Ok(json(result))
            };
            let mut catalog = Catalog::new();
            let resource = json(r#"{"uri":"x://a","name":"a"}"#);
            let template = json(r#"{"uriTemplate":"x://{b}/t","name":"b"}"#);
            let added = catalog.add_raw_resource(resource, read);
            added.expect("a valid resource");
            let added = catalog.add_raw_resource_template(template, read);
            added.expect("a valid template");
            catalog
        }
    }
    let check = async |server: Server, expected: &str| {
        for uri in ["x://a", "x://7/t"] {
            let mut peer = Peer::connect(&server);
            let read = modern(1, "resources/read", json!({"uri": uri}));
            let result = peer.result_of(read).await;
            assert_eq!(result["cacheScope"], expected, "{uri}: {result}");
            assert_eq!(result["n"].to_string(), "1.0");
        }
    };
    let mount = || Mount::new("m", Public);
    check(server().mount_with(mount()), "public").await;
    check(server().mount("o", server().mount_with(mount())), "public").await;
    let filtered = || mount().with_filter(|_: &Caller<'_>, _: &str| true);
    check(server().mount_with(filtered()), "private").await;
    let other = server().mount_with(mount());
    check(
        other.mount_with(Mount::flat(server()).with_filter(|_, _| true)),
        "public",
    )
    .await;
    check(
        server().mount("o", server().mount_with(filtered())),
        "private",
    )
    .await;
    check(server().mount_with(mount().with_scopes(["s"])), "private").await;
    let policy = Policy::new([PolicyRule::allow(PolicyConditions::new())]).expect("a valid policy");
    check(
        server().mount_with(mount().with_middleware(policy.clone())),
        "private",
    )
    .await;
    check(
        server().mount_with(mount()).with_middleware(policy),
        "private",
    )
    .await;
    let shown = |_: &Caller<'_>, _: &str| true;
    check(
        server().mount_with(mount()).with_visibility(shown),
        "private",
    )
    .await;
}

#[tokio::test]
async fn own_contents_are_shared_only_if_every_caller_may_read_them() {
    let check = async |server: Server, expected: &str| {
        let mut peer = Peer::connect(&server);
        let read = modern(1, "resources/read", json!({"uri": "x://a"}));
        assert_eq!(peer.result_of(read).await["cacheScope"], expected);
    };
    let resource = || {
        let hint = CacheHint::public(Duration::from_secs(1));
        ResourceHandler::new("x://a", "a", |_, _| async { "text" }).with_cache(hint)
    };
    check(server().resource(resource()), "public").await;
    check(
        server().resource(resource().requires_scopes(["s"])),
        "private",
    )
    .await;
    let hidden = server().with_visibility(|_: &Caller<'_>, _: &str| true);
    check(hidden.resource(resource()), "private").await;
}
