//! Reqwest behind the `HttpClient` trait.

use bytes::Bytes;
use http::{Request, Response};
use reqwest::redirect::Policy;
use toolwire::BoxFuture;
use toolwire::transport::http_client::{ClientBody, HttpClient, HttpError, HttpPhase};

/// Reqwest with its defaults, except for options that would make it do other work.
#[derive(Debug)]
pub(crate) struct ReqwestHttp(reqwest::Client);

impl ReqwestHttp {
    pub(crate) fn new() -> reqwest::Result<Self> {
        reqwest::Client::builder()
            .no_proxy()
            .redirect(Policy::none())
            .build()
            .map(Self)
    }
}

impl HttpClient for ReqwestHttp {
    fn send(
        &self,
        request: Request<Bytes>,
    ) -> BoxFuture<'_, Result<Response<ClientBody>, HttpError>> {
        Box::pin(async move {
            let failed = |error: reqwest::Error| {
                HttpError::new(HttpPhase::Send, "reqwest failed").with_source(error)
            };
            let request = reqwest::Request::try_from(request).map_err(failed)?;
            let response = self.0.execute(request).await.map_err(failed)?;
            Ok(Response::from(response).map(ClientBody::new))
        })
    }
}
