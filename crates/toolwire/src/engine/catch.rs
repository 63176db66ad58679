//! Panics as values.
//!
//! A panic in a handler fails only its own request, with −32603. A panic while the handler is dropped is caught as
//! well.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

/// A panic of a handler. The panic hook has already reported its location.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Panicked;

/// Runs `work` and catches its panic.
pub(crate) fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| Panicked)
}

pin_project! {
    /// A future that yields `Err(Panicked)` instead of unwinding.
    #[derive(Debug)]
    pub(crate) struct CatchPanic<F> {
        #[pin]
        future: Option<F>,
    }

    impl<F> PinnedDrop for CatchPanic<F> {
        fn drop(this: Pin<&mut Self>) {
            let mut future = this.project().future;
            if catch_unwind(AssertUnwindSafe(|| future.set(None))).is_err() {
                tracing::error!("a handler panicked while it was dropped");
            }
        }
    }
}

impl<F: Future> CatchPanic<F> {
    #[inline]
    pub(crate) fn new(future: F) -> Self {
        Self {
            future: Some(future),
        }
    }
}

impl<F: Future> Future for CatchPanic<F> {
    type Output = Result<F::Output, Panicked>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(future) = self.project().future.as_pin_mut() else {
            return Poll::Ready(Err(Panicked));
        };
        match catch_unwind(AssertUnwindSafe(|| future.poll(cx))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
            Err(_) => Poll::Ready(Err(Panicked)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct PanicOnDrop;

    impl Drop for PanicOnDrop {
        fn drop(&mut self) {
            panic!("in drop");
        }
    }

    #[tokio::test]
    async fn panics_become_values() {
        assert_eq!(CatchPanic::new(async { 7 }).await, Ok(7));
        assert_eq!(
            CatchPanic::new(async { panic!("now") }).await,
            Err::<(), _>(Panicked)
        );
        let later = async {
            tokio::task::yield_now().await;
            panic!("after an await")
        };
        assert_eq!(CatchPanic::new(later).await, Err::<(), _>(Panicked));
    }

    #[tokio::test]
    async fn panic_while_dropping_is_caught() {
        let pending = CatchPanic::new(async {
            let _guard = PanicOnDrop;
            std::future::pending::<()>().await;
        });
        assert!(
            tokio::time::timeout(std::time::Duration::ZERO, pending)
                .await
                .is_err()
        );
    }
}
