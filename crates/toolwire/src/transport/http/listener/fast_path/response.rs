//! Writes a complete response.

use std::collections::VecDeque;
use std::io::{self, IoSlice};

use bytes::{Buf, Bytes};
use http::header::CONNECTION;
use http::{HeaderValue, StatusCode};
use tokio::io::{AsyncWrite, AsyncWriteExt as _};

use crate::transport::http::listener::fast_path::date;
use crate::transport::http::response::HttpResponse;

/// The maximum length of a body that is copied behind the headers. Up to this length, a copy is cheaper than a vectored
/// write.
const MAX_COPIED_BODY: usize = 16 * 1024;

/// The initial capacity for response headers, in bytes.
const HEADER_CAPACITY: usize = 256;

/// Returns `true` if the connection stays open after a response.
pub(super) fn is_keep_alive(response: &HttpResponse) -> bool {
    let connection = response.fields().and_then(|fields| fields.get(CONNECTION));
    connection.is_none_or(|value| value != HeaderValue::from_static("close"))
}

/// Writes a response with a complete body. Adds the framing headers, and `Connection: close` unless `keep_open` is set.
pub(super) async fn write<S>(
    stream: &mut S,
    response: HttpResponse,
    keep_open: bool,
) -> io::Result<()>
where
    S: AsyncWrite + Unpin,
{
    // RFC 9110, sections 6.4.1 and 8.6. The length of a 304 response would be that of the unmodified representation.
    let has_body = !matches!(
        response.status(),
        StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED
    );
    let length = has_body.then(|| response.body().remaining_len());
    let mut out = Vec::with_capacity(
        HEADER_CAPACITY
            + length
                .filter(|length| *length <= MAX_COPIED_BODY)
                .unwrap_or(0),
    );
    write_head(&mut out, &response, length, keep_open);
    match length {
        Some(length) if length > MAX_COPIED_BODY => {
            let mut body = response.into_body();
            let mut chunks = VecDeque::from([Bytes::from(out)]);
            chunks.extend(std::iter::from_fn(|| body.next_chunk()));
            stream.write_all_buf(&mut BufferParts(chunks)).await?;
        }
        _ => {
            if has_body {
                response.into_body().append_to(&mut out);
            }
            stream.write_all(&out).await?;
        }
    }
    stream.flush().await
}

/// Writes the status line and the headers. `length` is the length of the body, or `None` if the response cannot have
/// one.
fn write_head(out: &mut Vec<u8>, response: &HttpResponse, length: Option<usize>, keep_open: bool) {
    let status = response.status();
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(status.as_str().as_bytes());
    out.push(b' ');
    out.extend_from_slice(status.canonical_reason().unwrap_or("").as_bytes());
    if response.is_json() {
        out.extend_from_slice(b"\r\ncontent-type: application/json");
    }
    for (name, value) in response.fields().into_iter().flatten() {
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(name.as_str().as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value.as_bytes());
    }
    if let Some(length) = length {
        out.extend_from_slice(b"\r\ncontent-length: ");
        out.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
    }
    if !keep_open && is_keep_alive(response) {
        out.extend_from_slice(b"\r\nconnection: close");
    }
    out.extend_from_slice(b"\r\ndate: ");
    date::write(out);
    out.extend_from_slice(b"\r\n\r\n");
}

/// Several non-empty buffers that are read as one.
struct BufferParts(VecDeque<Bytes>);

impl Buf for BufferParts {
    fn remaining(&self) -> usize {
        self.0.iter().map(Bytes::len).sum()
    }

    fn chunk(&self) -> &[u8] {
        self.0.front().map_or(&[], |chunk| chunk)
    }

    fn chunks_vectored<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let filled = slices.iter_mut().zip(&self.0);
        filled
            .map(|(slice, chunk)| *slice = IoSlice::new(chunk))
            .count()
    }

    fn advance(&mut self, mut count: usize) {
        while count > 0 {
            let Some(front) = self.0.front_mut() else {
                return;
            };
            let taken = count.min(front.len());
            front.advance(taken);
            count -= taken;
            if front.is_empty() {
                self.0.pop_front();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;
    use crate::engine::encoding::EncodedResponse;
    use crate::transport::http::response;
    use crate::transport::http::response::body::ServerBody;

    /// Returns the header lines without the date, and the body, as a client with a small buffer reads them.
    async fn written(response: HttpResponse, keep_open: bool) -> (Vec<String>, String) {
        let (mut local, mut peer) = tokio::io::duplex(100);
        let (mut text, writing) = (String::new(), async move {
            write(&mut local, response, keep_open).await.unwrap();
        });
        let (_, read) = tokio::join!(writing, peer.read_to_string(&mut text));
        read.unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let lines = head
            .split("\r\n")
            .filter(|line| !line.starts_with("date: "));
        (lines.map(str::to_owned).collect(), body.to_owned())
    }

    #[tokio::test]
    async fn body_of_any_length_arrives_unchanged() {
        for length in [
            0,
            1,
            MAX_COPIED_BODY,
            MAX_COPIED_BODY + 1,
            10 * MAX_COPIED_BODY,
        ] {
            let text = "0123456789".repeat(length / 10 + 1);
            let text = &text[..length];
            let (head, body) = written(
                HttpResponse::new(StatusCode::OK, ServerBody::full(text.to_owned())),
                true,
            )
            .await;
            assert_eq!(
                head,
                [
                    "HTTP/1.1 200 OK".to_owned(),
                    format!("content-length: {length}")
                ]
            );
            assert_eq!(body, text);
        }
    }

    #[tokio::test]
    async fn chunks_arrive_in_order() {
        for length in [10, MAX_COPIED_BODY] {
            let result = "x".repeat(length);
            let encoded = EncodedResponse::Around {
                before: b"{\"result\":".to_vec(),
                result: result.clone().into(),
            };
            let (_, body) = written(
                HttpResponse::new(StatusCode::OK, ServerBody::response(encoded)),
                true,
            )
            .await;
            assert_eq!(body, format!("{{\"result\":{result}}}"));
        }
    }

    #[tokio::test]
    async fn headers_contain_the_framing_and_connection_close() {
        for status in [StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED] {
            let (head, body) = written(response::json(status, ServerBody::full("{}")), true).await;
            assert_eq!(head[0], format!("HTTP/1.1 {status}"));
            assert_eq!(head[1..], ["content-type: application/json"]);
            assert_eq!(body, "");
        }
        let (head, _) = written(response::empty(StatusCode::ACCEPTED), false).await;
        assert_eq!(
            head,
            [
                "HTTP/1.1 202 Accepted",
                "content-length: 0",
                "connection: close"
            ]
        );
        let rejection = response::reject_and_close(StatusCode::BAD_REQUEST, "no");
        assert!(!is_keep_alive(&rejection));
        let (head, _) = written(rejection, false).await;
        let closes = head.iter().filter(|line| *line == "connection: close");
        assert_eq!(closes.count(), 1);
    }
}
