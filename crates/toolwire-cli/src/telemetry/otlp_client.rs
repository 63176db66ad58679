//! The HTTP client of the exporter: it sends requests on the runtime of this program.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Limited};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use tokio::runtime::Handle;
use toolwire::transport::http_client::{HttpClient as _, HyperClient};

/// How long the collector may take for one request.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The maximum number of bytes of a response of the collector.
const MAX_RESPONSE_BYTES: usize = 64 * 1024;

/// Sends the requests of the exporter, which runs on a thread of its own.
#[derive(Debug)]
pub(super) struct OtlpClient {
    runtime: Handle,
    client: Arc<HyperClient>,
}

impl OtlpClient {
    /// Creates a client that uses the current runtime.
    pub(super) fn new() -> Self {
        Self {
            runtime: Handle::current(),
            client: Arc::new(HyperClient::new()),
        }
    }
}

impl HttpClient for OtlpClient {
    fn send_bytes<'a, 'b>(
        &'a self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        let client = Arc::clone(&self.client);
        let sending = self.runtime.spawn(async move {
            let sending = async {
                let (parts, body) = client.send(request).await?.into_parts();
                let body = Limited::new(body, MAX_RESPONSE_BYTES).collect().await?;
                Ok::<_, HttpError>(Response::from_parts(parts, body.to_bytes()))
            };
            tokio::time::timeout(TIMEOUT, sending).await?
        });
        Box::pin(async move { sending.await? })
    }
}
