//! A connection of HTTP/1.1, for one request at a time.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use bytes::{Buf as _, Bytes, BytesMut};
use http::{Method, Response, request};
use tokio::io::{AsyncReadExt as _, AsyncWrite as _};
use tokio::task::coop::unconstrained;

use crate::client::http::HttpBody;
use crate::transport::http_client::http1::answer_head::AnswerHead;
use crate::transport::http_client::http1::body::Http1Body;
use crate::transport::http_client::http1::broken::Broken;
use crate::transport::http_client::http1::framing::{Framing, Piece};
use crate::transport::http_client::http1::request_head::{self, Around};
use crate::transport::http_client::origin::Origin;
use crate::transport::http_client::wire::Wire;

/// How many bytes there is room for when the next ones are read: at least, and at most however long a body is.
const READ_BYTES: usize = 4 * 1024;
const LONG_READ_BYTES: usize = 64 * 1024;
/// What is allocated first.
const FIRST_BYTES: usize = 8 * 1024;
/// The longest buffer that is kept between answers.
const IDLE_BYTES: usize = 16 * 1024;
/// Bodies up to this length are written in one piece with their head.
const JOINED_BYTES: usize = 8 * 1024;

/// An open connection. Dropped, it is closed.
#[derive(Debug)]
pub(in super::super) struct Http1 {
    wire: Wire,
    /// What came, and was not used yet.
    input: BytesMut,
    output: Output,
    /// How many bytes of heads are read for one answer.
    head_room: usize,
    head: HeadProgress,
    /// How many bytes had left when the request began.
    left_before: u64,
    /// A write has failed.
    is_broken: bool,
}

/// How far the head of an answer has come.
#[derive(Debug, Default)]
struct HeadProgress {
    /// How many bytes interim heads had.
    interim: usize,
    /// How many of the bytes that are there were looked at.
    seen: usize,
}

/// The request on its way.
#[derive(Debug, Default)]
struct Output {
    /// The head, and a body that is short.
    head: Vec<u8>,
    /// How much of that is written.
    written: usize,
    /// What is still to be written of a longer body.
    body: Bytes,
    flushed: bool,
    /// Something of the request was taken.
    begun: bool,
}

impl Http1 {
    pub(in super::super) fn new(wire: Wire, head_room: u32) -> Self {
        Self {
            wire,
            input: BytesMut::with_capacity(FIRST_BYTES),
            output: Output::default(),
            head_room: head_room as usize,
            head: HeadProgress::default(),
            left_before: 0,
            is_broken: false,
        }
    }

    /// Sends a request and waits for the head of its answer.
    pub(in super::super) async fn send(
        mut self: Box<Self>,
        request: &request::Parts,
        body: &Bytes,
        origin: &Arc<Origin>,
    ) -> Result<Response<HttpBody>, Broken> {
        let around = Around {
            host: origin.host(),
            proxy_credentials: origin.proxy_credentials(),
            proxied: self.wire.is_proxied(),
            length: body.len(),
        };
        let keeps = self.output.begin(request, body, around);
        self.head = HeadProgress::default();
        self.left_before = self.wire.written();
        let asked = &request.method;
        let mut head = poll_fn(|context| self.poll_answer(context, asked)).await?;
        head.keeps &= keeps;
        Ok(self.answer(head, origin))
    }

    /// Makes an answer of its head. When its body has come along, the connection is free already.
    fn answer(mut self: Box<Self>, head: AnswerHead, origin: &Arc<Origin>) -> Response<HttpBody> {
        let body = match head.framing {
            Framing::Length(length) if length <= self.input.len() as u64 => {
                let whole = self.input.split_to(length as usize).freeze();
                if head.keeps {
                    origin.give_back(self);
                }
                HttpBody::full(whole)
            }
            framing => {
                let origin = Arc::clone(origin);
                HttpBody::new(Http1Body::new(self, framing, head.keeps, origin))
            }
        };
        let mut answer = Response::new(body);
        *answer.status_mut() = head.status;
        *answer.headers_mut() = head.headers;
        answer
    }

    /// Writes the request and reads until a head is there. The server may answer before it has read everything.
    fn poll_answer(
        &mut self,
        context: &mut Context<'_>,
        asked: &Method,
    ) -> Poll<Result<AnswerHead, Broken>> {
        let unwritten = match self.poll_write(context) {
            Poll::Ready(Err(error)) if !self.has_begun() => {
                return Poll::Ready(Err(Broken::Unsent(error)));
            }
            // It may have answered all the same, and say why it wants no more.
            Poll::Ready(Err(error)) => Some(error),
            Poll::Ready(Ok(())) | Poll::Pending => None,
        };
        loop {
            match ready!(self.poll_read(context, READ_BYTES)) {
                Ok(0) => return Poll::Ready(Err(self.broken(unwritten))),
                Ok(_) => {}
                Err(error) => return Poll::Ready(Err(self.broken(unwritten.or(Some(error))))),
            }
            if let Some(head) = self.next_head(asked)? {
                return Poll::Ready(Ok(head));
            }
        }
    }

    /// Describes a connection that ended before the response headers were complete. `error` is why, unless the server
    /// closed it.
    fn broken(&self, error: Option<io::Error>) -> Broken {
        if self.input.is_empty() && self.head.interim == 0 {
            return Broken::Unanswered(error);
        }
        match error {
            Some(error) => Broken::Lost(error),
            None => Broken::Closed,
        }
    }

    /// Whether anything of the request may have gone out, or may still do so.
    fn has_begun(&self) -> bool {
        self.output.begun || self.wire.written() > self.left_before
    }

    /// The head of the answer, once it is there; interim ones are passed over.
    fn next_head(&mut self, asked: &Method) -> Result<Option<AnswerHead>, Broken> {
        while may_end_head(&self.input, self.head.seen)
            && let Some(head) = AnswerHead::read(&self.input, asked)?
        {
            self.input.advance(head.length);
            if !head.is_interim() {
                return Ok(Some(head));
            }
            self.head.interim += head.length;
            self.head.seen = 0;
        }
        self.head.seen = self.input.len();
        // However many there are, all heads of an answer share the room.
        match self.head.interim + self.head.seen >= self.head_room {
            true => Err(Broken::LongHead),
            false => Ok(None),
        }
    }

    /// Writes what is left of the request.
    fn poll_write(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let written = self.poll_write_on(context);
        self.is_broken |= matches!(written, Poll::Ready(Err(_)));
        written
    }

    fn poll_write_on(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let output = &mut self.output;
        let mut wire = Pin::new(&mut self.wire);
        while output.left() > 0 {
            let head = output.head.get(output.written..).unwrap_or_default();
            let pieces = [IoSlice::new(head), IoSlice::new(&output.body)];
            let written = match (head.is_empty(), output.body.is_empty()) {
                (false, true) => wire.as_mut().poll_write(context, head),
                (true, _) => wire.as_mut().poll_write(context, &output.body),
                (false, false) => wire.as_mut().poll_write_vectored(context, &pieces),
            };
            match ready!(written)? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => output.advance(written),
            }
        }
        if !output.flushed {
            ready!(wire.poll_flush(context))?;
            output.flushed = true;
        }
        Poll::Ready(Ok(()))
    }

    fn poll_read(&mut self, context: &mut Context<'_>, wanted: usize) -> Poll<io::Result<usize>> {
        if self.input.capacity() - self.input.len() < wanted {
            self.input.reserve(wanted);
        }
        pin!(self.wire.read_buf(&mut self.input)).poll(context)
    }

    /// The next piece of a body, `End` at its end.
    pub(super) fn poll_piece(
        &mut self,
        context: &mut Context<'_>,
        framing: &mut Framing,
    ) -> Poll<Result<Piece, Broken>> {
        // What the server does not want to read any more is no loss: it answers.
        let _ = self.poll_write(context);
        loop {
            let wanted = match framing.next(&mut self.input).map_err(Broken::from)? {
                Piece::More(wanted) => usize::try_from(wanted).unwrap_or(usize::MAX),
                piece => return Poll::Ready(Ok(piece)),
            };
            let wanted = wanted.clamp(READ_BYTES, LONG_READ_BYTES);
            match ready!(self.poll_read(context, wanted)) {
                Ok(0) => {
                    return Poll::Ready(match framing {
                        Framing::UntilClose => Ok(Piece::End),
                        _ => Err(Broken::Closed),
                    });
                }
                Ok(_) => {}
                Err(error) => return Poll::Ready(Err(Broken::Lost(error))),
            }
        }
    }

    /// Passes over the rest of a body, as far as it has come; says whether that was all.
    pub(super) fn pass_over(&mut self, framing: &mut Framing) -> bool {
        loop {
            match framing.next(&mut self.input) {
                Ok(Piece::Data(_)) => {}
                Ok(Piece::End) => return true,
                Ok(Piece::More(_)) | Err(_) => return false,
            }
        }
    }

    /// Whether nothing is left of the last exchange, and nothing has happened to the connection since. The waker is
    /// told when that changes.
    pub(in super::super) fn is_idle(&mut self, waker: &Waker) -> bool {
        if !self.input.is_empty() || self.output.left() > 0 || !self.output.flushed {
            return false;
        }
        // While it waits, it needs no room for a long body.
        if self.input.capacity() > IDLE_BYTES {
            self.input = BytesMut::new();
        }
        self.is_quiet(waker)
    }

    /// Whether nothing comes. Bytes that nobody asked for are no answer, and the end is the end.
    fn is_quiet(&mut self, waker: &Waker) -> bool {
        let reading = self.wire.read_buf(&mut self.input);
        // Asked outside of the turn of a task, or at its end, the question must be answered all the same.
        let mut reading = pin!(unconstrained(reading));
        reading
            .as_mut()
            .poll(&mut Context::from_waker(waker))
            .is_pending()
    }
}

/// Whether a head may be complete. Its first bytes are always read, to find what is no head; after that only an empty
/// line makes it worth while, so that a server which sends single bytes costs no more than others.
fn may_end_head(input: &[u8], seen: usize) -> bool {
    let new = input.get(seen.saturating_sub(3)..).unwrap_or_default();
    seen == 0
        || new.windows(2).any(|two| two == b"\n\n")
        || new.windows(3).any(|three| three == b"\n\r\n")
}

impl Drop for Http1 {
    fn drop(&mut self) {
        // What a failed write has left in the layers below must not go out after all: it may be sent elsewhere by now.
        if !self.is_broken {
            self.wire.say_goodbye();
        }
    }
}

impl Output {
    /// Begins a request; says whether the connection may be used again afterwards.
    fn begin(&mut self, request: &request::Parts, body: &Bytes, around: Around<'_>) -> bool {
        self.head.clear();
        let keeps = request_head::write(&mut self.head, request, around);
        self.body = match body.len() <= JOINED_BYTES {
            true => {
                self.head.extend_from_slice(body);
                Bytes::new()
            }
            false => body.clone(),
        };
        self.written = 0;
        self.flushed = false;
        self.begun = false;
        keeps
    }

    /// How many bytes are still to be written.
    fn left(&self) -> usize {
        self.head.len() - self.written + self.body.len()
    }

    fn advance(&mut self, written: usize) {
        let of_head = written.min(self.head.len() - self.written);
        self.written += of_head;
        self.body.advance(written - of_head);
        self.begun = true;
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    #[tokio::test]
    async fn the_long_buffer_of_a_connection_that_waits_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (near, far) = tokio::join!(TcpStream::connect(address), listener.accept());
        let (near, _far) = (near.unwrap(), far.unwrap());
        let mut connection = Http1::new(Wire::plain(near), 1024);
        connection.output.flushed = true;
        for (length, is_kept) in [(IDLE_BYTES, true), (IDLE_BYTES + 1, false)] {
            connection.input = BytesMut::with_capacity(length);
            assert!(connection.is_idle(Waker::noop()));
            assert_eq!(connection.input.capacity() == length, is_kept);
            assert!(connection.input.capacity() <= IDLE_BYTES);
        }
    }
}
