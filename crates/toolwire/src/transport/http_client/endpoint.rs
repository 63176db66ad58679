//! Creates the HTTP requests to one endpoint and sends them.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, Uri};
use toolwire_proto::header_value;
use toolwire_proto::requests::is_repeatable;
use toolwire_types::ProtocolVersion;

use crate::client::http::{ClientBody, HttpClient};
use crate::client::wire_listeners::WireListeners;
use crate::error::Error;
use crate::transport::http_client::hyper_client::Repeatable;
use crate::transport::http_client::redirect;

/// The URL of a server, the HTTP client, and the headers of every request.
#[derive(Clone)]
pub(super) struct RemoteEndpoint {
    pub(super) client: Arc<dyn HttpClient>,
    pub(super) uri: Uri,
    /// The headers that the user configured.
    pub(super) headers: HeaderMap,
    /// The maximum number of bytes of a received message.
    pub(super) message_bytes: usize,
    /// Gets each message that is sent, unless the owner of the endpoint reports them itself.
    pub(super) wire: WireListeners,
}

const JSON_OR_EVENTS: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// The number of protocol headers of a modern request.
const USUAL_HEADERS: usize = 5;

impl fmt::Debug for RemoteEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteEndpoint")
            .field("uri", &redirect::without_secrets(&self.uri))
            .field("client", &self.client)
            .finish_non_exhaustive()
    }
}

impl RemoteEndpoint {
    /// Sends a message with POST. The protocol headers replace the user's headers of the same name.
    pub(super) fn post(&self, message: Vec<u8>, protocol: HeaderMap) -> impl SendFuture<'_> {
        self.send(self.post_request(message, protocol))
    }

    /// Sends a message of this method like [`post`](Self::post). If the method permits it, the HTTP client sends the
    /// message again after a reused connection closed before a byte of the response arrived.
    pub(super) fn post_method(
        &self,
        method: &str,
        message: Vec<u8>,
        protocol: HeaderMap,
    ) -> impl SendFuture<'_> {
        let mut request = self.post_request(message, protocol);
        if is_repeatable(method) {
            request.extensions_mut().insert(Repeatable);
        }
        self.send(request)
    }

    fn post_request(&self, message: Vec<u8>, protocol: HeaderMap) -> Request<Bytes> {
        self.wire.sent(&message);
        let mut request = self.request(Method::POST, protocol, Bytes::from(message));
        request.headers_mut().insert(ACCEPT, JSON_OR_EVENTS);
        request.headers_mut().insert(CONTENT_TYPE, JSON);
        request
    }

    /// Opens an event stream with GET.
    pub(super) fn events(&self, protocol: HeaderMap) -> impl SendFuture<'_> {
        let mut request = self.request(Method::GET, protocol, Bytes::new());
        request.headers_mut().insert(ACCEPT, EVENTS);
        self.send(request)
    }

    /// Ends a session with DELETE.
    pub(super) fn delete(&self, protocol: HeaderMap) -> impl SendFuture<'_> {
        self.send(self.request(Method::DELETE, protocol, Bytes::new()))
    }

    fn request(&self, method: Method, protocol: HeaderMap, body: Bytes) -> Request<Bytes> {
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.with_user_headers(protocol);
        request
    }

    /// Returns `true` if the user set a header with this name.
    pub(super) fn has_user_header(&self, name: &str) -> bool {
        self.headers.contains_key(name)
    }

    /// Adds the user's headers to the protocol headers.
    fn with_user_headers(&self, protocol: HeaderMap) -> HeaderMap {
        if self.headers.is_empty() {
            return protocol;
        }
        let mut headers = self.headers.clone();
        for (name, value) in &protocol {
            headers.insert(name, value.clone());
        }
        headers
    }

    /// Sends a request. The future does not contain the request, so it stays small.
    fn send(&self, request: Request<Bytes>) -> impl SendFuture<'_> {
        let sending = self.client.send(request);
        async move { sending.await.map_err(Error::caused_by) }
    }
}

/// The future of a response. The request is sent when the future is awaited.
pub(super) trait SendFuture<'a>:
    Future<Output = Result<Response<ClientBody>, Error>> + Send + 'a
{
}

impl<'a, F> SendFuture<'a> for F where
    F: Future<Output = Result<Response<ClientBody>, Error>> + Send + 'a
{
}

/// Creates headers with the protocol version, with capacity for the headers of every request.
pub(super) fn headers_of(version: ProtocolVersion) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(USUAL_HEADERS);
    headers.insert(PROTOCOL_VERSION, HeaderValue::from_static(version.as_str()));
    headers
}

/// Adds a header whose name and value repeat a part of the message.
///
/// # Errors
/// Returns an error if the name or the value is not valid in HTTP.
#[expect(clippy::ptr_arg, reason = "a static value is sent without a copy")]
pub(super) fn insert(
    headers: &mut HeaderMap,
    name: &str,
    value: &Cow<'static, str>,
) -> Result<(), Error> {
    let invalid = || Error::invalid_request(format!("{name} cannot be sent as an HTTP header"));
    let value = match value {
        Cow::Borrowed(text) => HeaderValue::from_maybe_shared(Bytes::from_static(text.as_bytes()))
            .map_err(|_| invalid())?,
        Cow::Owned(text) => HeaderValue::from_str(text).map_err(|_| invalid())?,
    };
    let name = match name {
        // Every modern request has these headers, so their names are not parsed each time.
        header_value::METHOD => METHOD,
        header_value::NAME => NAME,
        other => HeaderName::from_bytes(other.as_bytes()).map_err(|_| invalid())?,
    };
    headers.insert(name, value);
    Ok(())
}

/// Adds the id of the last received event. An id may be any text, as in a browser.
///
/// # Errors
/// Returns an error if the id has characters that are not valid in a header.
pub(super) fn insert_event_id(headers: &mut HeaderMap, id: &str) -> Result<(), Error> {
    let value = HeaderValue::from_bytes(id.as_bytes())
        .map_err(|_| Error::protocol("the server's event id cannot be sent back in a header"))?;
    headers.insert("last-event-id", value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_constants_match_the_names_of_the_protocol() {
        let check = |constant: HeaderName, name: &str| {
            let parsed = HeaderName::from_bytes(name.as_bytes()).unwrap();
            assert_eq!(constant, parsed, "{name}");
        };
        check(PROTOCOL_VERSION, header_value::PROTOCOL_VERSION);
        check(METHOD, header_value::METHOD);
        check(NAME, header_value::NAME);
    }
}
