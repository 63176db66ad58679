//! The page `/metrics`, for Prometheus.

use std::io::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Method, Request, Response, StatusCode};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::failure::{Exit, Failure};
use crate::page_server::{PageLimits, serve};
use crate::telemetry::providers::metrics_text;

/// The limits of the page.
const LIMITS: PageLimits = PageLimits {
    connections: 16,
    header_timeout: Duration::from_secs(10),
    request_timeout: Some(Duration::from_secs(30)),
};

/// A running page. Dropping the value ends it.
#[derive(Debug)]
pub(crate) struct MetricsPage {
    _serving: JoinSet<()>,
}

impl MetricsPage {
    /// Serves the metrics of this program at an address, which must be a loopback address unless `is_open` permits others.
    ///
    /// # Errors
    /// Returns an error if the address is invalid, not permitted, or in use.
    pub(crate) async fn start(address: &str, is_open: bool) -> Result<Self, Failure> {
        let named = |problem: &dyn std::fmt::Display| {
            Failure::usage(format!("--metrics {address}: {problem}"))
        };
        let found = tokio::net::lookup_host(address).await;
        let found = found.map_err(|error| {
            named(&error).with_advice("give a host and a port: --metrics 127.0.0.1:9464")
        })?;
        let addresses: Vec<SocketAddr> = found.collect();
        let is_local = addresses.iter().all(|address| address.ip().is_loopback());
        if !is_local && !is_open {
            let problem = named(&"other machines could read the metrics");
            return Err(
                problem.with_advice("listen on 127.0.0.1, or permit it with --insecure-open")
            );
        }
        let listener = TcpListener::bind(&addresses[..]).await;
        let in_use = |error: std::io::Error| {
            Failure::new(Exit::NoConnection, format!("--metrics {address}: {error}"))
        };
        let listener = listener.map_err(in_use)?;
        let bound = listener.local_addr().map_err(in_use)?;
        // The command also runs if standard error is closed.
        let _ = writeln!(std::io::stderr(), "metrics at http://{bound}/metrics");
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let respond = move |request, _| async move { respond(&request, is_open) };
            serve(&listener, LIMITS, respond).await;
        });
        Ok(Self { _serving: serving })
    }
}

fn respond(request: &Request<Incoming>, is_open: bool) -> Response<Full<Bytes>> {
    let host = request
        .headers()
        .get(HOST)
        .and_then(|host| host.to_str().ok());
    // Other machines may know this one by any name.
    if !is_open && !host.is_some_and(is_address) {
        return page(
            StatusCode::FORBIDDEN,
            "use the address of the page, not a name\n",
        );
    }
    match (request.method(), request.uri().path()) {
        (&Method::GET, "/metrics") => {}
        (_, "/metrics") => return page(StatusCode::METHOD_NOT_ALLOWED, "use GET\n"),
        _ => return page(StatusCode::NOT_FOUND, "the metrics are at /metrics\n"),
    }
    match metrics_text() {
        Some(text) => page(StatusCode::OK, text),
        None => page(
            StatusCode::SERVICE_UNAVAILABLE,
            "there are no metrics yet\n",
        ),
    }
}

fn page(status: StatusCode, text: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(text.into()));
    *response.status_mut() = status;
    let kind = hyper::header::HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// Returns `true` if a `Host` is an address or `localhost`. A web page could point a name of its own at this address.
fn is_address(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_other_hosts_are_rejected() {
        for host in ["127.0.0.1:9464", "localhost", "[::1]:9464", "10.0.0.7"] {
            assert!(is_address(host), "{host}");
        }
        for host in ["", "evil.test", "evil.test:9464", "127.0.0.1.evil.test"] {
            assert!(!is_address(host), "{host}");
        }
    }
}
