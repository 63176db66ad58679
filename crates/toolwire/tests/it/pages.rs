//! Lists in pages, and lists that change while somebody reads them.

use serde_json::{Value, json};
use toolwire::{PromptHandler, ResourceHandler, ResourceTemplateHandler, Server};

use crate::peer::{Peer, call, complete, modern, plain, server, text};

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

/// One page: the names on it and the cursor behind it.
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
async fn cursors_lead_through_the_whole_list() {
    let mut peer = Peer::connect(&with_tools(&["a", "b", "c", "d", "e"]));
    let (first, cursor) = page(&mut peer, None).await;
    let (second, cursor) = page(&mut peer, cursor.as_deref()).await;
    let (third, end) = page(&mut peer, cursor.as_deref()).await;
    assert_eq!([first, second, third].concat(), ["a", "b", "c", "d", "e"]);
    assert_eq!(end, None);
}

#[tokio::test]
async fn changes_between_pages_lose_nothing_that_stayed() {
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
    // One that was already sent.
    check(|server| assert!(server.remove_tool("a")), &["c", "d", "e"]).await;
    // The one the cursor stands on.
    check(|server| assert!(server.remove_tool("b")), &["c", "d", "e"]).await;
    // The next one.
    check(|server| assert!(server.remove_tool("c")), &["d", "e"]).await;
    check(|server| add(server, "f"), &["c", "d", "e", "f"]).await;
    // All that is left.
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
async fn strange_cursors_are_refused() {
    let mut peer = Peer::connect(&with_tools(&["a", "b", "c"]));
    for cursor in [json!(""), json!("bogus"), json!(7), json!({"page": 2})] {
        let request = modern(1, "tools/list", json!({"cursor": cursor}));
        peer.refusal_of(request, -32602).await;
    }
    // Many clients write `null` for what is absent.
    peer.result_of(modern(1, "tools/list", json!({"cursor": null})))
        .await;
}

#[tokio::test]
async fn every_list_has_pages() {
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
async fn tools_come_and_go_while_serving() {
    let server = with_tools(&["a"]);
    let mut peer = Peer::connect(&server);
    peer.refusal_of(call(1, "late", json!({})), -32602).await;

    server
        .add_tool(plain("late", |_| async { "here" }))
        .expect("the name is free");
    peer.send(call(2, "late", json!({}))).await;
    peer.expect(complete(2, text("here"))).await;
    assert_eq!(page(&mut peer, None).await.0, ["a", "late"]);

    assert!(server.remove_tool("late"));
    assert!(!server.remove_tool("late"));
    peer.refusal_of(call(3, "late", json!({})), -32602).await;
    assert_eq!(page(&mut peer, None).await.0, ["a"]);
}

#[tokio::test]
async fn a_handler_may_change_the_server() {
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
    // Twice is a mistake, and told as one.
    let result = peer.result_of(call(3, "open", json!({}))).await;
    assert_eq!(result["isError"], true);
}

#[tokio::test]
async fn a_call_that_runs_outlives_the_removal_of_its_tool() {
    let (started, mut starts) = tokio::sync::mpsc::unbounded_channel();
    let (release, _) = tokio::sync::broadcast::channel::<()>(1);
    let waiting = {
        let release = release.clone();
        plain("waiting", move |_| {
            let (started, mut released) = (started.clone(), release.subscribe());
            async move {
                started.send(()).expect("the test listens");
                released.recv().await.expect("the test releases it");
                "finished"
            }
        })
    };
    let server = server().tool(waiting);
    let mut peer = Peer::connect(&server);
    peer.send(call(1, "waiting", json!({}))).await;
    starts.recv().await.expect("it runs");
    assert!(server.remove_tool("waiting"));
    release.send(()).expect("it waits");
    peer.expect(complete(1, text("finished"))).await;
}
