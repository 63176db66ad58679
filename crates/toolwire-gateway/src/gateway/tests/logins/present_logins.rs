//! Logins that lack rights, end during a call, or stay without their upstream.

use toolwire::types::{CompletionArgument, PromptReference};
use toolwire_auth::proxy::user_page::decode_form;

use super::*;

#[tokio::test]
async fn login_for_the_scope_of_one_tool_keeps_that_of_another() {
    let gateway = LoginGateway::start().await;
    let needed = [("whoami", "a"), ("rename", "b")];
    gateway.files.needed.lock().unwrap().extend(needed);
    let browser = gateway.browser();
    gateway.log_in("ann", "ann").await;
    let client = gateway.client_with("ann", Era::Modern, &browser).await;
    // Each tool needs a login once, and the call goes on by itself.
    assert_eq!(call(&client, "files_whoami").await.as_deref(), Ok("ann"));
    assert_eq!(
        call(&client, "files_rename").await.as_deref(),
        Ok("renamed")
    );
    let logins = || gateway.files.queries.lock().unwrap().len();
    assert_eq!(logins(), 3);
    assert_eq!(call(&client, "files_whoami").await.as_deref(), Ok("ann"));
    assert_eq!(logins(), 3);
    let queries = gateway.files.queries.lock().unwrap().clone();
    let last = decode_form(queries.last().unwrap()).unwrap();
    let scope = last.into_iter().find(|(name, _)| name == "scope");
    let scope = scope.map(|(_, scope)| scope).unwrap_or_default();
    for expected in ["read", "a", "b"] {
        assert!(scope.split(' ').any(|own| own == expected), "{scope}");
    }
    client.close().await;

    // A user who does not log in again keeps the login for the other tool.
    let needed = [("whoami", "a"), ("rename", "c")];
    gateway.files.needed.lock().unwrap().extend(needed);
    let client = gateway.client("ann", Era::Modern).await;
    let text = call(&client, "files_rename").await.expect("a result");
    assert!(text.contains("/connect/files?link="), "{text}");
    assert_eq!(call(&client, "files_whoami").await.as_deref(), Ok("ann"));
    client.close().await;
    gateway.close().await;
}

#[tokio::test]
async fn call_whose_login_ends_during_an_input_request_is_not_started_again() {
    let gateway = LoginGateway::start().await;
    gateway.log_in("ann", "ann").await;
    let files = Arc::clone(&gateway.files);
    let (asked, counter) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (forms, urls) = (Arc::clone(&asked), Arc::clone(&counter));
    let builder = gateway.builder("ann", Era::Modern);
    let builder = builder.on_url_elicitation(move |_| {
        urls.fetch_add(1, Ordering::Relaxed);
        async { Ok(ElicitResult::accept()) }
    });
    let builder = builder.on_elicitation(move |_| {
        forms.fetch_add(1, Ordering::Relaxed);
        files.has_ended_sessions.store(true, Ordering::Relaxed);
        files.reject_all_tokens();
        async { Ok(ElicitResult::accept()) }
    });
    let client = within(builder.connect(&gateway.front))
        .await
        .expect("served");
    let text = call(&client, "files_confirm").await.expect("a result");
    assert!(text.contains("/connect/files?link="), "{text}");
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    assert_eq!(counter.load(Ordering::Relaxed), 0);
    client.close().await;
    gateway.close().await;
}

#[tokio::test]
async fn completion_without_a_login_shows_no_dialog() {
    let gateway = LoginGateway::start().await;
    gateway.log_in("bob", "bob").await;
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let builder = gateway.builder("ann", Era::Legacy);
    let builder = builder.on_url_elicitation(move |_| {
        counter.fetch_add(1, Ordering::Relaxed);
        async { Ok(ElicitResult::decline()) }
    });
    let client = within(builder.connect(&gateway.front))
        .await
        .expect("served");
    let reference = PromptReference::new("files_greet");
    let argument = CompletionArgument::new("name", "A");
    let completed = within(client.complete(reference, argument).into_future()).await;
    let error = completed.expect_err("there is no login").to_string();
    assert!(error.contains("/connect/files?link="), "{error}");
    assert_eq!(asked.load(Ordering::Relaxed), 0);
    let called = call(&client, "files_whoami").await.expect("a result");
    assert!(called.contains("declined"), "{called}");
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    client.close().await;
    gateway.close().await;
}

#[tokio::test]
async fn login_stays_if_its_upstream_cannot_be_replaced() {
    let mut gateway = LoginGateway::start().await;
    gateway.log_in("ann", "ann").await;
    let (_, other_url, serving) = upstream().await;
    gateway.serving.push(serving);
    // Another part of the program removed the mount.
    assert!(gateway.gateway.server().remove_mount("files"));
    let old_url = format!("{}/mcp", gateway.files_origin);
    let text = gateway.text.replace(&old_url, &other_url);
    let config = parse(&gateway.scratch, &text);
    let error = gateway.gateway.reload(config).await.unwrap_err();
    assert!(matches!(error, crate::GatewayError::Partial(_)), "{error}");
    let builder = gateway.builder("ann", Era::Modern);
    let alone = format!("{}/files", gateway.front);
    let client = within(builder.connect(&alone)).await.expect("it is served");
    assert_eq!(call(&client, "whoami").await.as_deref(), Ok("ann"));
    client.close().await;
    gateway.close().await;
}
