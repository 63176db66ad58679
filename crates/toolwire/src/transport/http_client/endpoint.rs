//! One HTTP endpoint and how requests to it look.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, Uri};
use toolwire_proto::header_value;
use toolwire_types::ProtocolVersion;

use crate::client::http::{ClientBody, HttpClient};
use crate::error::Error;
use crate::transport::http_client::redirect;

/// Where requests go, who carries them, and what goes with each of them.
#[derive(Clone)]
pub(super) struct RemoteEndpoint {
    pub(super) client: Arc<dyn HttpClient>,
    pub(super) uri: Uri,
    /// The user's own headers.
    pub(super) headers: HeaderMap,
    /// The longest message that is read.
    pub(super) message_bytes: usize,
}

const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// How many headers of ours a modern request has.
const USUAL_HEADERS: usize = 5;

impl fmt::Debug for RemoteEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("uri", &redirect::shown(&self.uri))
            .field("client", &self.client)
            .finish_non_exhaustive()
    }
}

impl RemoteEndpoint {
    /// Posts a message. The protocol's own headers win over the user's.
    pub(super) fn post(&self, message: Vec<u8>, own: HeaderMap) -> impl SendFuture<'_> {
        let mut request = self.request(Method::POST, own, Bytes::from(message));
        request.headers_mut().insert(ACCEPT, BOTH);
        request.headers_mut().insert(CONTENT_TYPE, JSON);
        self.send(request)
    }

    /// Opens a stream of events.
    pub(super) fn events(&self, own: HeaderMap) -> impl SendFuture<'_> {
        let mut request = self.request(Method::GET, own, Bytes::new());
        request.headers_mut().insert(ACCEPT, EVENTS);
        self.send(request)
    }

    /// Ends a session.
    pub(super) fn delete(&self, own: HeaderMap) -> impl SendFuture<'_> {
        self.send(self.request(Method::DELETE, own, Bytes::new()))
    }

    fn request(&self, method: Method, own: HeaderMap, body: Bytes) -> Request<Bytes> {
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.with_users(own);
        request
    }

    /// Adds the user's headers to the protocol's own.
    fn with_users(&self, own: HeaderMap) -> HeaderMap {
        if self.headers.is_empty() {
            return own;
        }
        let mut headers = self.headers.clone();
        for (name, value) in &own {
            headers.insert(name, value.clone());
        }
        headers
    }

    /// Whoever waits for the answer keeps no copy of the request.
    fn send(&self, request: Request<Bytes>) -> impl SendFuture<'_> {
        let sending = self.client.send(request);
        async move { sending.await.map_err(Error::caused_by) }
    }
}

/// A request on its way; nothing happens until it is awaited.
pub(super) trait SendFuture<'a>:
    Future<Output = Result<Response<ClientBody>, Error>> + Send + 'a
{
}

impl<'a, F> SendFuture<'a> for F where
    F: Future<Output = Result<Response<ClientBody>, Error>> + Send + 'a
{
}

/// The headers of a request that says which revision it is written in, with room for what every request has.
pub(super) fn headers_of(version: ProtocolVersion) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(USUAL_HEADERS);
    headers.insert(PROTOCOL_VERSION, HeaderValue::from_static(version.as_str()));
    headers
}

/// Adds a header whose value came from elsewhere.
///
/// # Errors
/// When HTTP cannot carry it.
#[expect(
    clippy::ptr_arg,
    reason = "a value that is known here is sent without a copy"
)]
pub(super) fn insert(
    headers: &mut HeaderMap,
    name: &str,
    value: &Cow<'static, str>,
) -> Result<(), Error> {
    let refuse = || Error::invalid_request(format!("{name} cannot be sent as an HTTP header"));
    let value = match value {
        Cow::Borrowed(text) => HeaderValue::from_maybe_shared(Bytes::from_static(text.as_bytes()))
            .map_err(|_| refuse())?,
        Cow::Owned(text) => HeaderValue::from_str(text).map_err(|_| refuse())?,
    };
    let name = match name {
        // These go with every modern request, and need not be read each time.
        header_value::METHOD => METHOD,
        header_value::NAME => NAME,
        other => HeaderName::from_bytes(other.as_bytes()).map_err(|_| refuse())?,
    };
    headers.insert(name, value);
    Ok(())
}

/// Adds the id of the event after which a stream goes on; ids may be any text, as in a browser.
///
/// # Errors
/// When it has characters no header can carry.
pub(super) fn put_event_id(headers: &mut HeaderMap, id: &str) -> Result<(), Error> {
    let value = HeaderValue::from_bytes(id.as_bytes())
        .map_err(|_| Error::protocol("the server's event id cannot be sent back in a header"))?;
    headers.insert("last-event-id", value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_known_are_those_of_the_protocol() {
        let check = |known: HeaderName, name: &str| {
            let read = HeaderName::from_bytes(name.as_bytes()).unwrap();
            assert_eq!(known, read, "{name}");
        };
        check(PROTOCOL_VERSION, header_value::PROTOCOL_VERSION);
        check(METHOD, header_value::METHOD);
        check(NAME, header_value::NAME);
    }
}
