//! Large checks against JSON Schemas, on the blocking pool.
//!
//! A check cannot be interrupted, so its work is limited beforehand (`toolwire_proto::schema_budget`). Small checks run
//! inline. Large checks run here: a few at once, each with a timeout for its caller. A check whose caller stopped
//! waiting keeps its permit until it ends, so that abandoned checks cannot accumulate.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// The number of checks on the blocking pool at once, per client or per tool of a server.
const CHECKS_AT_ONCE: usize = 2;

/// The timeout of a check. Default of `ClientLimits::schema_timeout`.
pub(crate) const CHECK_TIMEOUT: Duration = Duration::from_secs(5);

/// The maximum size in bytes of a value that is checked inline. Larger values are checked on the blocking pool.
pub(crate) const QUICK_BYTES: usize = 64 * 1024;

/// The outcome of a check that may be too large to run inline.
#[derive(Debug, PartialEq, Eq)]
#[cfg_attr(
    not(feature = "schema-validation"),
    expect(dead_code, reason = "without the feature nothing is checked")
)]
pub(crate) enum QuickCheck {
    /// The check ran. The error has one line per violation.
    Done(Result<(), String>),
    /// The check must run on the blocking pool.
    Large,
}

/// Permits for large checks.
#[derive(Debug, Clone)]
pub(crate) struct SchemaPool(Arc<Semaphore>);

impl Default for SchemaPool {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(CHECKS_AT_ONCE)))
    }
}

impl SchemaPool {
    /// Runs a check on the blocking pool. Outside a runtime, the check runs inline.
    ///
    /// # Errors
    /// Returns an error if the check does not end in time, waiting for a permit included, or if it panics.
    ///
    /// # Cancellation
    /// Dropping the future abandons the check. It keeps its permit until it ends.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        limit: Duration,
        check: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, UnfinishedCheck> {
        if Handle::try_current().is_err() {
            return Ok(check());
        }
        let running = async {
            let permit = Arc::clone(&self.0).acquire_owned().await.ok();
            let running = tokio::task::spawn_blocking(move || {
                let checked = check();
                drop(permit);
                checked
            });
            running.await.map_err(|_| UnfinishedCheck::Failed)
        };
        timeout(limit, running)
            .await
            .unwrap_or(Err(UnfinishedCheck::Timeout(limit)))
    }
}

/// The reason why a check has no outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnfinishedCheck {
    /// The check exceeded this timeout.
    Timeout(Duration),
    /// The check panicked, or the runtime is shutting down.
    Failed,
}

impl fmt::Display for UnfinishedCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timeout(limit) => write!(f, "the check took longer than {limit:?}"),
            Self::Failed => f.write_str("the check failed unexpectedly"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// A check that ends when its sender is dropped.
    fn endless() -> (mpsc::Sender<()>, impl FnOnce() + Send + 'static) {
        let (sender, receiver) = mpsc::channel();
        (sender, move || {
            let _ = receiver.recv();
        })
    }

    #[tokio::test]
    async fn running_check_does_not_block_the_thread() {
        let pool = SchemaPool::default();
        let (release, check) = endless();
        // The check ends only because another task runs meanwhile on the only thread of the runtime.
        let others = async { drop(release) };
        let (checked, ()) = tokio::join!(pool.run(CHECK_TIMEOUT, check), others);
        assert_eq!(checked, Ok(()));
    }

    #[tokio::test]
    async fn abandoned_check_keeps_its_permit_until_it_ends() {
        let pool = SchemaPool::default();
        let mut releases = Vec::new();
        for _ in 0..CHECKS_AT_ONCE {
            let (release, check) = endless();
            releases.push(release);
            let outcome = pool.run(Duration::ZERO, check).await;
            assert_eq!(outcome, Err(UnfinishedCheck::Timeout(Duration::ZERO)));
        }
        let waiting = pool.run(Duration::from_millis(1), || ()).await;
        assert!(waiting.is_err(), "no permit is left");
        releases.clear();
        assert_eq!(pool.run(CHECK_TIMEOUT, || 1).await, Ok(1));
    }

    #[tokio::test]
    async fn panic_fails_only_its_own_check() {
        let pool = SchemaPool::default();
        for _ in 0..=CHECKS_AT_ONCE {
            let outcome = pool.run(CHECK_TIMEOUT, || panic!("expected")).await;
            assert_eq!(outcome, Err::<(), _>(UnfinishedCheck::Failed));
        }
        assert_eq!(pool.run(CHECK_TIMEOUT, || 1).await, Ok(1));
    }
}
