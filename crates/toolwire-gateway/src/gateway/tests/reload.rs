//! New configurations of a running gateway.

use tokio::sync::Semaphore;

use super::*;
use crate::error::GatewayError;
use crate::gateway::ConfigFile;

/// Lets discoveries wait for a permit.
struct DiscoveryGate(Arc<Semaphore>);

impl Middleware for DiscoveryGate {
    fn handle<'a>(&'a self, request: &'a mut Request, next: Next<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            if request.method() == "server/discover" {
                let permit = self.0.acquire().await;
                permit.expect("the gate stays open").forget();
            }
            next.run(request).await
        })
    }
}

#[tokio::test]
async fn changed_file_is_taken_and_a_broken_one_is_not() {
    let scratch = Scratch::new("gateway");
    let path = scratch.path("gateway.toml");
    let one = TestUpstream::start(server_with(&["read"])).await;
    let other = TestUpstream::start(server_with(&["write"])).await;
    let first = table("one", &one, "");
    std::fs::write(&path, &first).unwrap();
    let gateway = start(&scratch, &first).await;
    let client = client(&gateway).await;
    let mut file = ConfigFile::new(&path);
    let mut take = async |text: &str| {
        std::fs::write(&path, text).unwrap();
        file.update(&gateway, false).await;
    };
    let connections = one.discoveries.load(Ordering::Relaxed);

    take(&(table("other", &other, "") + &table("one", &one, "prefix = \"o\""))).await;
    until(async || tools(&client).await == ["other_write", "o_read"]).await;
    assert_eq!(call(&client, "o_read").await, Ok("read".to_owned()));
    // The upstream whose connection settings are the same keeps its connection.
    assert_eq!(one.discoveries.load(Ordering::Relaxed), connections);

    take("this is not TOML").await;
    assert_eq!(tools(&client).await, ["other_write", "o_read"]);

    let rule = "[[rule]]\ndeny = { tool = \"write\" }\n";
    take(&(table("other", &other, "") + rule + &table("one", &one, "prefix = \"o\""))).await;
    assert_eq!(tools(&client).await, ["o_read"]);

    take(&first).await;
    assert_eq!(tools(&client).await, ["one_read"]);
    assert_eq!(one.discoveries.load(Ordering::Relaxed), connections);
    gateway.close().await;
}

#[tokio::test]
async fn new_configuration_keeps_the_counts_of_limits() {
    let scratch = Scratch::new("gateway");
    let upstream = TestUpstream::start(server_with(&["read"])).await;
    let limited = |lines: &str| {
        let limit = "limit = { calls = 1, per = \"1h\", key = \"upstream\" }\n";
        parse(
            &scratch,
            &table("files", &upstream, &format!("{limit}{lines}")),
        )
    };
    let gateway = Gateway::new(limited(""), GatewayOptions::new()).unwrap();
    within(gateway.connect_all()).await;
    let client = client(&gateway).await;
    assert!(call(&client, "files_read").await.is_ok());
    gateway.reload(limited("prefix = \"f\"")).await.unwrap();
    let rejected = call(&client, "f_read").await.unwrap_err();
    assert!(rejected.contains("too many calls"), "{rejected}");
    gateway.close().await;
}

#[tokio::test]
async fn rejected_configuration_changes_nothing() {
    let scratch = Scratch::new("gateway");
    let upstream = TestUpstream::start(server_with(&["read", "write"])).await;
    let first = table("files", &upstream, "");
    let gateway = start(&scratch, &first).await;
    let client = client(&gateway).await;
    let rule = "[[rule]]\ndeny = { tool = \"write\" }\n";
    let broken = table("files", &upstream, "prefix = \"no good\"") + rule;
    let error = gateway.reload(parse(&scratch, &broken)).await.unwrap_err();
    assert!(error.to_string().contains("no good"), "{error}");
    assert_eq!(tools(&client).await, ["files_read", "files_write"]);
    assert_eq!(call(&client, "files_write").await, Ok("write".to_owned()));
    // The configuration that is in force is known.
    let denied = first + rule;
    gateway.reload(parse(&scratch, &denied)).await.unwrap();
    assert_eq!(tools(&client).await, ["files_read"]);
    gateway.close().await;
}

#[tokio::test]
async fn name_that_two_upstreams_have_does_not_prevent_a_new_configuration() {
    let scratch = Scratch::new("gateway");
    let one = TestUpstream::start(server_with(&["read", "list"])).await;
    let other = TestUpstream::start(server_with(&["read", "write"])).await;
    let text = table("one", &one, "") + &table("other", &other, "");
    let gateway = start(&scratch, &text).await;
    let client = client(&gateway).await;
    let flat = table("one", &one, "flat = true") + &table("other", &other, "flat = true");
    gateway.reload(parse(&scratch, &flat)).await.unwrap();
    assert_eq!(tools(&client).await, ["read", "list", "write"]);
    assert_eq!(gateway.report().await.conflicts.len(), 1);
    gateway.close().await;
}

#[tokio::test]
async fn reload_of_one_upstream_moves_and_disconnects_no_other() {
    let scratch = Scratch::new("gateway");
    let one = TestUpstream::start(server_with(&["read"])).await;
    let other = TestUpstream::start(server_with(&["write"])).await;
    let text = |lines: &str| table("one", &one, lines) + &table("other", &other, "");
    let gateway = start(&scratch, &text("")).await;
    let client = client(&gateway).await;
    let alone = gateway.inner.state.lock().await.upstreams[0].alone.clone();
    let alone = within(Client::in_process(&alone)).await.unwrap();
    assert_eq!(tools(&client).await, ["one_read", "other_write"]);
    assert_eq!(call(&alone, "read").await, Ok("read".to_owned()));

    let changed = text("prefix = \"o\"\ntools = { deny = [\"list\"] }");
    gateway.reload(parse(&scratch, &changed)).await.unwrap();
    assert_eq!(tools(&client).await, ["o_read", "other_write"]);
    assert_eq!(call(&client, "other_write").await, Ok("write".to_owned()));
    // Clients of the address at which the upstream is alone stay connected, and get the new rules.
    assert_eq!(call(&alone, "read").await, Ok("read".to_owned()));
    let denied = text("tools = { deny = [\"read\"] }");
    gateway.reload(parse(&scratch, &denied)).await.unwrap();
    assert_eq!(tools(&client).await, ["other_write"]);
    assert!(tools(&alone).await.is_empty());
    gateway.close().await;
}

#[tokio::test]
async fn entries_of_a_replaced_connection_stay_until_the_new_one_has_its_lists() {
    let scratch = Scratch::new("gateway");
    let old = TestUpstream::start(server_with(&["read", "list"])).await;
    let gate = Arc::new(Semaphore::new(0));
    let gated = server_with(&["write"]).with_middleware(DiscoveryGate(Arc::clone(&gate)));
    let new = TestUpstream::start(gated).await;
    let gateway = start(&scratch, &table("files", &old, "")).await;
    let client = client(&gateway).await;
    let reload = async |upstream: &TestUpstream, lines: &str| {
        let config = parse(&scratch, &table("files", upstream, lines));
        gateway.reload(config).await.expect("it is valid");
    };

    reload(&new, "").await;
    assert_eq!(tools(&client).await, ["files_read", "files_list"]);
    assert_eq!(call(&client, "files_read").await, Ok("read".to_owned()));
    // Other settings are in force at once, also while the new connection opens.
    reload(&new, "tools = { deny = [\"list\"] }").await;
    assert_eq!(tools(&client).await, ["files_read"]);
    gate.add_permits(Semaphore::MAX_PERMITS / 2);
    until(async || tools(&client).await == ["files_write"]).await;
    assert_eq!(call(&client, "files_write").await, Ok("write".to_owned()));
    gateway.close().await;
}

#[tokio::test]
async fn entries_of_a_replaced_connection_end_with_the_first_failure_of_the_new_one() {
    let scratch = Scratch::new("gateway");
    let old = TestUpstream::start(server_with(&["read"])).await;
    let gateway = start(&scratch, &table("files", &old, "")).await;
    let client = client(&gateway).await;
    assert_eq!(tools(&client).await, ["files_read"]);
    let gone = "[upstream.files]\nurl = \"http://127.0.0.1:9/mcp\"\n";
    gateway
        .reload(parse(&scratch, gone))
        .await
        .expect("it is valid");
    until(async || tools(&client).await.is_empty()).await;
    gateway
        .reload(parse(&scratch, &table("files", &old, "")))
        .await
        .expect("it is valid");
    until(async || tools(&client).await == ["files_read"]).await;
    gateway.close().await;
}

#[tokio::test]
async fn connection_that_new_settings_restrict_is_not_used_any_more() {
    let scratch = Scratch::new("gateway");
    let old = TestUpstream::start(server_with(&["read"])).await;
    let gate = Arc::new(Semaphore::new(0));
    let gated = server_with(&["write"]).with_middleware(DiscoveryGate(gate));
    let new = TestUpstream::start(gated).await;
    let check = async |before: &str, after: &str, is_kept: bool| {
        let gateway = start(&scratch, &table("files", &old, before)).await;
        let config = parse(&scratch, &table("files", &new, after));
        gateway.reload(config).await.expect("it is valid");
        let upstream = gateway.inner.state.lock().await.upstreams[0].clone();
        let previous = upstream.source.connection().previous();
        assert_eq!(previous.is_some(), is_kept, "{before} {after}");
    };
    check("", "", true).await;
    check("", "sampling = true\nroots = true", true).await;
    check("sampling = true", "", false).await;
    check("roots = true", "", false).await;
    let limit = "sampling = { calls = 1, per = \"1m\" }";
    check("sampling = true", limit, false).await;
    check(limit, "sampling = true", true).await;
    check("", "sharing = \"shared\"", false).await;
    check("headers = { X-Key = \"1\" }", "", false).await;
    let bearer = |token: &str| format!("credentials = {{ bearer = \"{token}\" }}");
    check(&bearer("1"), &bearer("2"), false).await;
}

#[tokio::test]
async fn upstream_that_cannot_be_replaced_stays_and_is_named() {
    let scratch = Scratch::new("gateway");
    let one = TestUpstream::start(server_with(&["read"])).await;
    let other = TestUpstream::start(server_with(&["write"])).await;
    let text = |lines: &str| table("one", &one, lines) + &table("other", &other, lines);
    let gateway = start(&scratch, &text("")).await;
    let alone = gateway.inner.state.lock().await.upstreams[0].alone.clone();
    let alone = within(Client::in_process(&alone)).await.unwrap();
    let client = client(&gateway).await;
    // Another part of the program removed the mount.
    assert!(gateway.server().remove_mount("one"));
    let denied = parse(&scratch, &text("tools = { deny = [\"read\", \"write\"] }"));
    let error = gateway.reload(denied).await.unwrap_err();
    assert!(matches!(error, GatewayError::Partial(_)), "{error}");
    let error = error.to_string();
    assert!(error.contains("upstream `one`: "), "{error}");
    assert!(error.contains("no such mount"), "{error}");
    // The other one changed, and the connection of the first one is still open.
    assert!(tools(&client).await.is_empty());
    assert_eq!(call(&alone, "read").await, Ok("read".to_owned()));
    gateway.close().await;
}

#[tokio::test]
async fn load_has_the_upstreams_of_the_newest_configuration() {
    let scratch = Scratch::new("gateway");
    let upstream = TestUpstream::start(server_with(&["read"])).await;
    let files = table("files", &upstream, "");
    let gateway = start(&scratch, &files).await;
    let read = gateway.load_reader();
    let connections = || {
        let load = read().into_iter();
        load.map(|(name, load)| (name, load.upstream_connections))
            .collect::<Vec<_>>()
    };
    assert_eq!(connections(), [("files".to_owned(), 1)]);
    let config = parse(&scratch, &(files + &table("mail", &upstream, "")));
    within(gateway.reload(config)).await.expect("it is valid");
    let names = || connections().into_iter().map(|(name, _)| name);
    assert_eq!(names().collect::<Vec<_>>(), ["files", "mail"]);
    gateway.close().await;
    drop(gateway);
    assert_eq!(connections(), []);
}
