//! A call of a store with a deadline.
//!
//! A store may be in another process. A call that does not return in time fails with [`StoreError::Unknown`], so that no
//! request waits for a store for an unlimited time. Calls that complete at once, as those of stores in memory do,
//! need no timer.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::Sleep;

use crate::store::{StoreError, StoreFuture};

/// A call of a store that fails after a deadline.
pub(crate) struct StoreCall<'a, T> {
    call: StoreFuture<'a, T>,
    deadline: Duration,
    /// Started when the call does not complete at once.
    timer: Option<Pin<Box<Sleep>>>,
}

impl<'a, T> StoreCall<'a, T> {
    pub(crate) fn new(call: StoreFuture<'a, T>, deadline: Duration) -> Self {
        Self {
            call,
            deadline,
            timer: None,
        }
    }
}

impl<T> Future for StoreCall<'_, T> {
    type Output = Result<T, StoreError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Poll::Ready(result) = self.call.as_mut().poll(cx) {
            return Poll::Ready(result);
        }
        let deadline = self.deadline;
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(deadline)));
        timer
            .as_mut()
            .poll(cx)
            .map(|()| Err(StoreError::unknown("the deadline of the store has passed")))
    }
}
