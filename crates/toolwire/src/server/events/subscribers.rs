//! The subscriptions of one event type, for the hooks of its source.
//!
//! A subscription has a key: the caller and the arguments. The hook `subscribed` runs for the first subscription with a
//! key, and `unsubscribed` after the last one. The hooks of one key never run at the same time. A poll is a subscription
//! for the time of a lease, which the next poll extends.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use tokio::runtime::Handle;
use tokio::time::Instant;
use toolwire_proto::events::{LEASE, canonical_text, exhausted};
use toolwire_types::{ErrorObject, RawJson};

use crate::engine::Principal;
use crate::server::events::context::EventContext;
use crate::server::events::erased::ErasedSource;
use crate::sync::lock;

/// The maximum number of keys of one type.
const MAX_KEYS: usize = 10_000;

/// The maximum bytes of the arguments of all keys of one type.
const MAX_KEY_BYTES: usize = 16 * 1024 * 1024;

/// The subscriptions of one event type.
pub(super) struct Subscribers {
    source: Arc<dyn ErasedSource>,
    keys: Mutex<Keys>,
}

#[derive(Default)]
struct Keys {
    by_key: HashMap<Key, Arc<Subscriber>>,
    bytes: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    principal: Principal,
    arguments: String,
}

/// The subscriptions with one key.
struct Subscriber {
    key: Key,
    ctx: EventContext,
    arguments: RawJson,
    /// The number of guards. Changed only while the keys are locked.
    guards: Mutex<usize>,
    /// Whether the hook `subscribed` ran and `unsubscribed` did not. Locked while a hook runs.
    is_started: tokio::sync::Mutex<bool>,
    /// The end of the lease of the last poll. `None` if no lease is running.
    lease_end: Mutex<Option<Instant>>,
}

impl Subscribers {
    pub(super) fn new(source: Arc<dyn ErasedSource>) -> Arc<Self> {
        Arc::new(Self {
            source,
            keys: Mutex::default(),
        })
    }

    /// Counts a subscription until the guard is dropped.
    pub(super) async fn enter(
        self: &Arc<Self>,
        ctx: &EventContext,
        arguments: &RawJson,
    ) -> Result<SubscriptionGuard, ErrorObject> {
        if !self.source.tracks_subscriptions() {
            return Ok(SubscriptionGuard(None));
        }
        let subscriber = self.add(ctx, arguments)?;
        let guard = SubscriptionGuard(Some((Arc::clone(self), Arc::clone(&subscriber))));
        let mut is_started = subscriber.is_started.lock().await;
        if !*is_started {
            self.source.subscribed(ctx, arguments).await?;
            *is_started = true;
        }
        drop(is_started);
        Ok(guard)
    }

    /// Counts a poll as a subscription for the time of the lease.
    pub(super) async fn lease(
        self: &Arc<Self>,
        ctx: &EventContext,
        arguments: &RawJson,
    ) -> Result<(), ErrorObject> {
        let guard = self.enter(ctx, arguments).await?;
        let Some((_, subscriber)) = &guard.0 else {
            return Ok(());
        };
        let end = Instant::now() + LEASE;
        let was_running = lock(&subscriber.lease_end).replace(end).is_some();
        if !was_running {
            tokio::spawn(wait_for_lease(guard));
        }
        Ok(())
    }

    fn add(&self, ctx: &EventContext, arguments: &RawJson) -> Result<Arc<Subscriber>, ErrorObject> {
        let key = Key {
            principal: ctx.principal().clone(),
            arguments: canonical_text(arguments),
        };
        let mut keys = lock(&self.keys);
        if let Some(known) = keys.by_key.get(&key) {
            *lock(&known.guards) += 1;
            return Ok(Arc::clone(known));
        }
        let bytes = keys.bytes + key.arguments.len();
        if keys.by_key.len() >= MAX_KEYS || bytes > MAX_KEY_BYTES {
            return Err(exhausted(
                "too many subscriptions with different arguments; end some first",
                "subscriptions",
                MAX_KEYS as u64,
            ));
        }
        keys.bytes = bytes;
        let subscriber = Arc::new(Subscriber {
            key: key.clone(),
            ctx: ctx.clone(),
            arguments: arguments.clone(),
            guards: Mutex::new(1),
            is_started: tokio::sync::Mutex::default(),
            lease_end: Mutex::default(),
        });
        keys.by_key.insert(key, Arc::clone(&subscriber));
        Ok(subscriber)
    }

    /// Returns `true` if no guard of the key is left. The key is then removed.
    fn remove_unused(&self, subscriber: &Subscriber) -> bool {
        let mut keys = lock(&self.keys);
        if *lock(&subscriber.guards) > 0 {
            return false;
        }
        if keys.by_key.remove(&subscriber.key).is_some() {
            keys.bytes -= subscriber.key.arguments.len();
        }
        true
    }

    /// Runs the hook `unsubscribed`, unless there is a new subscription.
    async fn end(&self, subscriber: &Subscriber) {
        let mut is_started = subscriber.is_started.lock().await;
        if !self.remove_unused(subscriber) || !*is_started {
            return;
        }
        *is_started = false;
        let Subscriber { ctx, arguments, .. } = subscriber;
        self.source.unsubscribed(ctx, arguments).await;
    }
}

/// Holds the guard of polls until no poll extends the lease any more.
async fn wait_for_lease(guard: SubscriptionGuard) {
    let Some((_, subscriber)) = &guard.0 else {
        return;
    };
    loop {
        let end = {
            let mut end = lock(&subscriber.lease_end);
            match *end {
                Some(at) if Instant::now() < at => at,
                _ => {
                    *end = None;
                    return;
                }
            }
        };
        tokio::time::sleep_until(end).await;
    }
}

/// A subscription that is counted until it is dropped.
pub(crate) struct SubscriptionGuard(Option<(Arc<Subscribers>, Arc<Subscriber>)>);

impl fmt::Debug for SubscriptionGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubscriptionGuard").finish_non_exhaustive()
    }
}

impl Drop for SubscriptionGuard {
    fn drop(&mut self) {
        let Some((subscribers, subscriber)) = self.0.take() else {
            return;
        };
        let is_last = {
            let _keys = lock(&subscribers.keys);
            let mut guards = lock(&subscriber.guards);
            *guards -= 1;
            *guards == 0
        };
        if !is_last {
            return;
        }
        match Handle::try_current() {
            Ok(runtime) => {
                runtime.spawn(async move { subscribers.end(&subscriber).await });
            }
            // The runtime has ended, and with it the program or the test. No hook can run.
            Err(_) => drop(subscribers.remove_unused(&subscriber)),
        }
    }
}
