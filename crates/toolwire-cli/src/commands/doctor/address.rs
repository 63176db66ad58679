//! The steps before HTTP: name, TCP and TLS.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::{Method, Request, Uri};
use tokio::net::TcpStream;
use tokio::time::timeout;
use toolwire::transport::http_client::{HttpClient, HttpPhase, HyperClient, ProxySettings};

use crate::certificates;
use crate::commands::doctor::steps::Steps;
use crate::connection_arguments::TlsOptions;
use crate::failure::{Exit, Failure};

/// The most addresses of one name that are tried.
const MAX_ADDRESSES: usize = 8;

/// Resolves the name of a server and connects to it. Returns `false` if a step failed.
pub(super) async fn check_address(
    uri: &Uri,
    tls: &TlsOptions,
    limit: Duration,
    steps: &mut Steps,
) -> Result<bool, Failure> {
    if ProxySettings::from_environment().applies_to(uri) {
        // This machine does not connect to the server itself.
        for step in ["name", "TCP"] {
            steps.skipped(step, "the environment names a proxy for this address");
        }
    } else {
        let Some(addresses) = resolve(uri, limit, steps).await else {
            return Ok(false);
        };
        if !connect(&addresses, limit, steps).await {
            return Ok(false);
        }
    }
    if uri.scheme_str() == Some("https") {
        return check_tls(uri, tls, limit, steps).await;
    }
    steps.skipped(
        "TLS",
        "the address begins with http://, so messages are not encrypted",
    );
    Ok(true)
}

async fn resolve(uri: &Uri, limit: Duration, steps: &mut Steps) -> Option<Vec<SocketAddr>> {
    let begun = Instant::now();
    let host = uri.host().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let is_secure = uri.scheme_str() == Some("https");
    let port = uri.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
    if let Ok(address) = host.parse::<IpAddr>() {
        steps.passed("name", begun, format!("{address} is an address already"));
        return Some(vec![SocketAddr::new(address, port)]);
    }
    let found = timeout(limit, tokio::net::lookup_host((host, port))).await;
    let failure = match found {
        Ok(Ok(found)) => {
            let addresses: Vec<SocketAddr> = found.take(MAX_ADDRESSES).collect();
            if !addresses.is_empty() {
                let shown: Vec<String> = addresses.iter().map(|a| a.ip().to_string()).collect();
                steps.passed("name", begun, format!("{host} is {}", shown.join(", ")));
                return Some(addresses);
            }
            Failure::new(Exit::NoConnection, format!("{host} has no address"))
        }
        Ok(Err(error)) => Failure::new(
            Exit::NoConnection,
            format!("{host} cannot be resolved: {error}"),
        ),
        Err(_) => Failure::new(Exit::Timeout, format!("resolving {host} took too long")),
    };
    let remedy = "check the spelling of the host, and whether its network or VPN is connected";
    steps.failed("name", begun, &failure, remedy);
    None
}

async fn connect(addresses: &[SocketAddr], limit: Duration, steps: &mut Steps) -> bool {
    let begun = Instant::now();
    let mut problems = Vec::new();
    for address in addresses {
        match timeout(limit, TcpStream::connect(address)).await {
            Ok(Ok(_)) => {
                steps.passed("TCP", begun, format!("connected to {address}"));
                return true;
            }
            Ok(Err(error)) => {
                let text = error.to_string();
                let text = text.split(" (os error ").next().unwrap_or_default();
                problems.push(format!("{address}: {text}"));
            }
            Err(_) => problems.push(format!("{address}: no response")),
        }
    }
    let failure = Failure::new(Exit::NoConnection, problems.join("; "));
    let remedy = "start the server, check the port, or permit it in the firewall";
    steps.failed("TCP", begun, &failure, remedy);
    false
}

/// Sends a harmless request and looks how far it gets. What the server responds is the subject of later steps.
async fn check_tls(
    uri: &Uri,
    tls: &TlsOptions,
    limit: Duration,
    steps: &mut Steps,
) -> Result<bool, Failure> {
    let begun = Instant::now();
    let client = certificates::another_http_client(tls)?.unwrap_or_else(HyperClient::new);
    let mut request = Request::new(Bytes::new());
    *request.method_mut() = Method::OPTIONS;
    *request.uri_mut() = uri.clone();
    let failure = match timeout(limit, client.send(request)).await {
        Ok(Err(error)) if is_before_http(error.phase()) => Failure::of_http(&error),
        Ok(_) => {
            let detail = if tls.insecure {
                "the certificate was not verified"
            } else {
                "the certificate is valid"
            };
            steps.passed("TLS", begun, detail);
            return Ok(true);
        }
        Err(_) => Failure::new(
            Exit::Timeout,
            "the server accepts connections, but does not respond",
        ),
    };
    let remedy = "check that the port is one for https, or use http:// in the address";
    steps.failed("TLS", begun, &failure, remedy);
    Ok(false)
}

/// Returns `true` for the phases up to TLS.
fn is_before_http(phase: HttpPhase) -> bool {
    matches!(
        phase,
        HttpPhase::Prepare
            | HttpPhase::Resolve
            | HttpPhase::Connect
            | HttpPhase::Proxy
            | HttpPhase::Tls
    )
}
