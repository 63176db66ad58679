//! A node of the fleet: small calls, streamed calls, input requests and changes.
//!
//! It listens on a free port, prints its URL, and serves until it is killed. Without an argument it stores everything in
//! memory. With the URL of a Redis or Valkey it shares everything with the other nodes of this engine. A second argument is its
//! own public URL. Then it requires access tokens with DPoP proofs, and shares only used ones.

#![expect(deprecated, reason = "deprecated features are measured, too")]

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use toolwire::transport::http::{HttpListener, HttpOptions};
use toolwire::{BoxFuture, KeyRing, RequestContext, Server, StateKey, ToolError, tool};
use toolwire_auth::documents::{AccessTokenClaims, Confirmation, Secret};
use toolwire_auth::{
    ResourceServer, ResourceServerConfig, ResourceServerConfigError, TokenError, TokenPurpose,
    TokenVerifier,
};
use toolwire_redis::{Redis, RedisOptions};

/// Repeats a text.
#[tool]
fn echo(text: String) -> String {
    text
}

/// Sends this many progress notifications at once.
#[tool]
fn progress(ctx: &RequestContext, n: u32) -> &'static str {
    for step in 1..=n {
        ctx.report_steps(i64::from(step), i64::from(n), None);
    }
    "done"
}

/// Sends this many progress notifications one after the other.
#[tool]
async fn steps(ctx: &RequestContext, n: u32) -> &'static str {
    for step in 1..=n {
        ctx.report_steps(i64::from(step), i64::from(n), None);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    "done"
}

/// Sends one progress notification, and never ends.
#[tool]
async fn wait(ctx: &RequestContext) -> &'static str {
    ctx.report_steps(1, 2, None);
    std::future::pending().await
}

/// Asks the user.
#[tool]
async fn ask(ctx: &RequestContext) -> Result<&'static str, ToolError> {
    let agreed = ctx.confirm("agreed", "Do you agree?").await?;
    Ok(if agreed { "agreed" } else { "not agreed" })
}

/// Notifies clients that the list of tools has changed.
#[tool]
fn change(ctx: &RequestContext) -> &'static str {
    ctx.server().tools_changed();
    "changed"
}

/// Accepts the thumbprint of a key as an access token that is bound to this key.
#[derive(Debug)]
struct Thumbprints;

impl TokenVerifier for Thumbprints {
    fn verify<'a>(
        &'a self,
        token: &'a Secret,
        purpose: &'a TokenPurpose,
    ) -> BoxFuture<'a, Result<AccessTokenClaims, TokenError>> {
        let mut claims = AccessTokenClaims::default();
        claims.iss = purpose.issuers.first().cloned();
        claims.aud = Some(purpose.resource.as_str().into());
        claims.sub = Some("bench".to_owned());
        claims.exp = Some(u64::MAX);
        claims.cnf = Some(Confirmation::to_key(token.expose()));
        Box::pin(std::future::ready(Ok(claims)))
    }
}

fn authorizer(redis: &Redis, resource: &str) -> Result<ResourceServer, ResourceServerConfigError> {
    ResourceServerConfig::new(resource, ["https://auth.example.com"])
        .with_verifier(Thumbprints)
        .with_nonce_store(redis.nonces())
        .with_dpop_required()
        .build()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut server = Server::new("fleet", "1.0.0")
        .with_logging()
        .tool(echo)
        .tool(progress)
        .tool(steps)
        .tool(wait)
        .tool(ask)
        .tool(change);
    let mut options = HttpOptions::new();
    let mut arguments = std::env::args().skip(1);
    if let Some(engine) = arguments.next() {
        let redis = Redis::connect(&engine, RedisOptions::new("bench")).await?;
        let key = StateKey::new(redis.shared_key().await?);
        server = server
            .with_request_state_keys(KeyRing::new(key))
            .with_single_use_request_state(redis.nonces());
        options = match arguments.next() {
            Some(resource) => options.with_authorizer(authorizer(&redis, &resource)?),
            None => options
                .with_session_store(Arc::new(redis.sessions()))
                .with_event_log(Arc::new(redis.event_log()))
                .with_bus(Arc::new(redis.bus()))
                .with_mailboxes(Arc::new(redis.mailboxes())),
        };
    }
    let listener = HttpListener::bind(server, "127.0.0.1:0", options).await?;
    writeln!(std::io::stdout(), "{}", listener.url())?;
    listener.run().await?;
    Ok(())
}
