//! Sends the requests of webhook delivery over HTTP.
//!
//! The URLs are untrusted, so a [`GuardedFetcher`] sends the requests. Each request uses a new connection, because the
//! address of a host is checked when a connection is opened.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, Request};
use toolwire_types::events::CallbackFailure;

use crate::client::http::{HttpError, HttpPhase};
use crate::engine::BoxFuture;
use crate::server::Server;
use crate::server::events::webhooks::{
    WebhookOptions, WebhookRequest, WebhookResponse, WebhookSender,
};
use crate::transport::http_client::{GuardedFetcher, HyperClient};

/// The maximum size of a response. Only that of a challenge is read.
const MAX_RESPONSE_BYTES: usize = 64 * 1024;

/// The timeout of a request with its response.
const TIMEOUT: Duration = Duration::from_secs(10);

impl Server {
    /// Delivers events to the URLs of clients that subscribe with `events/subscribe`.
    ///
    /// Only authenticated callers can subscribe, so the server needs an authorizer. Requests reach public addresses over
    /// HTTPS only. The guide page [`events`](crate::guide::events) describes webhooks. The extension is a draft.
    #[must_use]
    pub fn with_webhooks(self, mut options: WebhookOptions) -> Self {
        let sender = options.sender.take().unwrap_or_else(|| {
            let http = HyperClient::new()
                .with_public_addresses_only()
                .with_max_idle_per_host(0);
            Arc::new(limited(GuardedFetcher::with_http_client(http)))
        });
        self.install_webhooks(options, sender)
    }
}

impl WebhookOptions {
    /// Sends the requests with another fetcher, for example through an egress proxy. Its limits are replaced: a response
    /// may have 64 KiB and take 10 s. A fetcher that reuses a connection does not check its address again.
    ///
    /// A fetcher with [`GuardedFetcher::with_loopback_allowed`] also accepts receivers on this machine without TLS, for
    /// development and tests.
    pub fn with_fetcher(mut self, fetcher: GuardedFetcher) -> Self {
        self.sender = Some(Arc::new(limited(fetcher)));
        self
    }
}

fn limited(fetcher: GuardedFetcher) -> GuardedFetcher {
    fetcher
        .with_size_limit(MAX_RESPONSE_BYTES)
        .with_timeout(TIMEOUT)
}

impl WebhookSender for GuardedFetcher {
    fn send(
        &self,
        request: WebhookRequest,
    ) -> BoxFuture<'_, Result<WebhookResponse, CallbackFailure>> {
        Box::pin(async move {
            let mut built = Request::post(&request.url);
            for (name, value) in &request.headers {
                let value = HeaderValue::from_str(value);
                built = built.header(
                    *name,
                    value.map_err(|_| CallbackFailure::ConnectionRefused)?,
                );
            }
            let built = built.header(
                "user-agent",
                concat!("toolwire/", env!("CARGO_PKG_VERSION")),
            );
            let built = built
                .body(request.body)
                .map_err(|_| CallbackFailure::ConnectionRefused)?;
            // The path is explicit, because both types have a method of this name.
            match GuardedFetcher::send(self, built).await {
                Ok(response) => Ok(WebhookResponse {
                    status: response.status().as_u16(),
                    body: response.into_body(),
                }),
                Err(error) => {
                    tracing::debug!(url = request.url, %error, "a webhook request failed");
                    Err(failure(&error))
                }
            }
        })
    }

    fn permits_plain_loopback(&self) -> bool {
        self.allows_loopback()
    }
}

/// Returns the word for an error. The client does not see the text.
fn failure(error: &HttpError) -> CallbackFailure {
    match error.phase() {
        _ if error.is_timeout() => CallbackFailure::Timeout,
        HttpPhase::Tls => CallbackFailure::TlsError,
        HttpPhase::Redirect => CallbackFailure::Http4xx,
        // The response is too large, incomplete or not HTTP.
        HttpPhase::Receive => CallbackFailure::Http5xx,
        _ => CallbackFailure::ConnectionRefused,
    }
}

#[cfg(test)]
mod tests;
