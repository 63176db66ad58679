//! Pagination of lists.

use serde_json::{Value, json};
use toolwire::testing::ScriptedServer;
use toolwire::{Client, ClientBuilder, ClientLimits, Error, Server, ToolHandler};

use super::{LEGACY, MODERN, builder};

/// Fetches all tools from a server with these pages. Each page has the name of a tool and the cursor of the next page.
/// Returns the names and the number of requests.
async fn tools_of(
    pages: impl Fn(Option<String>) -> (String, Value),
) -> (Result<Vec<String>, Error>, usize) {
    tools_with(builder(), pages).await
}

async fn tools_with(
    builder: ClientBuilder,
    pages: impl Fn(Option<String>) -> (String, Value),
) -> (Result<Vec<String>, Error>, usize) {
    let (client, mut server) = ScriptedServer::connect(builder, MODERN).await;
    let list = tokio::spawn(client.list_tools().into_future());
    let mut requests = 0;
    loop {
        tokio::task::yield_now().await;
        if list.is_finished() {
            break;
        }
        let request = server.expect("tools/list").await;
        requests += 1;
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
    (names, requests)
}

#[tokio::test]
async fn all_pages_are_fetched_with_unchanged_cursors() {
    // An empty string is a valid cursor.
    let (names, requests) = tools_of(|cursor| match cursor.as_deref() {
        None => ("a".to_owned(), json!("")),
        Some("") => ("b".to_owned(), json!(" x/ü\u{0}=")),
        Some(" x/ü\u{0}=") => ("c".to_owned(), Value::Null),
        Some(other) => panic!("cursor {other:?}"),
    })
    .await;
    assert_eq!(names.expect("a list"), ["a", "b", "c"]);
    assert_eq!(requests, 3);
}

#[tokio::test]
async fn repeated_cursor_is_an_error() {
    let (names, requests) = tools_of(|_| ("a".to_owned(), json!("again"))).await;
    let error = names.expect_err("an endless list");
    assert!(error.is_limit(), "{error}");
    assert!(error.to_string().contains("earlier page"), "{error}");
    assert_eq!(requests, 2);
}

#[tokio::test]
async fn cycle_of_cursors_is_an_error() {
    let (names, requests) = tools_of(|cursor| match cursor.as_deref() {
        None | Some("three") => ("a".to_owned(), json!("one")),
        Some("one") => ("b".to_owned(), json!("two")),
        Some("two") => ("c".to_owned(), json!("three")),
        Some(other) => panic!("cursor {other:?}"),
    })
    .await;
    let error = names.expect_err("an endless list");
    assert!(error.is_limit(), "{error}");
    assert_eq!(requests, 4);
}

#[tokio::test]
async fn more_than_a_thousand_pages_are_an_error() {
    let count = |cursor: Option<String>| -> u32 {
        cursor.map_or(1, |cursor| cursor.parse().expect("a number"))
    };
    let pages = |last: u32| {
        move |cursor: Option<String>| {
            let page = count(cursor);
            let next = if page == last {
                Value::Null
            } else {
                json!((page + 1).to_string())
            };
            (format!("tool-{page}"), next)
        }
    };
    let (names, requests) = tools_of(pages(1000)).await;
    assert_eq!(names.expect("a list").len(), 1000);
    assert_eq!(requests, 1000);
    let (names, requests) = tools_of(pages(1001)).await;
    let error = names.expect_err("too many pages");
    assert!(error.is_limit(), "{error}");
    assert_eq!(requests, 1000);
}

#[tokio::test]
async fn pages_with_too_many_bytes_together_are_an_error() {
    let pages = |cursor: Option<String>| {
        let next = cursor.map_or(1, |cursor| cursor.len() + 1);
        ("tool".repeat(100), json!("x".repeat(next)))
    };
    let mut limits = ClientLimits::default();
    limits.list_bytes = 2000;
    let (names, requests) = tools_with(builder().with_limits(limits), pages).await;
    let error = names.expect_err("too large");
    assert!(error.is_limit(), "{error}");
    assert!(error.to_string().contains("list_bytes"), "{error}");
    // Each page has more than 400 bytes and less than 500.
    assert_eq!(requests, 5);
}

#[tokio::test]
async fn list_of_a_server_with_pages_is_complete_in_both_eras() {
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
