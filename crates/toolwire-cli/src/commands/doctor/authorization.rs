//! The steps of a server that requires authorization: its metadata, and the token.

use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::{Request, StatusCode, Uri};
use serde::Deserialize;
use tokio::time::timeout;
use toolwire::transport::http_client::{HttpClient, HyperClient};

use crate::certificates;
use crate::commands::doctor::steps::Steps;
use crate::connection_arguments::TlsOptions;
use crate::failure::{Exit, Failure};
use crate::target::Endpoint;

/// The path of the metadata of a protected resource (RFC 9728).
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// The longest metadata that is read, in bytes.
const MAX_METADATA_BYTES: usize = 64 * 1024;

/// The part of the metadata that a login needs.
#[derive(Debug, Deserialize)]
struct ResourceMetadata {
    #[serde(default)]
    authorization_servers: Vec<String>,
}

/// Checks why the server rejected the credentials. `rejection` is the failure of the connection.
pub(super) async fn check_authorization(
    endpoint: &Endpoint,
    uri: &Uri,
    tls: &TlsOptions,
    limit: Duration,
    rejection: &Failure,
    steps: &mut Steps,
) -> Result<(), Failure> {
    let begun = Instant::now();
    let client = certificates::another_http_client(tls)?.unwrap_or_else(HyperClient::new);
    let found = find_metadata(&client, uri, limit).await;
    let url = &endpoint.url;
    match &found {
        Ok(issuer) => steps.passed("metadata", begun, format!("logins are at {issuer}")),
        Err(problem) => {
            let failure = Failure::new(Exit::Unauthorized, problem);
            let remedy = "ask the operator for a token, and pass it with --bearer-env VARIABLE";
            steps.failed("metadata", begun, &failure, remedy);
        }
    }
    let (problem, remedy) = if endpoint.has_credentials() {
        let remedy = "pass another token with --bearer-env VARIABLE".to_owned();
        (
            "the server rejected the credentials of the command line",
            remedy,
        )
    } else if found.is_ok() {
        let remedy = format!("log in with: toolwire login {url}");
        ("there is no login that the server accepts", remedy)
    } else {
        let remedy = "pass a token with --bearer-env VARIABLE".to_owned();
        ("no token was sent", remedy)
    };
    let message = format!("{problem} ({})", rejection.message());
    let failure = Failure::new(Exit::Unauthorized, message).with_advice(remedy);
    steps.failed("token", Instant::now(), &failure, "");
    Ok(())
}

/// Returns the first authorization server of the metadata. Only addresses at the server itself are fetched.
async fn find_metadata(client: &HyperClient, uri: &Uri, limit: Duration) -> Result<String, String> {
    let path = uri.path().trim_end_matches('/');
    let mut problem = String::new();
    for path in [format!("{WELL_KNOWN}{path}"), WELL_KNOWN.to_owned()] {
        let mut parts = uri.clone().into_parts();
        parts.path_and_query = path.parse().ok();
        let Ok(metadata) = Uri::from_parts(parts) else {
            continue;
        };
        let fetched = timeout(limit, fetch(client, metadata)).await;
        match fetched.unwrap_or_else(|_| Err("there is no response in time".to_owned())) {
            Ok(metadata) => match metadata.authorization_servers.into_iter().next() {
                Some(issuer) => return Ok(issuer),
                None => problem = format!("{path} names no authorization server"),
            },
            Err(error) => problem = format!("{path}: {error}"),
        }
    }
    Err(format!(
        "the server requires authorization, but does not say where to log in ({problem})"
    ))
}

async fn fetch(client: &HyperClient, uri: Uri) -> Result<ResourceMetadata, String> {
    let mut request = Request::new(Bytes::new());
    *request.uri_mut() = uri;
    let response = client.send(request).await;
    let response = response.map_err(|error| error.message().to_owned())?;
    if response.status() != StatusCode::OK {
        return Err(format!("HTTP status {}", response.status()));
    }
    let body = response.into_body().collect(MAX_METADATA_BYTES).await;
    let body = body.map_err(|error| error.message().to_owned())?;
    serde_json::from_slice(&body).map_err(|_| "it is not valid metadata".to_owned())
}
