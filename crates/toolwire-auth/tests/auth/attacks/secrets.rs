//! Secrets: tokens, claims and handles in logs, and internal errors in responses.

use std::fmt::Write as _;

use serde_json::json;
use toolwire_auth::documents::Secret;
use toolwire_auth::{DocumentFetcher, Introspection};
use toolwire_tests::http::request::Request;
use toolwire_tests::http::session::tool_call;
use toolwire_tests::peer::call;
use toolwire_tests::traces::Traces;

use super::fixture::{AttackFixture, SECRET_CLAIM, SECRET_REASON};
use super::routers::{ROUTERS, VERSION};
use crate::resource::protected_server::{config, options, with_token};

#[tokio::test]
async fn tokens_claims_and_handles_are_not_logged() {
    let (traces, _guard) = Traces::record();
    let mut output = String::new();
    let mut secrets = vec![SECRET_CLAIM.to_owned(), SECRET_REASON.to_owned()];
    for router in ROUTERS {
        let fixture = AttackFixture::open(router).await;
        let (valid, of_other_user) = (fixture.token("ann"), fixture.token("bob"));
        let mut claims = AttackFixture::claims("ann");
        claims["aud"] = json!("https://other.example.com");
        let wrong_audience = fixture.issuer.token(&claims);
        for operation in fixture.operations() {
            let request = || (operation.request)(&fixture.ann);
            for request in [
                request(),
                with_token(request(), &of_other_user),
                with_token(request(), &wrong_audience),
                with_token(request(), &wrong_audience)
                    .with("Authorization", format!("Bearer {valid}")),
                request()
                    .with("Authorization", format!("DPoP {valid}"))
                    .with("DPoP", &*wrong_audience),
                request().with("Authorization", format!("Basic {valid}")),
                with_token(request(), &valid).replacing("Host", "evil.test"),
                with_token(request(), &valid).with_target(format!("/mcp?access_token={valid}")),
                with_token(request(), &valid),
            ] {
                let response = fixture.response_to(&request).await;
                write!(
                    output,
                    "{:?} {}",
                    response.headers.get("www-authenticate"),
                    response.text
                )
                .unwrap();
            }
        }
        let call_explode =
            fixture.with_token_of("ann", Request::modern(&call(7, "explode", json!({}))));
        write!(output, "{}", fixture.response_to(&call_explode).await.text).unwrap();
        write!(
            output,
            "{:?} {:?}",
            fixture.endpoint.service, fixture.endpoint.server
        )
        .unwrap();
        // The claims and the signature of a token are secrets on their own.
        for token in [valid, of_other_user, wrong_audience] {
            secrets.extend(token.split('.').skip(1).map(str::to_owned));
        }
        if fixture.has("stream of a session") {
            secrets.push(fixture.ann.session.clone());
        }
        if fixture.has("HTTP+SSE stream") {
            let (_, id) = fixture.ann.address.split_once('=').unwrap();
            secrets.push(id.to_owned());
        }
    }
    let traced = traces.text();
    assert!(traced.contains("status="), "no response was traced");
    for secret in &secrets {
        assert!(!traced.contains(secret), "{secret} is traced");
        assert!(!output.contains(secret), "{secret} is in the output");
    }
}

#[test]
fn debug_output_of_the_configuration_contains_no_secret() {
    let secret = Secret::new("hidden-password");
    let fetcher = DocumentFetcher::new();
    let introspection =
        Introspection::new("https://auth.example.com/", "app", &secret, fetcher).unwrap();
    let mut output = format!("{introspection:?}");
    let config = config().with_verifier(introspection);
    write!(output, "{config:?}").unwrap();
    write!(output, "{:?}", options(config)).unwrap();
    assert!(output.contains("auth.example.com"));
    assert!(!output.contains("hidden-password"), "{output}");
}

#[tokio::test]
async fn panic_message_of_a_handler_is_not_sent() {
    for router in ROUTERS {
        let fixture = AttackFixture::open(router).await;
        let mut calls = vec![Request::modern(&call(7, "explode", json!({})))];
        let legacy = tool_call(7, "explode", json!({}));
        if fixture.has("call in a session") {
            calls.push(Request::post(&legacy).in_session(&fixture.ann.session, VERSION));
        }
        for call in calls {
            let response = fixture
                .response_to(&fixture.with_token_of("ann", call))
                .await;
            let name = router.name;
            assert!(
                response.text.contains("-32603"),
                "{name}: {}",
                response.text
            );
            for detail in [
                SECRET_REASON,
                "fixture.rs",
                "panicked",
                "/src/",
                "backtrace",
            ] {
                assert!(!response.text.contains(detail), "{name}: {}", response.text);
            }
        }
    }
}
