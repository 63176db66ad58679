//! What a gateway offers: merged lists, filters, and single upstreams.

use toolwire::Client;
use toolwire_proto::invisible_characters::InvisibleCharacter;

use super::*;
use crate::error::GatewayError;

#[tokio::test]
async fn upstreams_are_merged_in_the_order_of_the_file() {
    let scratch = Scratch::new("gateway");
    let one = TestUpstream::start(server_with(&["read", "delete_all"])).await;
    let other = TestUpstream::start(server_with(&["read", "write"])).await;
    let text = table("zeta", &one, "tools = { deny = [\"delete_*\"] }")
        + &table(
            "alpha",
            &other,
            "tools = { allow = [\"wri*\"] }\nflat = true",
        );
    let gateway = start(&scratch, &text).await;
    let client = client(&gateway).await;
    assert_eq!(tools(&client).await, ["zeta_read", "write"]);
    assert_eq!(call(&client, "zeta_read").await, Ok("read".to_owned()));
    assert_eq!(call(&client, "write").await, Ok("write".to_owned()));
    let denied = call(&client, "zeta_delete_all").await;
    assert_eq!(denied, Err("unknown tool `zeta_delete_all`".to_owned()));
    gateway.close().await;
}

#[tokio::test]
async fn each_upstream_is_also_served_at_its_own_path() {
    let scratch = Scratch::new("gateway");
    let one = TestUpstream::start(server_with(&["read"])).await;
    let other = TestUpstream::start(server_with(&["write"])).await;
    let listen = "listen = \"127.0.0.1:0\"\n".to_owned();
    let text = listen + &table("one", &one, "") + &table("other", &other, "");
    let gateway = start(&scratch, &text).await;
    let listener = gateway.bind(false).await.expect("a port is free");
    let url = listener.url().to_owned();
    let serving = tokio::spawn(listener.run());
    for (path, expected) in [
        ("", vec!["one_read", "other_write"]),
        ("/other", vec!["write"]),
    ] {
        let client = within(Client::connect(format!("{url}{path}"))).await;
        let client = client.expect("the gateway serves the path");
        assert_eq!(tools(&client).await, expected, "{path}");
        client.close().await;
    }
    assert!(
        within(Client::connect(format!("{url}/none")))
            .await
            .is_err()
    );
    gateway.close().await;
    within(serving).await.expect("it ends").expect("no failure");
}

#[tokio::test]
async fn report_has_conflicts_problems_and_invisible_characters() {
    let scratch = Scratch::new("gateway");
    let one = TestUpstream::start(server_with(&["read"])).await;
    let hidden = Server::new("upstream", "1.0.0").tool(named_tool("read", "a\u{200b}b"));
    let other = TestUpstream::start(hidden).await;
    let text = table("one", &one, "flat = true")
        + &table("other", &other, "flat = true")
        + "[upstream.gone]\nurl = \"http://127.0.0.1:9/mcp\"\n";
    let gateway = start(&scratch, &text).await;
    let report = gateway.report().await;
    let problems: Vec<bool> = report
        .upstreams
        .iter()
        .map(|upstream| upstream.problem.is_some())
        .collect();
    assert_eq!(problems, [false, false, true]);
    let expected = "tool `read` of `other` is hidden: `one` has the name; set another prefix";
    assert_eq!(report.conflicts, [expected]);
    let entry = &report.upstreams[1].entries[0];
    assert_eq!(entry.invisible_characters, [InvisibleCharacter::ZeroWidth]);
    // The one that is not reachable costs only its own entries.
    assert_eq!(tools(&client(&gateway).await).await, ["read"]);
    gateway.close().await;
}

#[tokio::test]
async fn required_upstream_has_to_be_reachable() {
    let scratch = Scratch::new("gateway");
    let gone = "[upstream.gone]\nurl = \"http://127.0.0.1:9/mcp\"\n";
    let start = async |text: &str| {
        let gateway = Gateway::new(parse(&scratch, text), GatewayOptions::new());
        let gateway = gateway.unwrap_or_else(|error| panic!("{error}"));
        let connected = within(gateway.connect()).await;
        gateway.close().await;
        connected
    };
    assert_eq!(start(gone).await, Ok(()));
    let failed = start(&format!("{gone}required = true")).await;
    assert!(
        matches!(&failed, Err(GatewayError::Upstream { name, .. }) if name == "gone"),
        "{failed:?}"
    );
}

#[tokio::test]
async fn invisible_characters_are_removed_if_configured() {
    let scratch = Scratch::new("gateway");
    let server = Server::new("upstream", "1.0.0")
        .with_instructions("be\u{202e} kind")
        .tool(named_tool("read", "a\u{200b}b \u{2764}\u{fe0f}"));
    let upstream = TestUpstream::start(server).await;
    for (lines, description) in [
        ("", "a\u{200b}b \u{2764}\u{fe0f}"),
        ("strip_invisible = true", "ab \u{2764}\u{fe0f}"),
    ] {
        let gateway = start(&scratch, &table("files", &upstream, lines)).await;
        let client = client(&gateway).await;
        let tools = within(client.list_tools().into_future()).await.unwrap();
        assert_eq!(tools[0].description.as_deref(), Some(description));
        let server = client.server().expect("the client is connected");
        let instructions = server.instructions.clone().unwrap_or_default();
        assert_eq!(instructions.contains('\u{202e}'), lines.is_empty());
        assert_eq!(call(&client, "files_read").await, Ok("read".to_owned()));
        gateway.close().await;
    }
}
