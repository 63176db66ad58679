use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::*;
use crate::Server;
use crate::transport::http::byte_budget::ByteBudget;
use crate::transport::http::{HttpOptions, HttpService, response};

const LIMIT: usize = 100;

fn limits() -> HttpLimits {
    HttpLimits {
        body_bytes: LIMIT,
        ..HttpLimits::default()
    }
}

/// A body whose frames are sent by the test. Dropping the sender ends the body.
struct SentBody {
    frames: mpsc::UnboundedReceiver<Result<Bytes, &'static str>>,
    announced: u64,
}

type Frames = mpsc::UnboundedSender<Result<Bytes, &'static str>>;

fn sent_body(announced: u64) -> (Frames, TrackedBody<SentBody>) {
    let (sender, frames) = mpsc::unbounded_channel();
    let body = SentBody { frames, announced };
    (sender, TrackedBody::new(body))
}

impl Body for SentBody {
    type Data = Bytes;
    type Error = &'static str;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, &'static str>>> {
        let frame = ready!(self.frames.poll_recv(cx));
        Poll::Ready(frame.map(|frame| frame.map(Frame::data)))
    }

    fn size_hint(&self) -> SizeHint {
        let mut hint = SizeHint::new();
        hint.set_lower(self.announced);
        hint
    }
}

fn parts(version: Version, expect: bool) -> Parts {
    let mut request = Request::post("/mcp").version(version);
    if expect {
        request = request.header(EXPECT, "100-continue");
    }
    request.body(()).unwrap().into_parts().0
}

/// Finishes a request and checks that the response contains `Connection: close` if the connection closes.
async fn finish_and_check(parts: &Parts, body: TrackedBody<SentBody>) -> AfterResponse {
    let mut response = response::empty(StatusCode::UNAUTHORIZED);
    let reservation = ByteBudget::new(100_000, LIMIT).reservation();
    let after = finish_request(parts, body, &mut response, &limits(), reservation).await;
    assert_eq!(closes(&response), after == AfterResponse::Close);
    after
}

const KEEP_ALIVE: AfterResponse = AfterResponse::KeepAlive;
const CLOSED: AfterResponse = AfterResponse::Close;

#[tokio::test]
async fn body_up_to_the_limit_is_discarded_and_a_longer_one_closes_the_connection() {
    let parts = parts(Version::HTTP_11, false);
    for (lengths, expected) in [
        (vec![], KEEP_ALIVE),
        (vec![LIMIT], KEEP_ALIVE),
        (vec![1, LIMIT - 2, 1], KEEP_ALIVE),
        (vec![LIMIT + 1], CLOSED),
        (vec![LIMIT, 1], CLOSED),
    ] {
        let (frames, body) = sent_body(0);
        for length in &lengths {
            frames.send(Ok(vec![b' '; *length].into())).unwrap();
        }
        drop(frames);
        assert_eq!(
            finish_and_check(&parts, body).await,
            expected,
            "{lengths:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn announced_length_over_the_limit_closes_without_waiting() {
    let parts = parts(Version::HTTP_11, false);
    let start = Instant::now();
    let (_frames, body) = sent_body(LIMIT as u64 + 1);
    assert_eq!(finish_and_check(&parts, body).await, CLOSED);
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn slow_body_closes_the_connection_at_the_deadline() {
    let parts = parts(Version::HTTP_11, false);
    let start = Instant::now();
    let (frames, body) = sent_body(0);
    let slow = tokio::spawn(async move {
        while frames.send(Ok(Bytes::from_static(b" "))).is_ok() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    });
    assert_eq!(finish_and_check(&parts, body).await, CLOSED);
    assert_eq!(start.elapsed(), limits().discard_deadline);
    slow.await.unwrap();
}

#[tokio::test]
async fn failed_body_closes_the_connection() {
    let parts = parts(Version::HTTP_11, false);
    let (frames, body) = sent_body(0);
    frames.send(Err("reset")).unwrap();
    assert_eq!(finish_and_check(&parts, body).await, CLOSED);
}

#[tokio::test(start_paused = true)]
async fn body_is_not_requested_from_a_client_that_waits_for_100_continue() {
    let parts = parts(Version::HTTP_11, true);
    let start = Instant::now();
    let (_frames, body) = sent_body(0);
    assert_eq!(finish_and_check(&parts, body).await, CLOSED);
    assert_eq!(start.elapsed(), Duration::ZERO);
    // After the body was requested, it is read.
    let (frames, mut body) = sent_body(0);
    frames.send(Ok(Bytes::from_static(b" "))).unwrap();
    poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await;
    frames.send(Ok(Bytes::from_static(b" "))).unwrap();
    drop(frames);
    assert_eq!(finish_and_check(&parts, body).await, KEEP_ALIVE);
}

#[tokio::test]
async fn unread_http2_body_does_not_close_the_connection() {
    let parts = parts(Version::HTTP_2, false);
    let (_frames, body) = sent_body(LIMIT as u64 + 1);
    assert_eq!(finish_and_check(&parts, body).await, KEEP_ALIVE);
}

#[tokio::test(start_paused = true)]
async fn mounted_service_discards_the_body_of_a_rejected_request() {
    let service = HttpService::new(Server::new("demo", "1.0.0"), HttpOptions::new());
    let request = |body| {
        let request = Request::post("/nothing").header("host", "localhost");
        request.body(body).unwrap()
    };
    let (frames, body) = sent_body(0);
    for _ in 0..10 {
        frames.send(Ok(vec![b' '; 64 * 1024].into())).unwrap();
    }
    drop(frames);
    let response = service.respond(request(body.body)).await;
    assert_eq!(response.status(), StatusCode::NOT_FOUND);
    assert_eq!(response.headers().get(CONNECTION), None);

    let (_frames, body) = sent_body(0);
    let response = service.respond(request(body.body)).await;
    assert_eq!(response.status(), StatusCode::NOT_FOUND);
    assert_eq!(response.headers()[CONNECTION], "close");
}
