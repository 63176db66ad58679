//! Pagination of lists, and lists that change while a client reads them.

use serde_json::{Value, json};
use toolwire::{PromptHandler, ResourceHandler, ResourceTemplateHandler, Server};
use toolwire_tests::peer::{Peer, call, complete, modern, plain, server, text};

fn with_tools(names: &[&str]) -> Server {
    let server = server().with_page_size(2);
    for name in names {
        add(&server, name);
    }
    server
}

fn add(server: &Server, name: &str) {
    server
        .add_tool(plain(name, |_| async { "idle" }))
        .expect("the name is free");
}

/// Returns one page: its names and the cursor of the next page.
async fn page(peer: &mut Peer, cursor: Option<&str>) -> (Vec<String>, Option<String>) {
    let params = match cursor {
        Some(cursor) => json!({"cursor": cursor}),
        None => json!({}),
    };
    let result = peer.result_of(modern(1, "tools/list", params)).await;
    let names = result["tools"].as_array().into_iter().flatten();
    let names = names.map(|tool| tool["name"].as_str().unwrap_or_default().to_owned());
    let cursor = result.get("nextCursor").and_then(Value::as_str);
    (names.collect(), cursor.map(str::to_owned))
}

#[tokio::test]
async fn cursors_return_the_complete_list() {
    let mut peer = Peer::connect(&with_tools(&["a", "b", "c", "d", "e"]));
    let (first, cursor) = page(&mut peer, None).await;
    let (second, cursor) = page(&mut peer, cursor.as_deref()).await;
    let (third, end) = page(&mut peer, cursor.as_deref()).await;
    assert_eq!([first, second, third].concat(), ["a", "b", "c", "d", "e"]);
    assert_eq!(end, None);
}

#[tokio::test]
async fn changes_between_pages_skip_no_remaining_entry() {
    let check = async |change: fn(&Server), expected: &[&str]| {
        let server = with_tools(&["a", "b", "c", "d", "e"]);
        let mut peer = Peer::connect(&server);
        let (_, mut cursor) = page(&mut peer, None).await;
        change(&server);
        let mut rest = Vec::new();
        while cursor.is_some() {
            let (names, next) = page(&mut peer, cursor.as_deref()).await;
            rest.extend(names);
            cursor = next;
        }
        assert_eq!(rest, expected);
    };
    check(|_| {}, &["c", "d", "e"]).await;
    // A tool of the first page.
    check(|server| assert!(server.remove_tool("a")), &["c", "d", "e"]).await;
    // The last tool of the first page, which the cursor names.
    check(|server| assert!(server.remove_tool("b")), &["c", "d", "e"]).await;
    // The first tool of the next page.
    check(|server| assert!(server.remove_tool("c")), &["d", "e"]).await;
    check(|server| add(server, "f"), &["c", "d", "e", "f"]).await;
    // All remaining tools.
    check(
        |server| {
            for name in ["b", "c", "d", "e"] {
                server.remove_tool(name);
            }
        },
        &[],
    )
    .await;
}

#[tokio::test]
async fn invalid_cursors_are_rejected() {
    let mut peer = Peer::connect(&with_tools(&["a", "b", "c"]));
    for cursor in [json!(""), json!("bogus"), json!(7), json!({"page": 2})] {
        let request = modern(1, "tools/list", json!({"cursor": cursor}));
        peer.error_of(request, -32602).await;
    }
    // Many clients send `null` for an absent cursor.
    peer.result_of(modern(1, "tools/list", json!({"cursor": null})))
        .await;
}

#[tokio::test]
async fn every_list_is_paginated() {
    let mut server = server().with_page_size(1);
    for name in ["a", "b"] {
        server = server
            .tool(plain(name, |_| async { "idle" }))
            .prompt(PromptHandler::new(name, |_, _| async { "hi" }))
            .resource(ResourceHandler::new(
                format!("x:{name}"),
                name,
                |_, _| async { "text" },
            ))
            .resource_template(ResourceTemplateHandler::new(
                format!("{name}://{{id}}"),
                name,
                |_, _, _| async { "text" },
            ));
    }
    let mut peer = Peer::connect(&server);
    for (method, member) in [
        ("tools/list", "tools"),
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
    ] {
        let first = peer.result_of(modern(1, method, json!({}))).await;
        assert_eq!(first[member][0]["name"], "a", "{method}");
        let params = json!({"cursor": first["nextCursor"]});
        let second = peer.result_of(modern(2, method, params)).await;
        assert_eq!(second[member][0]["name"], "b", "{method}");
        assert_eq!(second.get("nextCursor"), None, "{method}");
    }
}

#[tokio::test]
async fn tools_can_be_added_and_removed_while_serving() {
    let server = with_tools(&["a"]);
    let mut peer = Peer::connect(&server);
    peer.error_of(call(1, "late", json!({})), -32602).await;

    server
        .add_tool(plain("late", |_| async { "here" }))
        .expect("the name is free");
    peer.send(call(2, "late", json!({}))).await;
    peer.expect(complete(2, text("here"))).await;
    assert_eq!(page(&mut peer, None).await.0, ["a", "late"]);

    assert!(server.remove_tool("late"));
    assert!(!server.remove_tool("late"));
    peer.error_of(call(3, "late", json!({})), -32602).await;
    assert_eq!(page(&mut peer, None).await.0, ["a"]);
}

#[tokio::test]
async fn handler_can_add_a_tool() {
    let opener = plain("open", |ctx: toolwire::RequestContext| async move {
        ctx.server()
            .add_tool(plain("opened", |_| async { "now" }))
            .map_err(toolwire::ToolError::from)?;
        Ok::<_, toolwire::ToolError>("done")
    });
    let mut peer = Peer::connect(&server().tool(opener));
    peer.send(call(1, "open", json!({}))).await;
    peer.expect(complete(1, text("done"))).await;
    peer.send(call(2, "opened", json!({}))).await;
    peer.expect(complete(2, text("now"))).await;
    // Adding the same tool twice is an error.
    let result = peer.result_of(call(3, "open", json!({}))).await;
    assert_eq!(result["isError"], true);
}

#[tokio::test]
async fn running_call_finishes_after_its_tool_is_removed() {
    let (started, mut starts) = tokio::sync::mpsc::unbounded_channel();
    let (release, _) = tokio::sync::broadcast::channel::<()>(1);
    let waiting = {
        let release = release.clone();
        plain("waiting", move |_| {
            let (started, mut released) = (started.clone(), release.subscribe());
            async move {
                started.send(()).expect("the test receives events");
                released.recv().await.expect("the test releases it");
                "finished"
            }
        })
    };
    let server = server().tool(waiting);
    let mut peer = Peer::connect(&server);
    peer.send(call(1, "waiting", json!({}))).await;
    starts.recv().await.expect("the handler runs");
    assert!(server.remove_tool("waiting"));
    release.send(()).expect("the handler waits");
    peer.expect(complete(1, text("finished"))).await;
}
