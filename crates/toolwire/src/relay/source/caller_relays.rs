//! The relays of callers that have credentials of their own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;

use crate::engine::Principal;
use crate::relay::forwarder::Relay;
use crate::relay::upstream::Upstream;
use crate::sync::lock;

/// The maximum number of callers with connections. The one that was idle for the longest time gives way.
const MAX_CALLERS: usize = 256;

/// How long the connections of a caller stay open without a request. A call that waits for input has no request, and may
/// wait for 10 min.
const MAX_IDLE_TIME: Duration = Duration::from_secs(900);

/// The relays of callers, each with connections of its own.
#[derive(Debug)]
pub(super) struct CallerRelays {
    upstream: Upstream,
    by_caller: Mutex<HashMap<Principal, CallerRelay>>,
}

#[derive(Debug)]
struct CallerRelay {
    /// Requests hold a clone.
    relay: Arc<Relay>,
    used: Instant,
}

impl CallerRelays {
    pub(super) fn new(upstream: Upstream) -> Self {
        Self {
            upstream,
            by_caller: Mutex::default(),
        }
    }

    /// Returns the relay of a caller.
    pub(super) fn get(&self, caller: &Principal) -> Arc<Relay> {
        let now = Instant::now();
        let mut relays = lock(&self.by_caller);
        let mut unused: Vec<Arc<Relay>> = Vec::new();
        relays.retain(|other, entry| {
            let is_kept = other == caller || !entry.is_idle() || now - entry.used < MAX_IDLE_TIME;
            if !is_kept {
                unused.push(Arc::clone(&entry.relay));
            }
            is_kept
        });
        if relays.len() >= MAX_CALLERS && !relays.contains_key(caller) {
            let idle = relays.iter().filter(|(_, entry)| entry.is_idle());
            let oldest = idle.min_by_key(|(_, entry)| entry.used);
            if let Some(oldest) = oldest.map(|(caller, _)| caller.clone()) {
                unused.extend(relays.remove(&oldest).map(|entry| entry.relay));
            }
        }
        let entry = relays.entry(caller.clone()).or_insert_with(|| {
            let upstream = self.upstream.clone().for_caller(caller.clone());
            CallerRelay {
                relay: Arc::new(upstream.relay()),
                used: now,
            }
        });
        entry.used = now;
        let relay = Arc::clone(&entry.relay);
        drop(relays);
        for relay in unused {
            tokio::spawn(async move { relay.close().await });
        }
        relay
    }

    /// Closes the connections of all callers.
    pub(super) async fn close(&self) {
        let relays = std::mem::take(&mut *lock(&self.by_caller));
        for entry in relays.into_values() {
            entry.relay.close().await;
        }
    }
}

impl CallerRelay {
    /// Returns `true` if no request uses the relay.
    fn is_idle(&self) -> bool {
        Arc::strong_count(&self.relay) == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    fn caller(number: usize) -> Principal {
        Principal::from_stored(Some(&number.to_string()))
    }

    #[tokio::test(start_paused = true)]
    async fn idle_callers_give_way_beyond_the_limit_and_after_a_while() {
        let upstream = Upstream::new(|_| async { Err(Error::closed()) });
        let relays = CallerRelays::new(upstream);
        let used = relays.get(&caller(0));
        for number in 1..MAX_CALLERS {
            relays.get(&caller(number));
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        assert_eq!(lock(&relays.by_caller).len(), MAX_CALLERS);
        relays.get(&caller(MAX_CALLERS));
        assert_eq!(lock(&relays.by_caller).len(), MAX_CALLERS);
        // The first one runs a request, so the second one gave way.
        assert!(Arc::ptr_eq(&used, &relays.get(&caller(0))));
        assert!(!lock(&relays.by_caller).contains_key(&caller(1)));
        tokio::time::advance(MAX_IDLE_TIME).await;
        relays.get(&caller(1));
        assert_eq!(lock(&relays.by_caller).len(), 2);
    }
}
