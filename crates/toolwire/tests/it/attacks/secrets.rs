//! What must not be seen: tokens, claims and handles in logs, inner failures in answers.

use std::fmt::Write as _;

use serde_json::json;
use toolwire_auth::documents::Secret;
use toolwire_auth::{DocumentFetcher, Introspection};

use super::house::{House, SECRET_CLAIM, SECRET_REASON};
use super::routers::{ROUTERS, VERSION};
use crate::auth::guarded::{config, options, with_token};
use crate::http::request::Request;
use crate::http::session::tool_call;
use crate::peer::call;
use crate::traces::Traces;

#[tokio::test]
async fn no_token_no_claim_and_no_handle_is_logged() {
    let (traces, _writing) = Traces::write_down();
    let mut shown = String::new();
    let mut secrets = vec![SECRET_CLAIM.to_owned(), SECRET_REASON.to_owned()];
    for router in ROUTERS {
        let house = House::open(router).await;
        let (good, foreign) = (house.token("ann"), house.token("bob"));
        let mut claims = House::claims("ann");
        claims["aud"] = json!("https://other.example.com");
        let refused = house.issuer.token(&claims);
        for entrance in house.entrances() {
            let request = || (entrance.request)(&house.ann);
            for request in [
                request(),
                with_token(request(), &foreign),
                with_token(request(), &refused),
                with_token(request(), &refused).with("Authorization", format!("Bearer {good}")),
                request()
                    .with("Authorization", format!("DPoP {good}"))
                    .with("DPoP", &*refused),
                request().with("Authorization", format!("Basic {good}")),
                with_token(request(), &good).replacing("Host", "evil.test"),
                with_token(request(), &good).with_target(format!("/mcp?access_token={good}")),
                with_token(request(), &good),
            ] {
                let reply = house.ask(&request).await;
                write!(
                    shown,
                    "{:?} {}",
                    reply.headers.get("www-authenticate"),
                    reply.text
                )
                .unwrap();
            }
        }
        let explode = house.by("ann", Request::modern(&call(7, "explode", json!({}))));
        write!(shown, "{}", house.ask(&explode).await.text).unwrap();
        write!(
            shown,
            "{:?} {:?}",
            house.endpoint.service, house.endpoint.server
        )
        .unwrap();
        // A part of a token may be worth as much as all of it.
        for token in [good, foreign, refused] {
            secrets.extend(token.split('.').skip(1).map(str::to_owned));
        }
        if house.has("stream of a session") {
            secrets.push(house.ann.session.clone());
        }
        if house.has("old stream") {
            let (_, id) = house.ann.address.split_once('=').unwrap();
            secrets.push(id.to_owned());
        }
    }
    let traced = traces.text();
    assert!(traced.contains("answered"), "something was traced");
    for secret in &secrets {
        assert!(!traced.contains(secret), "{secret} is traced");
        assert!(!shown.contains(secret), "{secret} is shown");
    }
}

#[test]
fn secrets_of_the_configuration_do_not_print() {
    let secret = Secret::new("hidden-password");
    let fetcher = DocumentFetcher::new();
    let asking = Introspection::new("https://auth.example.com/", "app", &secret, fetcher).unwrap();
    let mut shown = format!("{asking:?}");
    let config = config().with_verifier(asking);
    write!(shown, "{config:?}").unwrap();
    write!(shown, "{:?}", options(config)).unwrap();
    assert!(shown.contains("auth.example.com"));
    assert!(!shown.contains("hidden-password"), "{shown}");
}

#[tokio::test]
async fn inner_failures_are_not_told() {
    for router in ROUTERS {
        let house = House::open(router).await;
        let mut calls = vec![Request::modern(&call(7, "explode", json!({})))];
        let legacy = tool_call(7, "explode", json!({}));
        if house.has("call in a session") {
            calls.push(Request::post(&legacy).in_session(&house.ann.session, VERSION));
        }
        for call in calls {
            let reply = house.ask(&house.by("ann", call)).await;
            let name = router.name;
            assert!(reply.text.contains("-32603"), "{name}: {}", reply.text);
            for detail in [SECRET_REASON, "house.rs", "panicked", "/src/", "backtrace"] {
                assert!(!reply.text.contains(detail), "{name}: {}", reply.text);
            }
        }
    }
}
