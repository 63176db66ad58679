//! The login of a server that `toolwire inspect` shows.

use serde_json::{Value, json};

use crate::accounts::Fixture;
use crate::accounts::authorization_server::open_page;
use crate::inspect::InspectCommand;
use crate::process::within;

#[tokio::test]
async fn page_shows_the_login_and_logs_out_and_in() {
    let fixture = Fixture::new("inspect-login").await;
    fixture.log_in(&[]).await.ok();
    let words = [&InspectCommand::WORDS[..], &["URL"]].concat();
    let command = InspectCommand::start_command(fixture.command(&words)).await;
    let shown = command.get("/api/account").await;
    assert_eq!(shown["kind"], "login");
    assert_eq!(shown["account"]["server"], fixture.server.url());
    assert!(shown["account"]["expiresAt"].is_number(), "{shown}");
    for secret in ["access-", "refresh-"] {
        assert!(!shown.to_string().contains(secret), "{shown}");
    }
    let fail = async |expired: bool| {
        let change = json!({"faults": {"expiredToken": expired}});
        command
            .request("PATCH", "/api/settings", Some(&change))
            .await;
        let body = json!({"method": "tools/list", "wait": true});
        let (_, outcome) = command.request("POST", "/api/calls", Some(&body)).await;
        outcome["failed"].clone()
    };
    assert_eq!(fail(true).await, true);
    assert_eq!(fail(false).await, false);
    let set = async |is_logged_in: bool| {
        let body = json!({ "loggedIn": is_logged_in });
        command.request("POST", "/api/account", Some(&body)).await
    };
    let (status, shown) = set(false).await;
    assert_eq!((status, &shown["account"]), (200, &Value::Null), "{shown}");
    let log_in = async {
        // The fake browser records the address.
        let url = loop {
            let opened = fixture.opened();
            if let Some(url) = opened.lines().next() {
                break url.to_owned();
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        };
        let redirect = open_page(&url).await;
        open_page(&redirect).await;
    };
    let ((status, shown), ()) = within(async { tokio::join!(set(true), log_in) }).await;
    assert_eq!(status, 200, "{shown}");
    assert_eq!(shown["account"]["server"], fixture.server.url());
}
