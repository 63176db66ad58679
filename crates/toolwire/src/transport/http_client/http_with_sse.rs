//! The HTTP+SSE transport of 2024-11-05.
//!
//! The server sends all messages on the event stream of a GET. The first event contains the URL to which the client
//! sends its messages with POST.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::{HeaderMap, Uri};
use tokio::task::AbortHandle;
use toolwire_proto::deprecations::DeprecatedFeature;

use crate::client::incoming::IncomingMessages;
use crate::client::send::SendMessage;
use crate::client::stream_transport::{StreamShutdown, StreamTransport};
use crate::client::transport::ClientTransport;
use crate::engine::{BoxFuture, warn_deprecated};
use crate::error::{Closure, Error};
use crate::transport::http_client::endpoint::RemoteEndpoint;
use crate::transport::http_client::event_reader::EventReader;
use crate::transport::http_client::redirect;
use crate::transport::http_client::response;
use crate::transport::http_client::trace_headers::insert_message_trace_headers;

/// Opens the stream and waits for the event with the URL of the message endpoint.
pub(super) async fn open(
    endpoint: &RemoteEndpoint,
    incoming: Arc<IncomingMessages>,
    grace: Duration,
) -> Result<Arc<dyn ClientTransport>, Error> {
    let response = endpoint.events(HeaderMap::new()).await?;
    if !response.status().is_success() {
        return Err(response::status_error(response).await);
    }
    if !response::is_stream(&response) {
        return Err(Error::protocol(
            "the server's response to GET is not an event stream; check that this is the URL of an MCP endpoint",
        ));
    }
    let mut events = EventReader::new(response.into_body(), endpoint.message_bytes);
    let address = loop {
        match events.next().await? {
            Some(event) if event.event.as_deref() == Some("endpoint") => break event.data,
            Some(_) => {}
            None => {
                return Err(Error::protocol(
                    "the server's stream ended before the endpoint event",
                ));
            }
        }
    };
    warn_deprecated(DeprecatedFeature::HttpWithSse);
    let messages = RemoteEndpoint {
        uri: resolve(&endpoint.uri, &address)?,
        ..endpoint.clone()
    };
    let out: Arc<dyn SendMessage> = Arc::new(MessageEndpoint(Arc::new(messages)));
    let reader_task = Arc::new(OnceLock::new());
    let shutdown = StopReading {
        task: Arc::clone(&reader_task),
        grace,
    };
    let (transport, reader) = StreamTransport::new(out, incoming, Box::new(shutdown));
    let reading = tokio::spawn(async move {
        let reason = loop {
            match events.next().await {
                Ok(Some(event))
                    if event.event.is_none() || event.event.as_deref() == Some("message") =>
                {
                    reader.on_message(event.data.as_bytes());
                }
                Ok(Some(_)) => {}
                Ok(None) => break "the server's stream ended".to_owned(),
                Err(error) => break error.to_string(),
            }
        };
        reader.close(Closure { reason, exit: None });
    });
    reader_task.get_or_init(|| reading.abort_handle());
    Ok(Arc::new(transport))
}

/// Resolves the URL of the message endpoint. It must have the same origin, because it receives the same headers.
fn resolve(base: &Uri, address: &str) -> Result<Uri, Error> {
    redirect::resolve(base, address)
        .filter(|uri| redirect::is_same_origin(base, uri))
        .ok_or_else(|| {
            Error::protocol(format!(
                "the server sent {address:?} as its endpoint, which has another origin"
            ))
        })
}

/// Sends messages to the message endpoint.
#[derive(Debug)]
struct MessageEndpoint(Arc<RemoteEndpoint>);

impl SendMessage for MessageEndpoint {
    fn ends_with_acknowledgement(&self) -> bool {
        true
    }

    fn send(&self, message: Vec<u8>) -> BoxFuture<'static, Result<(), Error>> {
        let endpoint = Arc::clone(&self.0);
        Box::pin(async move {
            let mut headers = HeaderMap::new();
            let is_set = |name: &str| endpoint.has_user_header(name);
            insert_message_trace_headers(&mut headers, &message, is_set);
            let response = endpoint.post(message, headers).await?;
            response::check_accepted(response).await
        })
    }
}

/// Aborts the task that reads the stream.
#[derive(Debug)]
struct StopReading {
    task: Arc<OnceLock<AbortHandle>>,
    grace: Duration,
}

impl StreamShutdown for StopReading {
    fn end(&self) -> BoxFuture<'_, ()> {
        self.abandon();
        Box::pin(async {})
    }

    fn abandon(&self) {
        if let Some(reading) = self.task.get() {
            reading.abort();
        }
    }

    fn grace(&self) -> Duration {
        self.grace
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_endpoint_of_another_origin_is_rejected() {
        let check = |base: &str, address: &str, expected: Option<&str>| {
            let base: Uri = base.parse().unwrap();
            let resolved = resolve(&base, address).ok().map(|uri| uri.to_string());
            assert_eq!(resolved.as_deref(), expected, "{base} {address}");
        };
        let base = "http://example.com:8080/api/sse";
        check(
            base,
            "/message?id=1",
            Some("http://example.com:8080/message?id=1"),
        );
        check(
            base,
            "message?id=1",
            Some("http://example.com:8080/api/message?id=1"),
        );
        check(
            base,
            "http://example.com:8080/m",
            Some("http://example.com:8080/m"),
        );
        check(
            base,
            "//example.com:8080/m",
            Some("http://example.com:8080/m"),
        );
        check(base, "?id=1", Some("http://example.com:8080/api/sse?id=1"));
        check(
            "http://example.com/sse",
            "http://example.com:80/m",
            Some("http://example.com:80/m"),
        );
        check(base, "http://example.com/m", None);
        check(base, "https://example.com:8080/m", None);
        check(base, "http://evil.example/m", None);
        check(base, "//evil.example/m", None);
    }
}
