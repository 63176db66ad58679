//! Adds the credentials for an upstream server to HTTP requests.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{HeaderName, HeaderValue};
use http::{Request, Response, StatusCode, Uri};

use crate::client::http::{ClientBody, HttpClient, HttpError, HttpLayer, HttpPhase};
use crate::client::user_interaction::UserInteraction;
use crate::engine::{BoxFuture, Principal};
use crate::relay::credentials::Credentials;

/// Adds the credentials of one caller to the requests of a connection.
#[derive(Debug, Clone)]
pub(crate) struct CredentialsLayer {
    pub(crate) credentials: Arc<dyn Credentials>,
    pub(crate) caller: Principal,
    pub(crate) upstream: Arc<str>,
}

#[derive(Debug)]
struct CredentialsClient {
    inner: Arc<dyn HttpClient>,
    layer: CredentialsLayer,
}

impl HttpLayer for CredentialsLayer {
    fn layer(
        &self,
        inner: Arc<dyn HttpClient>,
        _endpoint: &Uri,
        _user: &UserInteraction,
    ) -> Arc<dyn HttpClient> {
        Arc::new(CredentialsClient {
            inner,
            layer: self.clone(),
        })
    }
}

impl HttpClient for CredentialsClient {
    fn send(
        &self,
        request: Request<Bytes>,
    ) -> BoxFuture<'_, Result<Response<ClientBody>, HttpError>> {
        Box::pin(async move {
            let authorized = self.layer.authorized(request.clone()).await?;
            let response = self.inner.send(authorized).await?;
            if response.status() != StatusCode::UNAUTHORIZED {
                return Ok(response);
            }
            // The server did not process the request, so it can be sent again.
            let CredentialsLayer {
                credentials,
                caller,
                upstream,
            } = &self.layer;
            credentials.rejected(caller, upstream);
            let authorized = self.layer.authorized(request).await?;
            self.inner.send(authorized).await
        })
    }
}

impl CredentialsLayer {
    /// Returns the request with the headers of the caller's credential.
    async fn authorized(&self, mut request: Request<Bytes>) -> Result<Request<Bytes>, HttpError> {
        let credential = self.credentials.present(&self.caller, &self.upstream).await;
        let credential = credential.map_err(|login| {
            let message = "the caller has no credentials for the upstream server";
            HttpError::new(HttpPhase::Authorize, message).with_source(login)
        })?;
        for (name, value) in &credential.headers {
            let invalid = || {
                let message = format!("the credential header {name:?} is not valid in HTTP");
                HttpError::new(HttpPhase::Prepare, message)
            };
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid())?;
            let mut value = HeaderValue::from_str(value).map_err(|_| invalid())?;
            value.set_sensitive(true);
            request.headers_mut().insert(name, value);
        }
        Ok(request)
    }
}
