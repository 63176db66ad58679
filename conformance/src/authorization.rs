//! Runs the suite as a client of our authorization server, with a user who consents.

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;

use serde_json::{Value, json};

use crate::plain_http::{Post, send};
use crate::user::User;
use crate::{AuthorizationRun, Fixture, Problem, Suite, Verdict};

/// Starts the authorization server `binary` and runs all scenarios of a revision with it. `results` is emptied first.
///
/// # Errors
/// Returns an error if the suite is not installed, or if the suite or the server cannot run. A server that fails checks
/// is not an error, but a verdict with problems.
pub async fn check_authorization(
    suite: &Suite,
    binary: &Path,
    spec_version: &str,
    results: &Path,
) -> Result<Verdict, Problem> {
    let expected = suite.authorization_scenarios(spec_version).await?;
    let server = Fixture::start(binary).await?;
    let issuer = server.url();
    let run = AuthorizationRun {
        issuer,
        client_id: &register(issuer).await?,
        resource: &format!("{issuer}/mcp"),
        port: free_port()?,
    };
    let consent = async |url: &str| User::default().log_in(url).await;
    let outcomes = suite
        .run_authorization(&run, spec_version, results, consent)
        .await?;
    Ok(Verdict::of(spec_version, &expected, &outcomes))
}

/// Registers the suite as a public client. The redirect URI has no port: a loopback redirect permits any port.
async fn register(issuer: &str) -> Result<String, Problem> {
    let metadata = json!({
        "client_name": "conformance", "redirect_uris": ["http://127.0.0.1/callback"],
        "token_endpoint_auth_method": "none",
    });
    let post = Post {
        content_type: "application/json",
        body: &metadata.to_string(),
    };
    let response = send(&format!("{issuer}/register"), "", Some(post)).await?;
    let registered: Option<Value> = serde_json::from_str(response.body()).ok();
    let id = registered
        .as_ref()
        .and_then(|members| members.get("client_id"));
    let id = id.and_then(Value::as_str).map(str::to_owned);
    id.ok_or_else(|| Problem::new(format!("the suite cannot be registered: {response}")))
}

/// Returns a port that no process listens on now. The suite needs a port number.
fn free_port() -> Result<u16, Problem> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let address = listener.and_then(|listener| listener.local_addr());
    let address = address.map_err(|error| Problem::new(format!("no port is free: {error}")))?;
    Ok(address.port())
}
