//! `toolwire doctor` for servers that require a login.

use crate::accounts::authorization_server::AuthorizationServer;
use crate::accounts::protected_server::ProtectedServer;
use crate::doctor::check_failed;

#[tokio::test]
async fn missing_token_and_rejected_token_fail_with_different_details() {
    let issuer = AuthorizationServer::start().await;
    let protected = ProtectedServer::start(&issuer).await;
    let detail = check_failed(&[protected.url()], "token", 6).await;
    assert!(detail.contains("there is no login"), "{detail}");
    let header = ["--header", "Authorization: Bearer wrong"];
    let detail = check_failed(&[&[protected.url()], &header[..]].concat(), "token", 6).await;
    assert!(detail.contains("of the command line"), "{detail}");
}
