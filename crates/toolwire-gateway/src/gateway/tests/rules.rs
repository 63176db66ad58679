//! Rules, limits and the audit log.

use serde_json::json;
use toolwire::types::{SubscriptionFilter, ToolAnnotations};
use toolwire::{ResourceHandler, ResourceTemplateHandler, TemplateArguments};

use super::*;

/// Returns a server with a tool that changes nothing, and one that deletes.
fn hinted_server() -> Server {
    let read_only = ToolAnnotations::default();
    let mut read_only = read_only;
    read_only.read_only_hint = Some(true);
    let read = named_tool("read", "reads").with_annotations(read_only);
    Server::new("upstream", "1.0.0")
        .tool(read)
        .tool(named_tool("delete", "deletes"))
}

#[tokio::test]
async fn denied_tool_looks_like_an_unknown_one() {
    let scratch = Scratch::new("gateway");
    let upstream = TestUpstream::start(hinted_server()).await;
    let rules = "[[rule]]\ndeny = { hint = \"destructive\" }\n[audit]\nfile = \"audit.jsonl\"\n";
    let gateway = start(&scratch, &(table("files", &upstream, "") + rules)).await;
    let client = client(&gateway).await;
    assert_eq!(tools(&client).await, ["files_read"]);
    let rejection = async |name: &str| {
        let called = within(client.call_tool(name, json!({})).into_future()).await;
        let error = called.expect_err("the call is rejected");
        let rejection = error.rpc().expect("the gateway responds");
        let text = serde_json::to_string(rejection).expect("an error is JSON");
        text.replace(name, "NAME")
    };
    let unknown = r#"{"code":-32602,"message":"unknown tool `NAME`"}"#;
    assert_eq!(rejection("files_delete").await, unknown);
    assert_eq!(rejection("files_none").await, unknown);
    assert_eq!(upstream.take_received(), Vec::<String>::new());
    assert_eq!(call(&client, "files_read").await, Ok("read".to_owned()));
    assert_eq!(upstream.take_received(), ["tools/call read"]);
    client.close().await;
    gateway.close().await;

    let lines = audit_lines(&scratch, "tools/call");
    let told: Vec<Value> = lines
        .iter()
        .map(|line| {
            json!([
                line["name"],
                line["upstream"],
                line["decision"],
                line["rule"],
                line["outcome"]
            ])
        })
        .collect();
    assert_eq!(
        told,
        [
            json!(["files_delete", "files", "deny", 1, "error"]),
            json!(["files_none", null, null, null, "error"]),
            json!(["files_read", "files", "allow", null, "ok"]),
        ]
    );
}

/// Returns the lines of the audit log for a method.
pub(super) fn audit_lines(scratch: &Scratch, method: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(scratch.path("audit.jsonl")).expect("there is a log");
    let lines = text.lines().map(serde_json::from_str::<Value>);
    let lines = lines.map(|line| line.expect("each line is JSON"));
    lines.filter(|line| line["method"] == method).collect()
}

#[tokio::test]
async fn rule_about_arguments_decides_about_each_call() {
    let scratch = Scratch::new("gateway");
    let upstream = TestUpstream::start(server_with(&["read"])).await;
    let rules = r#"
        [[rule]]
        allow = { upstream = "files", tool = "read", argument = { path = "path", starts_with = "/public/" } }
        [audit]
        file = "audit.jsonl"
        arguments = ["path"]
    "#;
    let gateway = start(&scratch, &(table("files", &upstream, "") + rules)).await;
    let client = client(&gateway).await;
    assert_eq!(tools(&client).await, ["files_read"]);
    let read = async |path: &str| {
        let arguments = json!({ "path": path, "token": "canary" });
        call_with(&client, "files_read", arguments).await
    };
    assert_eq!(read("/public/a").await, Ok("read".to_owned()));
    let denied = Err("unknown tool `files_read`".to_owned());
    assert_eq!(read("/private/a").await, denied);
    assert_eq!(read("/public/../private/a").await, denied);
    client.close().await;
    gateway.close().await;
    let lines = audit_lines(&scratch, "tools/call");
    assert_eq!(lines[0]["arguments"], json!({ "path": "/public/a" }));
    assert_eq!(lines[1]["decision"], "deny");
    let text = std::fs::read_to_string(scratch.path("audit.jsonl")).unwrap();
    assert!(!text.contains("canary"), "{text}");
}

#[tokio::test]
async fn denied_resource_looks_like_an_unknown_one() {
    let scratch = Scratch::new("gateway");
    let resource = |uri: &str| {
        let read = |_: RequestContext, uri: String| async move { uri };
        ResourceHandler::new(uri, "note", read)
    };
    let one = Server::new("one", "1.0.0").resource(resource("notes:public"));
    let one = TestUpstream::start(one).await;
    let other = Server::new("other", "1.0.0")
        .resource(resource("notes:public"))
        .resource(resource("notes:private"));
    let other = TestUpstream::start(other).await;
    let rules = "[[rule]]\ndeny = { upstream = \"other\", tool = \"notes:*\" }\n";
    let text = table("one", &one, "") + &table("other", &other, "") + rules;
    let gateway = start(&scratch, &text).await;
    let client = client(&gateway).await;
    let read = async |uri: &str| {
        let result = within(client.read_resource(uri).into_future()).await;
        result.map_err(|error| {
            error
                .rpc()
                .map(|rpc| (rpc.code, rpc.message.replace(uri, "")))
        })
    };
    // The rule is about the other upstream, whose resource of this URI has a prefix.
    assert!(read("notes:public").await.is_ok());
    let unknown = read("notes:none").await.unwrap_err();
    assert!(unknown.is_some());
    assert_eq!(one.take_received(), ["resources/read notes:public"]);
    for denied in ["notes:private", "other+notes:public"] {
        assert_eq!(read(denied).await.unwrap_err(), unknown, "{denied}");
    }
    assert_eq!(other.take_received(), Vec::<String>::new());
    gateway.close().await;
}

#[tokio::test]
async fn limits_reject_calls_beyond_them() {
    let scratch = Scratch::new("gateway");
    let upstream = TestUpstream::start(server_with(&["read"])).await;
    let limited = |key: &str| format!("limit = {{ calls = 2, per = \"1h\", key = \"{key}\" }}");
    for key in ["principal", "upstream"] {
        let gateway = start(&scratch, &table("files", &upstream, &limited(key))).await;
        let client = client(&gateway).await;
        assert!(call(&client, "files_read").await.is_ok());
        assert!(call(&client, "files_read").await.is_ok());
        let rejected = call(&client, "files_read").await.unwrap_err();
        assert!(rejected.contains("too many calls"), "{key}: {rejected}");
        gateway.close().await;
    }
    let several = server_with(&["read", "write_a", "write_b"]);
    let several = TestUpstream::start(several).await;
    let limits =
        "limit = [{ calls = 1, per = \"1h\", tools = [\"write_*\"] }, { calls = 3, per = \"1h\" }]";
    let gateway = start(&scratch, &table("files", &several, limits)).await;
    let client_of_all = client(&gateway).await;
    assert!(call(&client_of_all, "files_write_a").await.is_ok());
    assert!(call(&client_of_all, "files_write_b").await.is_err());
    assert!(call(&client_of_all, "files_read").await.is_ok());
    assert!(call(&client_of_all, "files_read").await.is_ok());
    assert!(call(&client_of_all, "files_read").await.is_err());
    gateway.close().await;
    let text = table("files", &upstream, "") + "[limits]\nresult_bytes = 10\n";
    let gateway = start(&scratch, &text).await;
    let shortened = call(&client(&gateway).await, "files_read").await.unwrap();
    assert!(shortened.contains("the limit is 10"), "{shortened}");
    gateway.close().await;
}

/// A rule that denies the tool for private paths at one upstream.
fn private_paths(upstream: &str, tool: &str) -> String {
    let argument = "{ path = \"path\", starts_with = \"/private/\" }";
    format!(
        "[[rule]]\ndeny = {{ upstream = {upstream:?}, tool = {tool:?}, argument = {argument} }}\n"
    )
}

/// Returns the client of the server at `/mcp/NAME`.
pub(super) async fn client_of_upstream(gateway: &Gateway, name: &str) -> Client {
    let state = gateway.inner.state.lock().await;
    let mut upstreams = state.upstreams.iter();
    let upstream = upstreams.find(|upstream| upstream.config.name == name);
    let alone = upstream.expect("there is such an upstream").alone.clone();
    drop(state);
    let client = within(Client::in_process(&alone)).await;
    client.expect("the server is in this process")
}

#[tokio::test]
async fn rule_about_arguments_applies_to_shortened_names() {
    const LONG: &str = "read_a_file_of_which_the_name_is_so_long_that_hosts_would_never_accept_it";
    let scratch = Scratch::new("gateway");
    let upstream = TestUpstream::start(server_with(&[LONG])).await;
    let text = table("files", &upstream, "") + &private_paths("files", "read_a_*");
    let gateway = start(&scratch, &text).await;
    for client in [
        client(&gateway).await,
        client_of_upstream(&gateway, "files").await,
    ] {
        let name = tools(&client).await.remove(0);
        assert_ne!(name, LONG);
        let read = async |path: &str| call_with(&client, &name, json!({ "path": path })).await;
        assert_eq!(read("/public/a").await, Ok(LONG.to_owned()));
        assert_eq!(upstream.take_received().len(), 1);
        assert_eq!(
            read("/private/a").await,
            Err(format!("unknown tool `{name}`"))
        );
        assert_eq!(upstream.take_received(), Vec::<String>::new());
    }
    gateway.close().await;
}

#[tokio::test]
async fn rule_decides_about_the_upstream_that_serves_a_name() {
    let scratch = Scratch::new("gateway");
    let one = TestUpstream::start(server_with(&["read", "list"])).await;
    let other = TestUpstream::start(server_with(&["read"])).await;
    // The first upstream has the name, but does not offer it.
    let text = table("one", &one, "flat = true\ntools = { allow = [\"list\"] }")
        + &table("other", &other, "flat = true")
        + &private_paths("other", "read")
        + "[audit]\nfile = \"audit.jsonl\"\n";
    let gateway = start(&scratch, &text).await;
    let client = client(&gateway).await;
    assert_eq!(tools(&client).await, ["list", "read"]);
    let read = async |path: &str| call_with(&client, "read", json!({ "path": path })).await;
    assert_eq!(read("/public/a").await, Ok("read".to_owned()));
    assert_eq!(
        read("/private/a").await,
        Err("unknown tool `read`".to_owned())
    );
    gateway.close().await;
    let lines = audit_lines(&scratch, "tools/call");
    let told: Vec<Value> = lines
        .iter()
        .map(|line| json!([line["upstream"], line["decision"], line["rule"]]))
        .collect();
    assert_eq!(
        told,
        [json!(["other", "allow", null]), json!(["other", "deny", 1])]
    );
}

#[tokio::test]
async fn rule_about_a_prefixed_uri_applies_at_the_path_of_the_upstream() {
    let scratch = Scratch::new("gateway");
    let server = || {
        let read = |_: RequestContext, uri: String| async move { uri };
        Server::new("notes", "1.0.0").resource(ResourceHandler::new("notes:a", "note", read))
    };
    let (one, other) = (
        TestUpstream::start(server()).await,
        TestUpstream::start(server()).await,
    );
    let rules = "[[rule]]\ndeny = { tool = \"other+notes:*\" }\n";
    let text = table("one", &one, "") + &table("other", &other, "") + rules;
    let gateway = start(&scratch, &text).await;
    for (name, is_permitted) in [("one", true), ("other", false)] {
        let client = client_of_upstream(&gateway, name).await;
        let read = within(client.read_resource("notes:a").into_future()).await;
        assert_eq!(read.is_ok(), is_permitted, "{name}: {read:?}");
    }
    gateway.close().await;
}

/// Returns a server with a template whose resources have their URI as text.
fn template_server() -> Server {
    let read = |_: RequestContext, uri: String, _: TemplateArguments| async move { uri };
    let template = ResourceTemplateHandler::new("notes://by/{+name}", "by name", read);
    Server::new("notes", "1.0.0")
        .with_resource_subscriptions()
        .resource_template(template)
}

#[tokio::test]
async fn rules_apply_to_the_uris_of_a_template() {
    let scratch = Scratch::new("gateway");
    let upstream = TestUpstream::start(template_server()).await;
    let rules = [
        (
            "[[rule]]\nallow = { upstream = \"notes\", tool = \"notes://by/ann/*\" }\n",
            true,
        ),
        ("[[rule]]\ndeny = { tool = \"notes://by/bob/*\" }\n", false),
    ];
    for (rule, needs_permission) in rules {
        let gateway = start(&scratch, &(table("notes", &upstream, "") + rule)).await;
        for client in [
            client(&gateway).await,
            client_of_upstream(&gateway, "notes").await,
        ] {
            let templates = within(client.list_resource_templates().into_future()).await;
            assert_eq!(templates.unwrap().len(), 1, "{rule}");
            let read = async |uri: &str| {
                let read = within(client.read_resource(uri).into_future()).await;
                read.is_ok()
            };
            assert!(read("notes://by/ann/1").await, "{rule}");
            assert!(!read("notes://by/bob/1").await, "{rule}");
            assert_eq!(read("notes://by/eve/1").await, !needs_permission, "{rule}");
            for hidden in [
                "notes://by/ann/../bob/1",
                "notes://by/./bob/1",
                "notes://by//bob/1",
                "notes://by/%62ob/1",
                "NOTES://by/bob/1",
            ] {
                assert!(!read(hidden).await, "{rule} {hidden}");
            }
        }
        gateway.close().await;
    }
}

#[tokio::test]
async fn rules_apply_to_subscriptions() {
    let scratch = Scratch::new("gateway");
    let upstream = TestUpstream::start(template_server()).await;
    let rule = "[[rule]]\ndeny = { tool = \"notes://by/bob/*\" }\n";
    let gateway = start(&scratch, &(table("notes", &upstream, "") + rule)).await;
    let client = client(&gateway).await;
    let uris = ["notes://by/bob/1", "notes://by/ann/1"];
    let filter = uris.iter().fold(SubscriptionFilter::new(), |filter, uri| {
        filter.with_resource(*uri)
    });
    let subscription = within(client.listen(filter))
        .await
        .expect("it is permitted");
    until(async || upstream.server.resource_updated(uris[1]) > 0).await;
    assert_eq!(upstream.server.resource_updated(uris[0]), 0);
    drop(subscription);
    gateway.close().await;
}
