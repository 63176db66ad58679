//! Reading the body of a request, within a size and a time.

use std::error::Error as StdError;
use std::future::poll_fn;
use std::ops::Deref;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use http_body::Body;

/// Why a body was not read.
#[derive(Debug)]
pub(super) enum Unread {
    /// Longer than allowed.
    TooLong,
    /// It took too long.
    TooSlow,
    /// The connection broke, or the framing is wrong.
    Broken,
}

/// The body of a request before it is read.
#[derive(Debug)]
pub(super) enum Source<'b, B> {
    /// It came together with the head.
    Whole(&'b [u8]),
    /// It comes after the head.
    Coming(B),
}

/// A body that was read.
#[derive(Debug)]
pub(super) enum Content<'b> {
    /// Where it came in.
    InPlace(&'b [u8]),
    Collected(Bytes),
}

impl Content<'_> {
    pub(super) fn into_bytes(self) -> Bytes {
        match self {
            Self::InPlace(bytes) => Bytes::copy_from_slice(bytes),
            Self::Collected(bytes) => bytes,
        }
    }
}

impl Deref for Content<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::InPlace(bytes) => bytes,
            Self::Collected(bytes) => bytes,
        }
    }
}

/// Reads a whole body.
pub(super) async fn read<B>(
    body: Source<'_, B>,
    limit: usize,
    deadline: Duration,
) -> Result<Content<'_>, Unread>
where
    B: Body,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    match body {
        Source::Whole(body) => whole(body, limit),
        Source::Coming(body) => {
            let collected = collect_in_time(body, limit, deadline).await?;
            Ok(Content::Collected(collected))
        }
    }
}

/// Reads a body that is here.
pub(super) fn whole(body: &[u8], limit: usize) -> Result<Content<'_>, Unread> {
    match body.len() > limit {
        true => Err(Unread::TooLong),
        false => Ok(Content::InPlace(body)),
    }
}

async fn collect_in_time<B>(body: B, limit: usize, deadline: Duration) -> Result<Bytes, Unread>
where
    B: Body,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    // An announced length is believed before a single byte of it is read.
    if body.size_hint().lower() > limit as u64 {
        return Err(Unread::TooLong);
    }
    let mut collecting = pin!(collect(body, limit));
    // Most bodies are here already, and need no timer.
    let at_once = poll_fn(|cx| Poll::Ready(collecting.as_mut().poll(cx))).await;
    if let Poll::Ready(outcome) = at_once {
        return outcome;
    }
    match tokio::time::timeout(deadline, collecting).await {
        Ok(outcome) => outcome,
        Err(_) => Err(Unread::TooSlow),
    }
}

async fn collect<B>(body: B, limit: usize) -> Result<Bytes, Unread>
where
    B: Body,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    let mut body = pin!(body);
    // Most bodies come in one piece, which is taken as it is.
    let mut only = Bytes::new();
    let mut whole = Vec::new();
    while let Some(frame) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
        let frame = frame.map_err(|error| {
            tracing::debug!(error = %error.into(), "a request body broke off");
            Unread::Broken
        })?;
        let Ok(mut data) = frame.into_data() else {
            continue;
        };
        let length = data.remaining();
        if length > limit - (only.len() + whole.len()) {
            return Err(Unread::TooLong);
        }
        if only.is_empty() && whole.is_empty() {
            only = data.copy_to_bytes(length);
            continue;
        }
        whole.extend_from_slice(&std::mem::take(&mut only));
        while data.has_remaining() {
            let taken = data.chunk().len();
            whole.extend_from_slice(data.chunk());
            data.advance(taken);
        }
    }
    Ok(if whole.is_empty() { only } else { whole.into() })
}
