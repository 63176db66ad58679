//! Users who log in to upstreams, with browsers and authorization servers.

mod browser;
mod login_server;
mod present_logins;

use http::StatusCode;
use serde_json::json;
use toolwire::types::ElicitResult;
use toolwire::{ClientBuilder, Era};

use self::browser::Browser;
use self::login_server::{LoginServerState, upstream};
use super::*;

/// Where browsers reach the gateway.
const PUBLIC: &str = "https://tools.example.com";

/// A gateway with two upstreams at which users log in.
struct LoginGateway {
    gateway: Gateway,
    front: String,
    files_origin: String,
    files: Arc<LoginServerState>,
    notes: Arc<LoginServerState>,
    serving: Vec<AbortHandle>,
    scratch: Scratch,
    text: String,
}

impl LoginGateway {
    async fn start() -> Self {
        let scratch = Scratch::new("gateway");
        let tokens = "ann token-of-ann-0000\nbob token-of-bob-0000\n";
        std::fs::write(scratch.path("tokens"), tokens).unwrap();
        let (files, files_url, files_serving) = upstream().await;
        let (notes, notes_url, notes_serving) = upstream().await;
        let key = "0f".repeat(32);
        let text = format!(
            "listen = \"127.0.0.1:0\"\npublic_url = {PUBLIC:?}\n[auth]\nbearer_file = \"tokens\"\n\
             [logins]\nfile = \"logins\"\nkey = {key:?}\n[upstream.files]\nurl = {files_url:?}\ncredentials = {{ login = {{ scopes = [\"read\"] }} }}\n\
             [upstream.notes]\nurl = {notes_url:?}\ncredentials = {{ login = {{}} }}\n"
        );
        let gateway = start(&scratch, &text).await;
        let listener = gateway.bind(false).await.expect("a port is free");
        let front = listener.url().to_owned();
        let serving = tokio::spawn(listener.run()).abort_handle();
        Self {
            gateway,
            front,
            files_origin: files_url.trim_end_matches("/mcp").to_owned(),
            files,
            notes,
            serving: vec![serving, files_serving, notes_serving],
            scratch,
            text,
        }
    }

    fn browser(&self) -> Browser {
        Browser {
            gateway: self.front.trim_end_matches("/mcp").to_owned(),
            cookie: Arc::default(),
        }
    }

    fn builder(&self, user: &str, era: Era) -> ClientBuilder {
        let token = format!("Bearer token-of-{user}-0000");
        let builder = ClientBuilder::new("test", "1.0.0").with_era(era);
        builder.with_header("Authorization", &token).unwrap()
    }

    /// Connects a client that cannot show an address.
    async fn client(&self, user: &str, era: Era) -> Client {
        let connected = within(self.builder(user, era).connect(&self.front)).await;
        connected.expect("it is served")
    }

    /// Connects a client whose user logs in with a browser, after the client has responded.
    async fn client_with(&self, user: &str, era: Era, browser: &Browser) -> Client {
        let browser = browser.clone();
        let builder = self.builder(user, era).on_url_elicitation(move |request| {
            let browser = browser.clone();
            tokio::spawn(async move { browser.log_in(&request.url).await });
            async { Ok(ElicitResult::accept()) }
        });
        within(builder.connect(&self.front)).await.expect("served")
    }

    /// Returns the link that a client without a login gets.
    async fn link(&self, user: &str, tool: &str) -> String {
        let client = self.client(user, Era::Modern).await;
        let text = call(&client, tool).await.expect("a result with an error");
        client.close().await;
        let (_, link) = text.split_once(PUBLIC).expect("it has the address");
        format!("{PUBLIC}{link}")
    }

    /// Logs a user in to `files`, with this account there.
    async fn log_in(&self, user: &str, account: &str) {
        *self.files.account.lock().unwrap() = account.to_owned();
        let link = self.link(user, "files_log_in").await;
        let page = self.browser().log_in(&link).await;
        assert_eq!(page.status, StatusCode::OK, "{}", page.text);
        let client = self.client(user, Era::Modern).await;
        until(async || tools(&client).await.contains(&"files_whoami".to_owned())).await;
        client.close().await;
    }

    async fn whoami(&self, user: &str) -> String {
        let client = self.client(user, Era::Modern).await;
        let called = call(&client, "files_whoami").await;
        client.close().await;
        called.unwrap_or_else(|error| error)
    }

    async fn close(self) {
        self.gateway.close().await;
        for serving in self.serving {
            serving.abort();
        }
    }
}

#[tokio::test]
async fn call_continues_without_a_retry_after_its_user_has_logged_in() {
    for era in [Era::Modern, Era::Legacy] {
        let gateway = LoginGateway::start().await;
        let client = gateway.client_with("ann", era, &gateway.browser()).await;
        assert_eq!(tools(&client).await, ["files_log_in", "notes_log_in"]);
        *gateway.files.account.lock().unwrap() = "annie".to_owned();
        let logged_in = call(&client, "files_log_in").await;
        assert_eq!(logged_in.as_deref(), Ok("You are logged in to `files`."));
        until(async || tools(&client).await.contains(&"files_whoami".to_owned())).await;
        let called = call(&client, "files_whoami").await;
        assert_eq!(called.as_deref(), Ok("annie"), "{era:?}");

        // Another user has another login. The first call waits for it.
        *gateway.files.account.lock().unwrap() = "bobby".to_owned();
        let bob = gateway.client_with("bob", era, &gateway.browser()).await;
        let called = call(&bob, "files_whoami").await;
        assert_eq!(called.as_deref(), Ok("bobby"), "{era:?}");
        let called = call(&client, "files_whoami").await;
        assert_eq!(called.as_deref(), Ok("annie"), "{era:?}");

        let registrations = gateway.files.registrations.load(Ordering::Relaxed);
        assert_eq!(registrations, 1, "all users share a registration");
        for query in &*gateway.files.queries.lock().unwrap() {
            for part in ["code_challenge=", "resource=", "scope=read", "state="] {
                assert!(query.contains(part), "{query}");
            }
        }
        for sent in &*gateway.files.authorizations.lock().unwrap() {
            assert!(sent.is_empty() || sent.starts_with("Bearer up-"), "{sent}");
        }
        client.close().await;
        bob.close().await;
        gateway.close().await;
    }
}

#[tokio::test]
async fn client_that_cannot_show_an_address_gets_it_in_an_error() {
    let gateway = LoginGateway::start().await;
    for era in [Era::Modern, Era::Legacy] {
        let client = gateway.client("ann", era).await;
        let text = call(&client, "files_log_in").await.expect("a result");
        let address = format!("{PUBLIC}/connect/files?link=");
        assert!(text.contains(&address), "{text}");
        client.close().await;
    }
    gateway.close().await;
}

#[tokio::test]
async fn user_who_declines_is_not_asked_again() {
    let gateway = LoginGateway::start().await;
    for era in [Era::Modern, Era::Legacy] {
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&asked);
        let builder = gateway.builder("ann", era).on_url_elicitation(move |_| {
            counter.fetch_add(1, Ordering::Relaxed);
            async { Ok(ElicitResult::decline()) }
        });
        let client = within(builder.connect(&gateway.front))
            .await
            .expect("served");
        let text = call(&client, "files_log_in").await.expect("a result");
        assert!(text.contains("declined"), "{text}");
        assert_eq!(asked.load(Ordering::Relaxed), 1, "{era:?}");
        client.close().await;
    }
    gateway.close().await;
}

#[tokio::test]
async fn login_belongs_to_one_user_and_one_browser_and_works_once() {
    let gateway = LoginGateway::start().await;
    *gateway.files.account.lock().unwrap() = "annie".to_owned();
    let (browser, other) = (gateway.browser(), gateway.browser());
    let link = gateway.link("ann", "files_log_in").await;
    let bad = StatusCode::BAD_REQUEST;

    // A form works in the browser that got it.
    let page = browser.get(&link).await;
    assert_eq!(other.submit(&page).await.status, bad);
    other.get(&link).await;
    assert_eq!(other.submit(&page).await.status, bad);

    let redirect = browser.submit(&page).await;
    let authorization = redirect.location;
    let expected = format!("{}/authorize?", gateway.files_origin);
    assert!(authorization.starts_with(&expected), "{authorization}");
    assert_eq!(browser.submit(&page).await.status, bad);
    assert_eq!(browser.get(&link).await.status, bad);

    // The redirect works in the browser that started the login.
    let callback = browser.get(&authorization).await.location;
    assert!(callback.starts_with(&format!("{PUBLIC}/connect/callback/files?")));
    // The redirect URI of another upstream does not take it.
    let elsewhere = callback.replace("/callback/files?", "/callback/notes?");
    assert_eq!(browser.get(&elsewhere).await.status, bad);
    assert_eq!(other.get(&callback).await.status, bad);
    assert_eq!(gateway.browser().get(&callback).await.status, bad);
    let page = browser.get(&callback).await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.text);
    assert_eq!(browser.get(&callback).await.status, bad);

    // The browser is that of Ann now.
    let of_bob = gateway.link("bob", "files_log_in").await;
    assert_eq!(browser.get(&of_bob).await.status, StatusCode::FORBIDDEN);
    assert_eq!(other.get(&of_bob).await.status, StatusCode::OK);

    // The token is for this user and this upstream.
    let notes = gateway.link("ann", "notes_log_in").await;
    assert!(notes.contains("/connect/notes?link="), "{notes}");
    let sent = gateway.notes.authorizations.lock().unwrap().concat();
    assert!(!sent.contains("up-annie"), "{sent}");
    gateway.close().await;
}

#[tokio::test]
async fn caller_without_a_token_does_not_use_the_login_of_a_user() {
    let gateway = LoginGateway::start().await;
    gateway.log_in("ann", "ann").await;
    let client = client(&gateway.gateway).await;
    for tool in ["files_whoami", "files_log_in"] {
        let called = call(&client, tool).await;
        let error = called.expect_err("it is rejected");
        assert!(error.contains(tool), "{error}");
    }
    client.close().await;
    gateway.close().await;
}

#[tokio::test]
async fn failed_login_of_one_user_changes_nothing_for_others() {
    let gateway = LoginGateway::start().await;
    gateway.log_in("bob", "bobby").await;
    *gateway.files.account.lock().unwrap() = "eve".to_owned();
    let link = gateway.link("ann", "files_whoami").await;
    let page = gateway.browser().log_in(&link).await;
    assert_eq!(page.status, StatusCode::BAD_GATEWAY, "{}", page.text);
    assert!(page.text.contains("access_denied"), "{}", page.text);
    assert!(gateway.whoami("ann").await.contains("/connect/files"));
    assert_eq!(gateway.whoami("bob").await, "bobby");
    gateway.log_in("ann", "annie").await;
    assert_eq!(gateway.whoami("ann").await, "annie");
    gateway.close().await;
}

#[tokio::test]
async fn rejected_token_is_refreshed_once_or_dropped_for_its_user() {
    let gateway = LoginGateway::start().await;
    gateway.log_in("bob", "bob").await;
    gateway.log_in("ann", "ann").await;
    assert_eq!(gateway.whoami("ann").await, "ann");
    gateway.files.reject_all_tokens();
    let client = gateway.client("ann", Era::Modern).await;
    let calls = (0..8).map(|_| client.call_tool("files_whoami", json!({})).into_future());
    let mut running = tokio::task::JoinSet::new();
    for one in calls {
        running.spawn(one);
    }
    while let Some(called) = within(running.join_next()).await {
        let result = called.expect("no panic").expect("a result");
        assert_eq!(result.content[0].as_text(), Some("ann"));
    }
    assert_eq!(gateway.files.refreshes.load(Ordering::Relaxed), 1);

    // The session at the authorization server ends.
    gateway
        .files
        .has_ended_sessions
        .store(true, Ordering::Relaxed);
    gateway.files.reject_all_tokens();
    let text = call(&client, "files_whoami").await.expect("a result");
    assert!(text.contains("/connect/files?link="), "{text}");
    assert_eq!(gateway.whoami("bob").await, "bob");
    client.close().await;
    gateway.log_in("ann", "ann").await;
    assert_eq!(gateway.whoami("ann").await, "ann");
    gateway.close().await;
}

#[tokio::test]
async fn user_logs_out_with_an_address() {
    let gateway = LoginGateway::start().await;
    gateway.log_in("bob", "bob").await;
    gateway.log_in("ann", "ann").await;
    let link = gateway.link("ann", "files_log_in").await;
    let browser = gateway.browser();
    let page = browser.get(&link).await;
    assert!(page.text.contains("Log out"), "{}", page.text);
    let page = browser.submit(&page).await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.text);
    assert!(gateway.whoami("ann").await.contains("/connect/files?link="));
    assert_eq!(gateway.whoami("bob").await, "bob");
    gateway.close().await;
}

#[tokio::test]
async fn logins_stay_after_a_reload_and_end_with_the_address_of_their_upstream() {
    let mut gateway = LoginGateway::start().await;
    gateway.log_in("ann", "ann").await;
    let report = gateway.gateway.report().await;
    let problems = report.upstreams.iter().map(|upstream| &upstream.problem);
    assert!(problems.flatten().next().is_none(), "{report:?}");
    let limited = format!("{}\n[limits]\ncalls_at_once = 5\n", gateway.text);
    let config = parse(&gateway.scratch, &limited);
    gateway.gateway.reload(config).await.expect("it is valid");
    assert_eq!(gateway.whoami("ann").await, "ann");
    // Another server gets no token of the first one.
    let (other, other_url, serving) = upstream().await;
    gateway.serving.push(serving);
    let old_url = format!("{}/mcp", gateway.files_origin);
    let config = parse(
        &gateway.scratch,
        &gateway.text.replace(&old_url, &other_url),
    );
    gateway.gateway.reload(config).await.expect("it is valid");
    let link = gateway.link("ann", "files_log_in").await;
    assert_eq!(gateway.browser().get(&link).await.status, StatusCode::OK);
    let sent = other.authorizations.lock().unwrap().concat();
    assert!(!sent.contains("up-ann"), "{sent}");
    gateway.close().await;
}

#[tokio::test]
async fn logins_stay_after_a_restart_with_a_file() {
    let gateway = LoginGateway::start().await;
    gateway.log_in("ann", "ann").await;
    let browser = gateway.browser();
    let notes = gateway.link("ann", "notes_log_in").await;
    browser.log_in(&notes).await;
    gateway.gateway.close().await;
    let next = start(&gateway.scratch, &gateway.text).await;
    let listener = next.bind(false).await.expect("a port is free");
    let front = listener.url().to_owned();
    let serving = tokio::spawn(listener.run()).abort_handle();
    let builder = gateway.builder("ann", Era::Modern);
    let client = within(builder.connect(&front)).await.expect("it is served");
    until(async || tools(&client).await.contains(&"files_whoami".to_owned())).await;
    assert_eq!(call(&client, "files_whoami").await.as_deref(), Ok("ann"));
    client.close().await;
    // The browser is still that of Ann.
    let next_address = Browser {
        gateway: front.trim_end_matches("/mcp").to_owned(),
        cookie: Arc::clone(&browser.cookie),
    };
    let builder = gateway.builder("bob", Era::Modern);
    let client = within(builder.connect(&front)).await.expect("it is served");
    let text = call(&client, "files_log_in").await.expect("a result");
    let (_, link) = text.split_once(PUBLIC).expect("it has the address");
    let page = next_address.get(&format!("{PUBLIC}{link}")).await;
    assert_eq!(page.status, StatusCode::FORBIDDEN, "{}", page.text);
    client.close().await;
    next.close().await;
    serving.abort();
    gateway.close().await;
}
