//! The deadline of connecting.
//!
//! One setting, `ClientLimits::connect_timeout`, limits all steps together. The time of a user, for example for a login,
//! does not count: after an interaction the deadline starts again.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::client::user_interaction::UserInteraction;
use crate::engine::{Cancellation, deadline_after};
use crate::error::Error;

/// The time that is left for connecting.
#[derive(Debug)]
pub(crate) struct ConnectDeadline<'a> {
    timeout: Duration,
    at: Instant,
    user: &'a UserInteraction,
}

impl<'a> ConnectDeadline<'a> {
    /// Starts the time for connecting.
    pub(crate) fn start(timeout: Duration, user: &'a UserInteraction) -> Self {
        Self {
            timeout,
            at: deadline_after(Instant::now(), timeout),
            user,
        }
    }

    /// Returns the time that is left.
    pub(crate) fn left(&self) -> Duration {
        self.at.saturating_duration_since(Instant::now())
    }

    /// Runs one step, for at most this time.
    ///
    /// # Errors
    /// Returns a timeout error if the step takes longer, or if no time is left.
    pub(crate) async fn run<T>(
        &mut self,
        step: Duration,
        future: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let future = pin!(future);
        let outcome = self.run_until(step, future).await;
        outcome.unwrap_or_else(|| Err(Error::timeout()))
    }

    /// Runs a request, which `expired` ends. So its middleware sees a timeout, and not that the request was dropped.
    ///
    /// # Errors
    /// Returns a timeout error if the request takes longer, or if no time is left.
    pub(crate) async fn run_request<T>(
        &mut self,
        step: Duration,
        expired: &Cancellation,
        future: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let mut future = pin!(future);
        if let Some(outcome) = self.run_until(step, future.as_mut()).await {
            return outcome;
        }
        expired.cancel();
        // Middleware that does not end at once is dropped.
        poll_fn(|cx| {
            let _ = future.as_mut().poll(cx);
            Poll::Ready(())
        })
        .await;
        Err(Error::timeout())
    }

    /// Returns the outcome of a step, or `None` if it takes longer than this time, or if no time is left.
    async fn run_until<F: Future>(
        &mut self,
        step: Duration,
        mut future: Pin<&mut F>,
    ) -> Option<F::Output> {
        let mut ended = self.user.ended();
        loop {
            let until = deadline_after(Instant::now(), step).min(self.at);
            let outcome = timeout_at(until, future.as_mut()).await;
            let has_interacted = self.user.is_active() || self.user.ended() != ended;
            if has_interacted {
                ended = self.user.ended();
                self.at = deadline_after(Instant::now(), self.timeout);
            }
            match outcome {
                Ok(outcome) => return Some(outcome),
                Err(_) if has_interacted => {}
                Err(_) => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn steps_share_one_deadline() {
        let user = UserInteraction::default();
        let mut deadline = ConnectDeadline::start(10 * SECOND, &user);
        let start = Instant::now();
        let step = async {
            sleep(8 * SECOND).await;
            Ok(())
        };
        deadline.run(Duration::MAX, step).await.unwrap();
        assert_eq!(deadline.left(), 2 * SECOND);
        let never = std::future::pending::<Result<(), Error>>();
        let error = deadline.run(Duration::MAX, never).await.unwrap_err();
        assert!(error.is_timeout());
        assert_eq!(start.elapsed(), 10 * SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn step_ends_at_its_own_limit() {
        let user = UserInteraction::default();
        let mut deadline = ConnectDeadline::start(10 * SECOND, &user);
        let never = std::future::pending::<Result<(), Error>>();
        deadline.run(3 * SECOND, never).await.unwrap_err();
        assert_eq!(deadline.left(), 7 * SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn time_of_the_user_does_not_count() {
        let user = UserInteraction::default();
        let mut deadline = ConnectDeadline::start(10 * SECOND, &user);
        let step = async {
            let login = user.begin();
            sleep(55 * SECOND).await;
            drop(login);
            sleep(9 * SECOND).await;
            Ok(())
        };
        deadline.run(Duration::MAX, step).await.unwrap();
        // The deadline was reached during the login, last after 50 s, and once more after it.
        assert_eq!(deadline.left(), 6 * SECOND);
    }
}
