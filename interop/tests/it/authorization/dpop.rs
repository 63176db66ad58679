//! Tokens that are bound to a key of the client (DPoP).

use bytes::Bytes;
use http::Request;
use http::header::{ACCEPT, AUTHORIZATION, WWW_AUTHENTICATE};
use toolwire::transport::http_client::{HttpClient as _, HyperClient};
use toolwire_interop::Variation::{Nonces, Short};

use super::protected_server::TokenKind;
use super::{call_until_renewed, in_both_eras, in_both_eras_with, who_calls};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bound_token_is_rejected_without_a_proof() {
    in_both_eras(&[Nonces, Short], async |fixture, version| {
        let oauth = fixture.oauth().with_dpop();
        let client = fixture.connect(oauth.clone(), version).await;
        let caller = who_calls(&client).await;
        assert_eq!(caller.first().map(String::as_str), Some("ann"));
        let account = oauth.account(&fixture.server.url).await.expect("a store");
        assert!(account.expect("there is a login").is_bound());

        let token = fixture.server.last_token();
        for scheme in ["Bearer", "DPoP"] {
            let request = Request::get(&fixture.server.url)
                .header(ACCEPT, "text/event-stream")
                .header(AUTHORIZATION, format!("{scheme} {}", token.expose()))
                .body(Bytes::new())
                .expect("the request is valid");
            let response = HyperClient::new()
                .send(request)
                .await
                .expect("the server responds");
            assert_eq!(response.status(), 401, "{scheme}");
            let challenge = response.headers().get(WWW_AUTHENTICATE);
            let challenge = challenge.and_then(|challenge| challenge.to_str().ok());
            let challenge = challenge.expect("the response has a challenge");
            assert!(challenge.starts_with("DPoP "), "{scheme}: {challenge}");
        }

        call_until_renewed(fixture, &client).await;
        let events = fixture.take_events().await;
        let without_nonce = events
            .iter()
            .filter(|event| *event == "rejected use_dpop_nonce");
        assert_eq!(without_nonce.count(), 1, "{events:?}");
        assert_eq!(who_calls(&client).await, caller);
        assert_eq!(fixture.browser.opened().len(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_that_requires_bound_tokens_gets_them() {
    in_both_eras_with(TokenKind::Bound, &[], async |fixture, version| {
        let oauth = fixture.oauth();
        let client = fixture.connect(oauth.clone(), version).await;
        who_calls(&client).await;
        let account = oauth.account(&fixture.server.url).await.expect("a store");
        assert!(account.expect("there is a login").is_bound());
        assert_eq!(fixture.browser.opened().len(), 1);
    })
    .await;
}
