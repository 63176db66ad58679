//! Lists of many pages.

use serde_json::{Value, json};
use toolwire::testing::ScriptedServer;
use toolwire::{Client, Error, Server, ToolHandler};

use super::{LEGACY, MODERN, builder};

/// Fetches all tools from a server that answers with these pages: a name, and the cursor of the next page.
async fn tools_of(
    pages: impl Fn(Option<String>) -> (String, Value),
) -> (Result<Vec<String>, Error>, usize) {
    let (client, mut server) = ScriptedServer::connect(builder(), MODERN).await;
    let list = tokio::spawn(client.list_tools().into_future());
    let mut asked = 0;
    loop {
        tokio::task::yield_now().await;
        if list.is_finished() {
            break;
        }
        let request = server.expect("tools/list").await;
        asked += 1;
        let cursor = request.params["cursor"].as_str().map(str::to_owned);
        let (name, next) = pages(cursor);
        let mut page = json!({"tools": [{"name": name, "inputSchema": {"type": "object"}}]});
        if !next.is_null() {
            page["nextCursor"] = next;
        }
        server.respond(&request, page).await;
        for _ in 0..8 {
            tokio::task::yield_now().await;
        }
    }
    let list = list.await.expect("no panic");
    let names = list.map(|tools| tools.into_iter().map(|tool| tool.name).collect());
    (names, asked)
}

#[tokio::test]
async fn pages_are_followed_to_the_last_one_and_cursors_come_back_as_they_were() {
    // An empty cursor is a cursor like any other.
    let (names, asked) = tools_of(|cursor| match cursor.as_deref() {
        None => ("a".to_owned(), json!("")),
        Some("") => ("b".to_owned(), json!(" x/ü\u{0}=")),
        Some(" x/ü\u{0}=") => ("c".to_owned(), Value::Null),
        Some(other) => panic!("cursor {other:?}"),
    })
    .await;
    assert_eq!(names.expect("a list"), ["a", "b", "c"]);
    assert_eq!(asked, 3);
}

#[tokio::test]
async fn a_repeated_cursor_ends_the_list() {
    let (names, asked) = tools_of(|_| ("a".to_owned(), json!("again"))).await;
    let error = names.expect_err("the list would never end");
    assert!(error.is_limit(), "{error}");
    assert!(error.to_string().contains("earlier page"), "{error}");
    assert_eq!(asked, 2);
}

#[tokio::test]
async fn a_cycle_of_cursors_ends_the_list() {
    let (names, asked) = tools_of(|cursor| match cursor.as_deref() {
        None | Some("three") => ("a".to_owned(), json!("one")),
        Some("one") => ("b".to_owned(), json!("two")),
        Some("two") => ("c".to_owned(), json!("three")),
        Some(other) => panic!("cursor {other:?}"),
    })
    .await;
    let error = names.expect_err("the list would never end");
    assert!(error.is_limit(), "{error}");
    assert_eq!(asked, 4);
}

#[tokio::test]
async fn a_thousand_pages_are_followed_and_no_more() {
    let count = |cursor: Option<String>| -> u32 {
        cursor.map_or(1, |cursor| cursor.parse().expect("our own cursor"))
    };
    let pages = |last: u32| {
        move |cursor: Option<String>| {
            let page = count(cursor);
            let next = match page == last {
                true => Value::Null,
                false => json!((page + 1).to_string()),
            };
            (format!("tool-{page}"), next)
        }
    };
    let (names, asked) = tools_of(pages(1000)).await;
    assert_eq!(names.expect("a list").len(), 1000);
    assert_eq!(asked, 1000);
    let (names, asked) = tools_of(pages(1001)).await;
    let error = names.expect_err("one page too many");
    assert!(error.is_limit(), "{error}");
    assert_eq!(asked, 1000);
}

#[tokio::test]
async fn lists_of_a_real_server_are_whole_in_both_eras() {
    let server = (0..10).fold(
        Server::new("demo", "1.0.0").with_page_size(3),
        |server, number| {
            let name = format!("tool-{number}");
            server.tool(ToolHandler::raw(
                toolwire::Tool::new(name, json!({"type": "object"})),
                |_, _| async { "ok" },
            ))
        },
    );
    for version in [MODERN, LEGACY] {
        let client: Client = toolwire::testing::client_with_version(&server, version).await;
        assert_eq!(client.list_tools().await.expect("a list").len(), 10);
        let page = client.list_tools_page(None).await.expect("a page");
        assert_eq!(page.tools.len(), 3);
        let next = client
            .list_tools_page(page.next_cursor)
            .await
            .expect("a page");
        assert_eq!(next.tools[0].name, "tool-3");
    }
}
