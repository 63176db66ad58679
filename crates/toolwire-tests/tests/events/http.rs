//! Streams of events over HTTP.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};
use toolwire::transport::http::{
    AuthorizationError, Authorizer, HttpLimits, HttpLoad, HttpOptions,
};
use toolwire::{BoxFuture, ScopeSet, TokenInfo};
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::http::events::Events;
use toolwire_tests::http::request::Request;
use toolwire_tests::peer::{call, plain, server};

use crate::sources::{SUBSCRIPTION, desk, emit, incidents, poll, stream};

/// An authorizer whose access tokens are the names of the users. The token of `ann` grants the scope `incidents`.
#[derive(Debug)]
struct NamedUsers;

impl Authorizer for NamedUsers {
    fn authorize<'a>(
        &'a self,
        head: &'a http::request::Parts,
    ) -> BoxFuture<'a, Result<TokenInfo, AuthorizationError>> {
        let field = head.headers.get("authorization");
        let user = field.and_then(|field| field.to_str().ok()?.strip_prefix("Bearer "));
        let token = user.map(|user| {
            let token = TokenInfo::verified().with_subject(user);
            match user {
                "ann" => token.with_scopes(["incidents"]),
                "soon" => token
                    .with_scopes(["incidents"])
                    .with_expires_at(SystemTime::now() + Duration::from_millis(300)),
                _ => token,
            }
        });
        let missing = || AuthorizationError::new(StatusCode::UNAUTHORIZED, "no token");
        Box::pin(std::future::ready(token.ok_or_else(missing)))
    }

    fn insufficient_scope(&self, _: &ScopeSet, _: &TokenInfo) -> AuthorizationError {
        AuthorizationError::new(StatusCode::FORBIDDEN, "not permitted")
    }

    fn document(&self, _: &str) -> Option<Bytes> {
        None
    }
}

fn request_of(user: &str, message: &Value) -> Request {
    Request::modern(message).with("Authorization", format!("Bearer {user}"))
}

async fn next(events: &mut Events, notification: &str) -> Value {
    let mut message = events.message().await;
    let method = format!("notifications/events/{notification}");
    assert_eq!(message["method"], method, "{message}");
    assert_eq!(message["params"]["_meta"][SUBSCRIPTION], "s", "{message}");
    message["params"].take()
}

#[tokio::test]
async fn stream_is_not_a_running_request_and_ends_with_the_connection() {
    let (server, incidents) = desk();
    let server = server.tool(plain("hello", |_| async { "hello" }));
    let mut limits = HttpLimits::default();
    limits.requests_in_flight = 1;
    limits.open_streams = 1;
    let endpoint = Endpoint::serve_within(&server, limits).await;
    let opening = Request::modern(&stream("s", json!({})));
    let mut events = endpoint.open(&opening).await;
    next(&mut events, "active").await;
    let mut expected = HttpLoad::default();
    expected.streams = 1;
    endpoint.wait_for_load(expected).await;
    emit(&incidents, "a", 1);
    assert_eq!(next(&mut events, "event").await["eventId"], "a");
    let result = endpoint.call(call(1, "hello", json!({}))).await;
    assert_eq!(result["result"]["content"][0]["text"], "hello");
    let rejected = endpoint.request(&opening).await.message();
    assert_eq!(rejected["error"]["code"], -32025, "{rejected}");
    assert_eq!(rejected["error"]["data"]["limit"], "streams");
    events.disconnect();
    endpoint.wait_until_idle().await;
    // An error before anything opens is an ordinary response.
    let unknown = endpoint.call(stream("s", json!({"name": "unknown"}))).await;
    assert_eq!(unknown["error"]["code"], -32023, "{unknown}");
}

#[tokio::test]
async fn shutdown_ends_a_stream_with_its_result() {
    let (server, _incidents) = desk();
    let endpoint = Endpoint::serve(&server).await;
    let mut events = endpoint
        .open(&Request::modern(&stream("s", json!({}))))
        .await;
    next(&mut events, "active").await;
    let ended = tokio::spawn(endpoint.end());
    let last = events.message().await;
    assert_eq!(last["id"], "s", "{last}");
    assert_eq!(last["result"]["_meta"][SUBSCRIPTION], "s", "{last}");
    ended.await.unwrap();
}

#[tokio::test]
async fn scopes_and_cursors_belong_to_the_caller() {
    let incidents = incidents().requires_scopes(["incidents"]);
    let open = crate::sources::incidents();
    let server = server()
        .event("incident.created", incidents.clone())
        .event("incident.closed", open.clone());
    let options = HttpOptions::new().with_authorizer(NamedUsers);
    let endpoint = Endpoint::serve_with(&server, options).await;
    for message in [poll(1, json!({})), stream("s", json!({}))] {
        let response = endpoint.request(&request_of("bob", &message)).await;
        assert_eq!(response.status(), 403, "{}", response.text());
        assert!(!response.text().contains("active"));
    }
    let poll_as = async |user: &str, cursor: &Value| {
        let params = json!({"name": "incident.closed", "cursor": cursor});
        let response = endpoint.request(&request_of(user, &poll(1, params))).await;
        let mut message = response.message();
        message["result"].take()
    };
    let start = poll_as("ann", &Value::Null).await;
    emit(&open, "a", 1);
    let own = poll_as("ann", &start["cursor"]).await;
    assert_eq!(own["events"][0]["eventId"], "a", "{own}");
    // The cursor of another caller is the same as an unknown one.
    let other = poll_as("bob", &start["cursor"]).await;
    let unknown = poll_as("bob", &json!("unknown")).await;
    assert_eq!(other, unknown);
    assert_eq!(other["truncated"], true, "{other}");
}

#[tokio::test]
async fn expired_token_ends_a_stream_with_its_result() {
    let incidents = incidents().requires_scopes(["incidents"]);
    let server = server().event("incident.created", incidents);
    let options = HttpOptions::new().with_authorizer(NamedUsers);
    let endpoint = Endpoint::serve_with(&server, options).await;
    let message = stream("s", json!({}));
    let mut events = endpoint.open(&request_of("soon", &message)).await;
    next(&mut events, "active").await;
    let last = events.message().await;
    assert_eq!(last["result"]["_meta"][SUBSCRIPTION], "s", "{last}");
}
