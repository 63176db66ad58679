//! Addresses and pages, without an upstream.

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use toolwire::TokenInfo;
use toolwire::relay::Credentials as _;

use super::*;
use crate::config::GatewayConfig;
use crate::connect::credentials::UserCredentials;

const CONFIG: &str = "
    public_url = \"https://tools.example.com/mcp\"
    [auth]
    bearer_file = \"tokens\"
    [upstream.files]
    url = \"https://files.example.com/mcp\"
    credentials = { login = {} }
    [upstream.notes]
    url = \"https://notes.example.com/mcp\"
    credentials = { login = { scopes = [\"read\"] } }
";

fn config(text: &str) -> GatewayConfig {
    let config = GatewayConfig::parse("gateway.toml", text, &|_| None);
    config.unwrap_or_else(|error| panic!("{error}"))
}

fn logins() -> Arc<UserLogins> {
    let logins = UserLogins::new().unwrap();
    logins.configure(&config(CONFIG));
    Arc::new(logins)
}

fn user(name: &str) -> Principal {
    Principal::of(&TokenInfo::verified().with_subject(name))
}

/// Opens a page without cookies.
async fn open(logins: &Arc<UserLogins>, address: &str) -> Response<Bytes> {
    let path = address.strip_prefix("https://tools.example.com").unwrap();
    let request = Request::get(path).body(Bytes::new()).unwrap();
    logins.serve(&request).await
}

#[tokio::test]
async fn address_is_for_one_upstream_and_expires() {
    let logins = logins();
    let files = logins.upstream("files").unwrap();
    let address = logins.address(&user("ann"), &files);
    assert_eq!(open(&logins, &address).await.status(), StatusCode::OK);
    let elsewhere = address.replace("/connect/files", "/connect/notes");
    assert_eq!(open(&logins, &elsewhere).await.status(), 400);
    let almost = now() - ADDRESS_TTL + Duration::from_secs(30);
    let address = logins.address_at(&user("ann"), &files, almost, false);
    assert_eq!(open(&logins, &address).await.status(), StatusCode::OK);
    let address = logins.address_at(&user("ann"), &files, now() - ADDRESS_TTL, false);
    let expired = open(&logins, &address).await;
    assert_eq!(expired.status(), 400);
    // An expired address and an unknown one look the same.
    let unknown = open(&logins, "https://tools.example.com/connect/files?link=a").await;
    assert_eq!(expired.body(), unknown.body());
}

#[tokio::test]
async fn caller_without_a_name_gets_no_valid_address() {
    let logins = logins();
    let files = logins.upstream("files").unwrap();
    let unnamed = Principal::of(&TokenInfo::verified());
    let address = logins.address(&unnamed, &files);
    assert_eq!(address, "https://tools.example.com/connect/files");
    assert_eq!(open(&logins, &address).await.status(), 400);
    // No call waits for the login.
    let credentials = UserCredentials::new(logins, files);
    let logged_in = credentials.logged_in(&unnamed, "files");
    let waited = tokio::time::timeout(Duration::from_secs(60), logged_in).await;
    assert!(waited.is_ok());
}

#[tokio::test]
async fn address_of_a_removed_upstream_does_not_work() {
    let logins = logins();
    let files = logins.upstream("files").unwrap();
    let address = logins.address(&user("ann"), &files);
    let other = CONFIG.replace("https://files.example.com", "https://other.example.com");
    logins.configure(&config(&other));
    assert_eq!(open(&logins, &address).await.status(), 400);
    assert!(logins.public_route("/connect/files").is_some());
    assert!(logins.public_route("/connect/none").is_none());
    assert!(logins.public_route("/connect/none/log-in").is_none());
}

#[test]
fn settings_without_which_users_cannot_log_in_are_errors() {
    let check = |text: &str, part: &str| {
        let config = config(text);
        let error = check_user_logins(&config, &config).unwrap_err();
        assert!(error.contains(part), "{error}");
    };
    let valid = config(CONFIG);
    assert_eq!(check_user_logins(&valid, &valid), Ok(()));
    check(
        &CONFIG.replace("[auth]\n    bearer_file = \"tokens\"", ""),
        "[auth]",
    );
    let private = CONFIG.replace("public_url", "#");
    check(&private, "public_url");
    // Others could read cookies and codes.
    let audience = |url: &str| {
        let auth = format!("issuer = \"https://id.example.com\"\naudience = {url:?}");
        private.replace("bearer_file = \"tokens\"", &auth)
    };
    check(&audience("http://tools.example.com/mcp"), "public_url");
    let secure = config(&audience("https://tools.example.com/mcp"));
    assert_eq!(check_user_logins(&secure, &secure), Ok(()));
    let required = CONFIG.replace("{ login = {} }", "{ login = {} }\nrequired = true");
    check(&required, "required");
    let pinned = CONFIG.replace("{ login = {} }", "{ login = {} }\npin = \"ask\"");
    check(&pinned, "pin");
    check(
        &CONFIG.replace("upstream.files", "upstream.callback"),
        "callback",
    );
}
