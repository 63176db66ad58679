//! The steps of a server that requires authorization: its metadata, and the token.

use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Method, Request, StatusCode, Uri};
use serde::Deserialize;
use tokio::time::timeout;
use toolwire::transport::http_client::{HttpClient, HyperClient};
use toolwire_auth::client::resource_metadata_urls;

use crate::certificates;
use crate::commands::doctor::steps::Steps;
use crate::connection_arguments::TlsOptions;
use crate::failure::{Exit, Failure};
use crate::target::Endpoint;

/// A request that changes nothing, for a server that rejects it.
const PING: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

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
    let url = &endpoint.url;
    let found = find_metadata(&client, url, uri, limit).await;
    match &found {
        Ok(MetadataLookup::Issuer(issuer)) => {
            steps.passed("metadata", begun, format!("logins are at {issuer}"));
        }
        Ok(MetadataLookup::Elsewhere(url)) => {
            let detail = format!("not fetched, because it is at another host: {url}");
            steps.skipped("metadata", detail);
        }
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

/// What is known about the metadata of a server.
enum MetadataLookup {
    /// The first authorization server.
    Issuer(String),
    /// The metadata is at this URL of another host, which is not fetched.
    Elsewhere(String),
}

/// Finds the metadata at the URL that the server names, or at a well-known one.
async fn find_metadata(
    client: &HyperClient,
    url: &str,
    uri: &Uri,
    limit: Duration,
) -> Result<MetadataLookup, String> {
    let challenges = timeout(limit, challenges(client, uri)).await;
    let challenges = challenges.unwrap_or_default();
    let urls = resource_metadata_urls(url, challenges.iter().map(String::as_str));
    let mut problem = String::new();
    for url in urls.map_err(|error| error.to_string())? {
        let Ok(metadata) = url.parse::<Uri>() else {
            continue;
        };
        if metadata.host() != uri.host() {
            return Ok(MetadataLookup::Elsewhere(url));
        }
        let fetched = timeout(limit, fetch(client, metadata)).await;
        match fetched.unwrap_or_else(|_| Err("there is no response in time".to_owned())) {
            Ok(metadata) => match metadata.authorization_servers.into_iter().next() {
                Some(issuer) => return Ok(MetadataLookup::Issuer(issuer)),
                None => problem = format!("{url} names no authorization server"),
            },
            Err(error) => problem = format!("{url}: {error}"),
        }
    }
    Err(format!(
        "the server requires authorization, but does not say where to log in ({problem})"
    ))
}

/// Returns the challenges of the response to a request without a token.
async fn challenges(client: &HyperClient, uri: &Uri) -> Vec<String> {
    let mut request = Request::new(Bytes::from_static(PING));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = uri.clone();
    let headers = request.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let accepted = HeaderValue::from_static("application/json, text/event-stream");
    headers.insert(ACCEPT, accepted);
    let Ok(response) = client.send(request).await else {
        return Vec::new();
    };
    let challenges = response.headers().get_all(WWW_AUTHENTICATE).into_iter();
    let challenges = challenges.filter_map(|value| value.to_str().ok());
    challenges.map(str::to_owned).collect()
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
