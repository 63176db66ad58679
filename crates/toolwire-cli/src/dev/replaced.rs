//! Closes replaced servers after their last calls.

use std::time::Duration;

use tokio::task::JoinSet;

use crate::dev::calls_in_flight::CallsInFlight;

/// How long a request may take between the choice of its server and its count as a running call.
const ROUTING_TIME: Duration = Duration::from_millis(100);

/// The maximum number of replaced servers whose calls still run. The next start waits for the first of them.
const MAX_REPLACED: usize = 4;

/// The replaced servers that are not closed yet.
#[derive(Debug)]
pub(super) struct ReplacedServers {
    calls: CallsInFlight,
    /// How long running calls may take to end.
    grace: Duration,
    closing: JoinSet<()>,
}

impl ReplacedServers {
    pub(super) fn new(calls: CallsInFlight, grace: Duration) -> Self {
        Self {
            calls,
            grace,
            closing: JoinSet::new(),
        }
    }

    /// Runs `close` after the running calls of a server that was replaced just now have ended, or after the grace period.
    pub(super) fn close_later(&mut self, close: impl Future<Output = ()> + Send + 'static) {
        let (calls, grace) = (self.calls.clone(), self.grace);
        self.closing.spawn(async move {
            tokio::time::sleep(ROUTING_TIME).await;
            let period = calls.end_period();
            let _ = tokio::time::timeout(grace, calls.ended(period)).await;
            close.await;
        });
    }

    /// Runs `close` for a server that has got no calls.
    pub(super) fn close_now(&mut self, close: impl Future<Output = ()> + Send + 'static) {
        self.closing.spawn(close);
    }

    /// Waits until the number of replaced servers is below the limit.
    pub(super) async fn wait_for_capacity(&mut self) {
        while self.closing.len() >= MAX_REPLACED {
            self.closing.join_next().await;
        }
    }

    /// Removes the servers that are closed.
    pub(super) fn remove_closed(&mut self) {
        while self.closing.try_join_next().is_some() {}
    }

    /// Drops all servers without waiting for their calls.
    pub(super) fn abort(&mut self) {
        self.closing.abort_all();
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use tokio::sync::oneshot;
    use tokio::time::{Instant, timeout};

    use super::*;

    const GRACE: Duration = Duration::from_secs(10);

    /// Replaces a server, and returns what reports that it is closed.
    fn replace(replaced: &mut ReplacedServers) -> oneshot::Receiver<()> {
        let (sender, closed) = oneshot::channel();
        replaced.close_later(async move {
            let _ = sender.send(());
        });
        closed
    }

    #[tokio::test(start_paused = true)]
    async fn replaced_server_is_closed_after_its_last_call_or_the_grace_period() {
        let calls = CallsInFlight::default();
        let mut replaced = ReplacedServers::new(calls.clone(), GRACE);

        let start = Instant::now();
        replace(&mut replaced).await.expect("it is closed");
        assert_eq!(start.elapsed(), ROUTING_TIME);

        let (start, call) = (Instant::now(), calls.begin());
        let mut closed = replace(&mut replaced);
        let seconds = Duration::from_secs(3);
        assert!(timeout(seconds, &mut closed).await.is_err());
        drop(call);
        closed.await.expect("it is closed");
        assert_eq!(start.elapsed(), seconds);

        let (start, _call) = (Instant::now(), calls.begin());
        replace(&mut replaced).await.expect("it is closed");
        assert_eq!(start.elapsed(), ROUTING_TIME + GRACE);
    }

    #[tokio::test(start_paused = true)]
    async fn fifth_replaced_server_waits_for_the_first_one() {
        let calls = CallsInFlight::default();
        let mut replaced = ReplacedServers::new(calls.clone(), GRACE);
        let mut running = Vec::new();
        for _ in 0..MAX_REPLACED {
            replaced.wait_for_capacity().await;
            running.push(calls.begin());
            let _closed = replace(&mut replaced);
            // The next server is replaced later than its requests are routed.
            tokio::time::sleep(2 * ROUTING_TIME).await;
        }
        let mut room = pin!(replaced.wait_for_capacity());
        assert!(timeout(Duration::from_secs(1), &mut room).await.is_err());
        drop(running.remove(0));
        let start = Instant::now();
        room.await;
        assert_eq!(start.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn call_of_one_server_does_not_delay_the_next_ones() {
        let calls = CallsInFlight::default();
        let mut replaced = ReplacedServers::new(calls.clone(), GRACE);
        let _call = calls.begin();
        let mut first = replace(&mut replaced);
        // The second server may have got requests of the first period, so it is closed like the first one.
        tokio::time::sleep(2 * ROUTING_TIME).await;
        let _second = replace(&mut replaced);
        tokio::time::sleep(2 * ROUTING_TIME).await;
        for _ in 0..MAX_REPLACED {
            let start = Instant::now();
            replaced.wait_for_capacity().await;
            replace(&mut replaced).await.expect("it is closed");
            assert_eq!(start.elapsed(), ROUTING_TIME);
        }
        assert!(first.try_recv().is_err());
    }
}
