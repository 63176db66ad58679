//! Counts running calls, so that a replaced server ends after its last call.
//!
//! A period ends shortly after a server was replaced, when the requests that were routed to it are counted. So the calls of
//! a server began in the period that ends after its replacement, or at the end of the period before.

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

    /// Waits until all calls have ended that began in this period or in the one before.
    pub(super) async fn ended(&self, period: u64) {
        let mut periods = self.0.subscribe();
        let both = period.saturating_sub(1)..=period;
        let is_over = |periods: &Periods| periods.running.range(both.clone()).next().is_none();
        // The sender lives as long as `self`.
        let _ = periods.wait_for(is_over).await;
    }

    /// Counts a call of the current period until the returned value is dropped.
    pub(super) fn begin(&self) -> RunningCall {
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
pub(super) struct RunningCall {
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

    #[tokio::test]
    async fn calls_of_the_period_before_count_and_earlier_ones_do_not() {
        let calls = CallsInFlight::default();
        let call = calls.begin();
        let periods = [calls.end_period(), calls.end_period(), calls.end_period()];
        assert_eq!(periods, [0, 1, 2]);
        for (period, is_over) in [(0, false), (1, false), (2, true)] {
            let ended = timeout(Duration::ZERO, calls.ended(period)).await;
            assert_eq!(ended.is_ok(), is_over, "{period}");
        }
        drop(call);
        calls.ended(1).await;
    }
}
