//! A test HTTP client. It returns responses from a closure, records requests, and can delay responses.

use std::fmt;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use tokio::sync::Semaphore;
use toolwire::BoxFuture;
use toolwire::transport::http_client::{ClientBody, HttpClient, HttpError};

type Respond = dyn Fn(&Request<Bytes>) -> (u16, String) + Send + Sync;

/// An HTTP client that responds without a network.
#[derive(Clone)]
pub(crate) struct CannedHttp {
    respond: Arc<Respond>,
    requests: Arc<Mutex<Vec<Request<Bytes>>>>,
    /// Each response takes a permit. There are always enough permits unless the client is blocked.
    gate: Arc<Semaphore>,
}

impl CannedHttp {
    pub(crate) fn new(
        respond: impl Fn(&Request<Bytes>) -> (u16, String) + Send + Sync + 'static,
    ) -> Self {
        Self {
            respond: Arc::new(respond),
            requests: Arc::default(),
            gate: Arc::new(Semaphore::new(Semaphore::MAX_PERMITS / 2)),
        }
    }

    /// Blocks all responses until [`release`](Self::release) is called.
    pub(crate) fn blocked(mut self) -> Self {
        self.gate = Arc::new(Semaphore::new(0));
        self
    }

    pub(crate) fn release(&self) {
        self.gate.add_permits(Semaphore::MAX_PERMITS / 2);
    }

    /// Returns the number of requests.
    pub(crate) fn count(&self) -> usize {
        self.requests.lock().unwrap().len()
    }

    /// Returns the requested URLs, in order.
    pub(crate) fn urls(&self) -> Vec<String> {
        let requests = self.requests.lock().unwrap();
        requests.iter().map(|one| one.uri().to_string()).collect()
    }

    /// Returns the last request.
    pub(crate) fn last(&self) -> Request<Bytes> {
        let requests = self.requests.lock().unwrap();
        requests
            .last()
            .expect("at least one request was sent")
            .clone()
    }
}

impl HttpClient for CannedHttp {
    fn send(
        &self,
        request: Request<Bytes>,
    ) -> BoxFuture<'_, Result<Response<ClientBody>, HttpError>> {
        let (status, body) = (self.respond)(&request);
        self.requests.lock().unwrap().push(request);
        Box::pin(async move {
            self.gate.acquire().await.unwrap().forget();
            let mut response = Response::new(ClientBody::full(body));
            *response.status_mut() = StatusCode::from_u16(status).unwrap();
            Ok(response)
        })
    }
}

impl fmt::Debug for CannedHttp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CannedHttp").finish_non_exhaustive()
    }
}
