//! Tokens that are bound to a key of the client (DPoP).

use bytes::Bytes;
use http::Request;
use http::header::{ACCEPT, AUTHORIZATION, WWW_AUTHENTICATE};
use toolwire::transport::http_client::{HttpClient as _, HyperHttp};
use toolwire_interop::Variation::{Nonces, Short};

use super::guarded::Guard;
use super::{call_until_renewed, in_both_eras, in_both_eras_with, who_calls};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bound_token_is_worth_nothing_to_others() {
    in_both_eras(&[Nonces, Short], async |scene, version| {
        let oauth = scene.oauth().with_dpop();
        let client = scene.connect(oauth.clone(), version).await;
        let caller = who_calls(&client).await;
        assert_eq!(caller.first().map(String::as_str), Some("ann"));
        let account = oauth.account(&scene.server.url).await.expect("a store");
        assert!(account.expect("somebody logged in").is_bound());

        let token = scene.server.last_token();
        for scheme in ["Bearer", "DPoP"] {
            let request = Request::get(&scene.server.url)
                .header(ACCEPT, "text/event-stream")
                .header(AUTHORIZATION, format!("{scheme} {}", token.expose()))
                .body(Bytes::new())
                .expect("it is a request");
            let answer = HyperHttp::new().send(request).await.expect("it answers");
            assert_eq!(answer.status(), 401, "{scheme}");
            let challenge = answer.headers().get(WWW_AUTHENTICATE);
            let challenge = challenge.and_then(|challenge| challenge.to_str().ok());
            let challenge = challenge.expect("there is a challenge");
            assert!(challenge.starts_with("DPoP "), "{scheme}: {challenge}");
        }

        call_until_renewed(scene, &client).await;
        let seen = scene.seen().await;
        let without_nonce = seen.iter().filter(|what| *what == "refused use_dpop_nonce");
        assert_eq!(without_nonce.count(), 1, "{seen:?}");
        assert_eq!(who_calls(&client).await, caller);
        assert_eq!(scene.browser.opened().len(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_wants_bound_tokens_gets_them() {
    in_both_eras_with(Guard::Bound, &[], async |scene, version| {
        let oauth = scene.oauth();
        let client = scene.connect(oauth.clone(), version).await;
        who_calls(&client).await;
        let account = oauth.account(&scene.server.url).await.expect("a store");
        assert!(account.expect("somebody logged in").is_bound());
        assert_eq!(scene.browser.opened().len(), 1);
    })
    .await;
}
