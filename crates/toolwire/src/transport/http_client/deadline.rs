//! The time that making a connection may take, all its steps together.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::engine::deadline_after;
use crate::transport::http_client::{HttpFailure, HttpStep};

/// The end of that time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    at: Instant,
    after: Duration,
}

impl Deadline {
    pub(super) fn after(time: Duration) -> Self {
        Self {
            at: deadline_after(Instant::now(), time),
            after: time,
        }
    }

    /// Waits for one step, which `doing` names when it takes too long.
    pub(super) async fn bound<T>(
        self,
        step: HttpStep,
        doing: impl FnOnce() -> String,
        work: impl Future<Output = T>,
    ) -> Result<T, HttpFailure> {
        timeout_at(self.at, work).await.map_err(|_| {
            let what = format!("{} was not done within {:?}", doing(), self.after);
            HttpFailure::new(step, what).with_advice(
                "check the address, the network and its firewalls, or allow more time to connect",
            )
        })
    }
}
