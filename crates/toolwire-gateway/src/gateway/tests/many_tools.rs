//! Many upstreams with many tools.

use super::*;

const UPSTREAMS: usize = 10;

/// The number of tools of each upstream.
const TOOLS: usize = 100;

/// The upstream whose list changes.
const CHANGING: usize = 5;

fn numbered_tool(number: usize) -> ToolHandler {
    let name = format!("tool_{number}");
    ToolHandler::typed(name, |_: RequestContext, _: Value| async { "done" })
}

#[tokio::test]
async fn list_of_many_upstreams_is_complete_while_one_changes_and_one_is_down() {
    let scratch = Scratch::new("gateway");
    let mut upstreams = Vec::new();
    let mut text = String::new();
    for number in 0..UPSTREAMS {
        let tools = (0..TOOLS).map(numbered_tool);
        let server = Server::new("upstream", "1.0.0");
        // One of them has many short pages.
        let server = server.with_page_size(if number == 3 { 7 } else { 1_000 });
        let server = tools.fold(server, |server, tool| server.tool(tool));
        let upstream = TestUpstream::start(server).await;
        text += &table(&format!("up{number}"), &upstream, "");
        upstreams.push(upstream);
    }
    text += "[upstream.down]\nurl = \"http://127.0.0.1:9/mcp\"\n";
    let gateway = start(&scratch, &text).await;
    let client = client(&gateway).await;
    let names = |upstream| (0..TOOLS).map(move |tool| format!("up{upstream}_tool_{tool}"));
    let expected: Vec<String> = (0..UPSTREAMS).flat_map(names).collect();
    assert_eq!(tools(&client).await, expected);

    for round in 0..3 {
        let added = TOOLS + round;
        let changing = &upstreams[CHANGING].server;
        changing.add_tool(numbered_tool(added)).expect("a new name");
        let added = format!("up{CHANGING}_tool_{added}");
        until(async || {
            let listed = tools(&client).await;
            let is_of_changing = |name: &&String| name.starts_with(&format!("up{CHANGING}_"));
            let others = listed.iter().filter(|name| !is_of_changing(name));
            assert_eq!(others.count(), (UPSTREAMS - 1) * TOOLS);
            listed.contains(&added)
        })
        .await;
        assert_eq!(call(&client, &added).await.as_deref(), Ok("done"));
    }
    client.close().await;
    gateway.close().await;
}
