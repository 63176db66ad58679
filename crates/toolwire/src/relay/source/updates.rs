//! Keeps the entries of an upstream server up to date.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::Instant;
use toolwire_proto::features::Era;
use toolwire_proto::subscriptions::Change;
use toolwire_types::SubscriptionFilter;

use crate::client::{Client, ClientBuilder, Subscription};
use crate::error::Error;
use crate::relay::source::entries::UpstreamEntries;
use crate::relay::source::state::ConnectionStatus;
use crate::relay::source::{SourceInner, SourceSignals};
use crate::sync::lock;

/// The pauses between attempts to connect: the first, and the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// A connection of this age counts as stable, so that the next pause is the first one again.
const STABLE_AGE: Duration = Duration::from_secs(60);

/// The shortest time between two reads of lists whose changes are not announced.
const MIN_READ_INTERVAL: Duration = Duration::from_secs(60);

/// Connects, and connects again after each loss, until the source is dropped.
pub(super) async fn run(source: Weak<SourceInner>, signals: Arc<SourceSignals>) {
    let mut pause = FIRST_PAUSE;
    loop {
        let start = Instant::now();
        let error = match follow(&source, &signals).await {
            Ok(()) => return,
            Err(error) => error,
        };
        let Some(source) = source.upgrade() else {
            return;
        };
        tracing::warn!(upstream = source.name, %error, "the upstream server is not reachable");
        source.status.send_modify(|status| status.lose(&error));
        drop(source);
        if start.elapsed() >= STABLE_AGE {
            pause = FIRST_PAUSE;
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => pause = (pause * 2).min(LONGEST_PAUSE),
            () = signals.retry.notified() => {}
        }
    }
}

/// Reads the lists, and follows their changes until the connection is lost. Returns `Ok` if the source is dropped.
async fn follow(source: &Weak<SourceInner>, signals: &SourceSignals) -> Result<(), Error> {
    let Some((relay, limits)) = source
        .upgrade()
        .map(|source| (source.relay.clone(), source.limits.clone()))
    else {
        return Ok(());
    };
    // The client below would only learn that its first request failed.
    let is_modern = relay.open().await?;
    if let Some(source) = source.upgrade() {
        source.is_modern.store(is_modern, Ordering::Release);
    }
    let builder = ClientBuilder::new("toolwire-relay", env!("CARGO_PKG_VERSION"));
    let builder = builder.with_era(Era::Modern).with_limits(limits.clone());
    let client = builder.in_process(relay.server()).await?;
    let mut changes = SourceChanges::open(&client, source).await?;
    let entries = UpstreamEntries::read(&client, &limits).await?;
    let mut ttl = entries.ttl;
    if !replace(source, entries) {
        return Ok(());
    }
    loop {
        let interval = ttl.max(MIN_READ_INTERVAL);
        let announces_lists = changes.announces_lists;
        let reread = async {
            if announces_lists {
                std::future::pending::<()>().await;
            } else {
                tokio::time::sleep(interval).await;
            }
        };
        tokio::select! {
            change = changes.next() => {
                if let Change::ResourceUpdated(uri) = change? {
                    if let Some(source) = source.upgrade() {
                        source.resource_updated(&uri);
                    }
                    continue;
                }
            }
            () = signals.lists_changed.notified() => {}
            () = reread => {}
            () = signals.subscriptions_changed.notified() => {
                changes.subscribe(&client, source).await;
                continue;
            }
        }
        let entries = UpstreamEntries::read(&client, &limits).await?;
        ttl = entries.ttl;
        if !replace(source, entries) {
            return Ok(());
        }
    }
}

/// Replaces the entries. Returns `false` if the source is dropped.
fn replace(source: &Weak<SourceInner>, entries: UpstreamEntries) -> bool {
    let Some(source) = source.upgrade() else {
        return false;
    };
    *lock(&source.entries) = Arc::new(entries);
    source.announce();
    let connect = |status: &mut ConnectionStatus| {
        if !status.is_connected() {
            status.connect();
        }
    };
    source.status.send_modify(connect);
    true
}

/// The changes that the upstream server announces.
struct SourceChanges {
    /// `None` if the server announces no changes.
    subscription: Option<Subscription>,
    /// Whether the server announces the changes of all lists that it has.
    announces_lists: bool,
}

impl SourceChanges {
    async fn open(client: &Client, source: &Weak<SourceInner>) -> Result<Self, Error> {
        let (filter, announces_lists) = filter(client, source);
        let subscription = if filter == SubscriptionFilter::new() {
            None
        } else {
            Some(client.listen(filter).await?)
        };
        Ok(Self {
            subscription,
            announces_lists,
        })
    }

    /// Subscribes to the resources that clients are subscribed to now. The previous subscription ends after that.
    async fn subscribe(&mut self, client: &Client, source: &Weak<SourceInner>) {
        match Self::open(client, source).await {
            Ok(changes) => *self = changes,
            Err(error) => {
                tracing::warn!(%error, "the upstream server did not accept a subscription");
            }
        }
    }

    /// Waits for a change.
    ///
    /// # Errors
    /// Returns an error if the subscription has ended.
    async fn next(&mut self) -> Result<Change, Error> {
        match &mut self.subscription {
            Some(subscription) => subscription.next().await?.ok_or_else(Error::closed),
            None => std::future::pending().await,
        }
    }
}

/// Returns the changes to subscribe to, and whether the server announces the changes of all its lists.
fn filter(client: &Client, source: &Weak<SourceInner>) -> (SubscriptionFilter, bool) {
    let details = client.server();
    let declared = details.map(|details| details.capabilities.clone());
    let declared = declared.unwrap_or_default();
    let tools = declared.tools.map(|tools| tools.list_changed == Some(true));
    let prompts = declared
        .prompts
        .map(|prompts| prompts.list_changed == Some(true));
    let resources = declared.resources.as_ref();
    let lists = resources.map(|resources| resources.list_changed == Some(true));
    let mut filter = SubscriptionFilter::new();
    filter.tools_list_changed = tools.filter(|announces| *announces);
    filter.prompts_list_changed = prompts.filter(|announces| *announces);
    filter.resources_list_changed = lists.filter(|announces| *announces);
    if resources.is_some_and(|resources| resources.subscribe == Some(true))
        && let Some(source) = source.upgrade()
    {
        for uri in lock(&source.subscriptions).keys() {
            filter = filter.with_resource(uri);
        }
    }
    let announces_lists = [tools, prompts, lists].into_iter().flatten().all(|all| all);
    (filter, announces_lists)
}
