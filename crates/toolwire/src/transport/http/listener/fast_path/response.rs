//! Writing an answer that is known to its end.

use std::collections::VecDeque;
use std::io::{self, IoSlice};

use bytes::{Buf, Bytes};
use http::header::CONNECTION;
use http::{HeaderValue, StatusCode};
use tokio::io::{AsyncWrite, AsyncWriteExt as _};

use crate::transport::http::listener::fast_path::date;
use crate::transport::http::response::HttpResponse;

/// Up to this length a body is copied behind its head, which is cheaper than telling the system of two places.
const COPIED: usize = 16 * 1024;

/// What the head of an answer usually needs.
const HEAD: usize = 256;

/// Whether the connection can go on after an answer.
pub(crate) fn is_keep_alive(answer: &HttpResponse) -> bool {
    let said = answer.fields().and_then(|fields| fields.get(CONNECTION));
    said.is_none_or(|value| value != HeaderValue::from_static("close"))
}

/// Writes an answer whose body is whole; the head says nothing of its framing yet. `keep_open` is what the client is told about the connection.
pub(crate) async fn write<S>(
    stream: &mut S,
    answer: HttpResponse,
    keep_open: bool,
) -> io::Result<()>
where
    S: AsyncWrite + Unpin,
{
    // RFC 9110, sections 6.4.1 and 8.6. What has not changed would have a length, but not that of this body.
    let has_body = !matches!(
        answer.status(),
        StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED
    );
    let length = has_body.then(|| answer.body().remaining_len());
    let mut out = Vec::with_capacity(HEAD + length.filter(|length| *length <= COPIED).unwrap_or(0));
    write_head(&mut out, &answer, length, keep_open);
    match length {
        Some(length) if length > COPIED => {
            let mut body = answer.into_body();
            let mut pieces = VecDeque::from([Bytes::from(out)]);
            pieces.extend(std::iter::from_fn(|| body.next_chunk()));
            stream.write_all_buf(&mut BufferParts(pieces)).await?;
        }
        _ => {
            if has_body {
                answer.into_body().append_to(&mut out);
            }
            stream.write_all(&out).await?;
        }
    }
    stream.flush().await
}

/// `length` is that of the body, if there may be one.
fn write_head(out: &mut Vec<u8>, answer: &HttpResponse, length: Option<usize>, keep_open: bool) {
    let status = answer.status();
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(status.as_str().as_bytes());
    out.push(b' ');
    out.extend_from_slice(status.canonical_reason().unwrap_or("").as_bytes());
    if answer.is_json() {
        out.extend_from_slice(b"\r\ncontent-type: application/json");
    }
    for (name, value) in answer.fields().into_iter().flatten() {
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(name.as_str().as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value.as_bytes());
    }
    if let Some(length) = length {
        out.extend_from_slice(b"\r\ncontent-length: ");
        out.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
    }
    if !keep_open && is_keep_alive(answer) {
        out.extend_from_slice(b"\r\nconnection: close");
    }
    out.extend_from_slice(b"\r\ndate: ");
    date::write(out);
    out.extend_from_slice(b"\r\n\r\n");
}

/// Bytes in several places, none of them empty.
struct BufferParts(VecDeque<Bytes>);

impl Buf for BufferParts {
    fn remaining(&self) -> usize {
        self.0.iter().map(Bytes::len).sum()
    }

    fn chunk(&self) -> &[u8] {
        self.0.front().map_or(&[], |piece| piece)
    }

    fn chunks_vectored<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let filled = slices.iter_mut().zip(&self.0);
        filled
            .map(|(slice, piece)| *slice = IoSlice::new(piece))
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
    use crate::engine::exchange::EncodedResponse;
    use crate::transport::http::response;
    use crate::transport::http::response::body::ServerBody;

    /// What a client reads that takes a little at a time: the lines of the head without the date, and the body.
    async fn written(answer: HttpResponse, keep_open: bool) -> (Vec<String>, String) {
        let (mut near, mut far) = tokio::io::duplex(100);
        let (mut text, writing) = (String::new(), async move {
            write(&mut near, answer, keep_open).await.unwrap();
        });
        let (_, read) = tokio::join!(writing, far.read_to_string(&mut text));
        read.unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let lines = head
            .split("\r\n")
            .filter(|line| !line.starts_with("date: "));
        (lines.map(str::to_owned).collect(), body.to_owned())
    }

    #[tokio::test]
    async fn a_body_arrives_as_it_is_however_it_is_written() {
        for length in [0, 1, COPIED, COPIED + 1, 10 * COPIED] {
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
    async fn pieces_arrive_in_their_order() {
        for length in [10, COPIED] {
            let result = "x".repeat(length);
            let answer = EncodedResponse::Around {
                before: b"{\"result\":".to_vec(),
                result: result.clone().into(),
            };
            let (_, body) = written(
                HttpResponse::new(StatusCode::OK, ServerBody::answer(answer)),
                true,
            )
            .await;
            assert_eq!(body, format!("{{\"result\":{result}}}"));
        }
    }

    #[tokio::test]
    async fn a_head_says_what_follows_and_whether_the_connection_goes_on() {
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
        let refusal = response::reject_and_close(StatusCode::BAD_REQUEST, "no");
        assert!(!is_keep_alive(&refusal));
        let (head, _) = written(refusal, false).await;
        let closes = head.iter().filter(|line| *line == "connection: close");
        assert_eq!(closes.count(), 1);
    }
}
