//! `resources/list`, `resources/templates/list`, `resources/read`, and the cache hints of the six cacheable results.

use std::time::Duration;

use serde_json::{Value, json};
use toolwire::types::{
    CacheScope, InputRequests, InputRequiredResult, Meta, ReadResourceResult, TextResourceContents,
};
use toolwire::{
    CacheHint, PromptHandler, ResourceHandler, ResourceResponse, ResourceTemplateHandler, Server,
    TemplateArguments, ToolError,
};
use toolwire_tests::peer::{Peer, complete, legacy, modern, plain, result_response, server};

fn notes() -> Server {
    server()
        .resource(
            ResourceHandler::new("notes://readme", "readme", |_, _| async { "Read me." })
                .with_mime_type("text/plain")
                .with_size(8),
        )
        .resource(
            ResourceHandler::new("notes://logo", "logo", |_, _| async { vec![0_u8, 1, 255] })
                .with_mime_type("image/png"),
        )
        .resource_template(
            ResourceTemplateHandler::new(
                "notes://by-id/{id}",
                "note",
                |_, uri: String, mut variables: TemplateArguments| async move {
                    let id: u32 = variables.required("id")?;
                    match id {
                        0 => Err(ToolError::resource_not_found(uri)),
                        1 => Err(ToolError::failed("the disk failed")),
                        _ => Ok(format!("note {id}")),
                    }
                },
            )
            .with_mime_type("text/markdown"),
        )
}

fn read(id: i64, uri: &str) -> Value {
    modern(id, "resources/read", json!({"uri": uri}))
}

/// Returns the result of a read that must not be cached.
fn uncached(contents: Value) -> Value {
    json!({"contents": [contents], "ttlMs": 0, "cacheScope": "private"})
}

#[tokio::test]
async fn resources_and_templates_are_listed_separately() {
    let mut peer = Peer::connect(&notes());
    peer.send(modern(1, "resources/list", json!({}))).await;
    peer.expect(complete(
        1,
        json!({
            "resources": [
                {"uri": "notes://readme", "name": "readme", "mimeType": "text/plain", "size": 8},
                {"uri": "notes://logo", "name": "logo", "mimeType": "image/png"},
            ],
            "ttlMs": 0,
            "cacheScope": "private",
        }),
    ))
    .await;
    peer.send(modern(2, "resources/templates/list", json!({})))
        .await;
    peer.expect(complete(
        2,
        json!({
            "resourceTemplates": [{
                "uriTemplate": "notes://by-id/{id}",
                "name": "note",
                "mimeType": "text/markdown",
            }],
            "ttlMs": 0,
            "cacheScope": "private",
        }),
    ))
    .await;
}

#[tokio::test]
async fn contents_are_text_or_base64() {
    let mut peer = Peer::connect(&notes());
    let mut check = async |uri: &str, contents: Value| {
        peer.send(read(1, uri)).await;
        peer.expect(complete(1, uncached(contents))).await;
    };
    check(
        "notes://readme",
        json!({"uri": "notes://readme", "mimeType": "text/plain", "text": "Read me."}),
    )
    .await;
    check(
        "notes://logo",
        json!({"uri": "notes://logo", "mimeType": "image/png", "blob": "AAH/"}),
    )
    .await;
    check(
        "notes://by-id/7",
        json!({"uri": "notes://by-id/7", "mimeType": "text/markdown", "text": "note 7"}),
    )
    .await;
}

#[tokio::test]
async fn unknown_resource_has_the_error_code_of_the_revision() {
    let mut peer = Peer::connect(&notes());
    peer.initialize("2025-11-25").await;
    for uri in ["notes://unknown", "notes://by-id/0", ""] {
        let error = peer.error_of(read(1, uri), -32602).await;
        assert_eq!(error["data"], json!({"uri": uri}));
        let request = legacy(2, "resources/read", json!({"uri": uri}));
        let error = peer.error_of(request, -32002).await;
        assert_eq!(error["data"], json!({"uri": uri}));
    }
}

#[tokio::test]
async fn invalid_template_variable_is_rejected() {
    let mut peer = Peer::connect(&notes());
    let error = peer.error_of(read(1, "notes://by-id/seven"), -32602).await;
    let message = error["message"].as_str().unwrap_or_default();
    assert!(message.contains("`id`"), "{message}");
    peer.error_of(modern(2, "resources/read", json!({})), -32602)
        .await;
}

#[tokio::test]
async fn failed_read_is_an_internal_error() {
    let mut peer = Peer::connect(&notes());
    let error = peer.error_of(read(1, "notes://by-id/1"), -32603).await;
    assert_eq!(error["message"], "the disk failed");
}

#[tokio::test]
async fn handler_may_return_a_complete_result() {
    let complete_result = ResourceHandler::new("a:b", "b", |_, _| async {
        let mut result = ReadResourceResult::new(vec![
            TextResourceContents::new("a:b", "one").into(),
            TextResourceContents::new("a:b/2", "two").into(),
        ]);
        result.ttl_ms = Some(5);
        result.cache_scope = Some(CacheScope::Public);
        result.meta = Some(Meta::new().with("com.example/k", json!(1)));
        result
    });
    let mut peer = Peer::connect(&server().resource(complete_result));
    peer.send(read(1, "a:b")).await;
    peer.expect(complete(
        1,
        json!({
            "contents": [{"uri": "a:b", "text": "one"}, {"uri": "a:b/2", "text": "two"}],
            "ttlMs": 5,
            "cacheScope": "public",
            "_meta": {"com.example/k": 1},
        }),
    ))
    .await;
}

#[tokio::test]
async fn most_specific_template_is_used() {
    let template = |uri: &str, name: &'static str| {
        ResourceTemplateHandler::new(uri, name, move |_, _, _| async move { name })
    };
    let server = server()
        .resource_template(template("x://{a}", "any"))
        .resource_template(template("x://fixed-{a}", "fixed"))
        .resource(ResourceHandler::new("x://fixed-1", "one", |_, _| async {
            "exact"
        }));
    let mut peer = Peer::connect(&server);
    for (uri, expected) in [
        ("x://1", "any"),
        ("x://fixed-2", "fixed"),
        ("x://fixed-1", "exact"),
    ] {
        let result = peer.result_of(read(1, uri)).await;
        assert_eq!(result["contents"][0]["text"], expected, "{uri}");
    }
}

/// Returns a server that serves each of the six cacheable methods.
fn cacheable() -> Server {
    let hint = CacheHint::public(Duration::from_secs(5));
    notes()
        .with_list_cache(hint)
        .tool(plain("idle", |_| async { "idle" }))
        .prompt(PromptHandler::new("p", |_, _| async { "hi" }))
        .resource(
            ResourceHandler::new("a:cached", "cached", |_, _| async { "cached" })
                .with_cache(CacheHint::private(Duration::from_millis(1500))),
        )
}

#[tokio::test]
async fn six_cacheable_results_carry_cache_hints() {
    let mut peer = Peer::connect(&cacheable());
    let mut hints = async |method: &str, params: Value| {
        let result = peer.result_of(modern(1, method, params)).await;
        (result["ttlMs"].clone(), result["cacheScope"].clone())
    };
    for list in [
        "server/discover",
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
    ] {
        let hints = hints(list, json!({})).await;
        assert_eq!(hints, (json!(5000), json!("public")), "{list}");
    }
    let cached = hints("resources/read", json!({"uri": "a:cached"})).await;
    assert_eq!(cached, (json!(1500), json!("private")));
    // The hint of a list does not apply to the listed resources.
    let plain = hints("resources/read", json!({"uri": "notes://readme"})).await;
    assert_eq!(plain, (json!(0), json!("private")));
}

#[tokio::test]
async fn default_ttl_applies_to_results_without_a_hint_of_their_own() {
    let hints = async |server: &Server, method: &str, params: Value| {
        let mut peer = Peer::connect(server);
        let result = peer.result_of(modern(1, method, params)).await;
        (result["ttlMs"].clone(), result["cacheScope"].clone())
    };
    let default = (json!(30_000), json!("private"));
    let readme = || json!({"uri": "notes://readme"});
    let server = notes().with_default_cache_ttl(Duration::from_secs(30));
    for method in [
        "server/discover",
        "resources/list",
        "resources/templates/list",
    ] {
        assert_eq!(hints(&server, method, json!({})).await, default, "{method}");
    }
    assert_eq!(hints(&server, "resources/read", readme()).await, default);

    // Hints of lists and resources precede the default, whatever is set first.
    let server = cacheable().with_default_cache_ttl(Duration::from_secs(30));
    let list = hints(&server, "resources/list", json!({})).await;
    assert_eq!(list, (json!(5000), json!("public")));
    let cached = hints(&server, "resources/read", json!({"uri": "a:cached"})).await;
    assert_eq!(cached, (json!(1500), json!("private")));
    assert_eq!(hints(&server, "resources/read", readme()).await, default);
}

#[tokio::test]
async fn other_results_and_older_revisions_carry_no_cache_hints() {
    let mut peer = Peer::connect(&cacheable());
    peer.initialize("2025-11-25").await;
    let requests = [
        modern(1, "tools/call", json!({"name": "idle"})),
        modern(1, "prompts/get", json!({"name": "p"})),
        legacy(1, "tools/list", json!({})),
        legacy(1, "prompts/list", json!({})),
        legacy(1, "resources/list", json!({})),
        legacy(1, "resources/templates/list", json!({})),
        legacy(1, "resources/read", json!({"uri": "a:cached"})),
    ];
    for request in requests {
        let result = peer.result_of(request.clone()).await;
        assert_eq!(result.get("ttlMs"), None, "{request}");
        assert_eq!(result.get("cacheScope"), None, "{request}");
    }
}

#[tokio::test]
async fn input_required_result_carries_no_cache_hints() {
    let asks = ResourceHandler::new("a:b", "b", |_, _| async {
        let mut input_required = InputRequiredResult::new();
        input_required.request_state = Some("s".to_owned());
        ResourceResponse::InputRequired(input_required)
    })
    .with_cache(CacheHint::public(Duration::from_secs(5)));
    let server = server().without_sealed_request_state().resource(asks);
    let mut peer = Peer::connect(&server);
    peer.send(read(1, "a:b")).await;
    peer.expect(result_response(
        1,
        json!({"resultType": "input_required", "requestState": "s"}),
    ))
    .await;
}

#[tokio::test]
async fn input_required_without_requests_and_state_is_an_internal_error() {
    let asks = ResourceHandler::new("a:b", "b", |_, _| async {
        ResourceResponse::input_required(InputRequests::new(), None)
    });
    let mut peer = Peer::connect(&server().resource(asks));
    peer.error_of(read(1, "a:b"), -32603).await;
}
