//! Counts running calls, so that a replaced server ends after its last call.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::watch::Sender;
use toolwire::BoxFuture;
use toolwire::middleware::{Middleware, Next, Outcome, Request};

/// The running calls, by the period in which they began. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct CallsInFlight(Arc<Sender<Periods>>);

#[derive(Debug, Default)]
struct Periods {
    current: u64,
    /// The number of running calls of each period that has some.
    running: BTreeMap<u64, usize>,
}

impl CallsInFlight {
    /// Begins a new period, and returns the previous one.
    pub(super) fn end_period(&self) -> u64 {
        let mut ended = 0;
        self.0.send_modify(|periods| {
            ended = periods.current;
            periods.current += 1;
        });
        ended
    }

    /// Waits until all calls have ended that began in this period or before.
    pub(super) async fn ended(&self, period: u64) {
        let mut periods = self.0.subscribe();
        let is_over = |periods: &Periods| periods.running.range(..=period).next().is_none();
        // The sender lives as long as `self`.
        let _ = periods.wait_for(is_over).await;
    }

    fn begin(&self) -> RunningCall {
        let mut period = 0;
        self.0.send_modify(|periods| {
            period = periods.current;
            *periods.running.entry(period).or_default() += 1;
        });
        RunningCall {
            calls: self.clone(),
            period,
        }
    }
}

impl Middleware for CallsInFlight {
    fn handle<'a>(&'a self, request: &'a mut Request, next: Next<'a>) -> BoxFuture<'a, Outcome> {
        let running = self.begin();
        Box::pin(async move {
            let outcome = next.run(request).await;
            drop(running);
            outcome
        })
    }
}

/// A running call. It ends on drop.
#[derive(Debug)]
struct RunningCall {
    calls: CallsInFlight,
    period: u64,
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.calls.0.send_modify(|periods| {
            if let Some(count) = periods.running.get_mut(&self.period) {
                *count -= 1;
                if *count == 0 {
                    periods.running.remove(&self.period);
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn period_is_over_after_its_last_call() {
        let calls = CallsInFlight::default();
        let (first, second) = (calls.begin(), calls.begin());
        let period = calls.end_period();
        let _later = calls.begin();
        let mut ended = pin!(calls.ended(period));
        assert!(timeout(Duration::ZERO, &mut ended).await.is_err());
        drop(first);
        assert!(timeout(Duration::ZERO, &mut ended).await.is_err());
        drop(second);
        ended.await;
    }
}
