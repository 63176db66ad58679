//! Keeps the entries of an upstream server up to date.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::Instant;
use toolwire_proto::features::Era;
use toolwire_types::SubscriptionFilter;

use crate::client::{Client, ClientBuilder, ClientLimits, Subscription};
use crate::error::Error;
use crate::relay::connection::is_rejection;
use crate::relay::source::entries::UpstreamEntries;
use crate::relay::source::resource_streams;
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
    let mut changes = ListChanges::open(&client).await?;
    let Some(mut entries) = read(&client, &limits, source).await? else {
        return Ok(());
    };
    let resources = resource_streams::follow(&client, source, signals);
    let mut resources = std::pin::pin!(resources);
    loop {
        let interval = entries.ttl.max(MIN_READ_INTERVAL);
        let reads_again = entries.has_rejected_list || !changes.announces_lists;
        tokio::select! {
            changed = changes.next() => changed?,
            ended = &mut resources => return ended,
            () = signals.lists_changed.notified() => {}
            () = tokio::time::sleep(interval), if reads_again => {}
        }
        let read = read(&client, &limits, source).await?;
        let Some(read) = read else {
            return Ok(());
        };
        entries = read;
    }
}

/// Reads the lists and replaces the entries. Returns `None` if the source is dropped.
async fn read(
    client: &Client,
    limits: &ClientLimits,
    source: &Weak<SourceInner>,
) -> Result<Option<Arc<UpstreamEntries>>, Error> {
    let Some(previous) = source.upgrade().map(|source| source.entries()) else {
        return Ok(None);
    };
    let entries = UpstreamEntries::read(client, limits, &previous).await?;
    let entries = Arc::new(entries);
    let Some(source) = source.upgrade() else {
        return Ok(None);
    };
    *lock(&source.entries) = Arc::clone(&entries);
    source.announce();
    let connect = |status: &mut ConnectionStatus| {
        if !status.is_connected() {
            status.connect();
        }
    };
    source.status.send_modify(connect);
    Ok(Some(entries))
}

/// The changes of lists that the upstream server announces.
struct ListChanges {
    /// `None` if the server announces no changes.
    subscription: Option<Subscription>,
    /// Whether the server announces the changes of all lists that it has.
    announces_lists: bool,
}

impl ListChanges {
    /// Subscribes to the changes. A server that rejects this announces none.
    ///
    /// # Errors
    /// Returns an error if the server does not respond.
    async fn open(client: &Client) -> Result<Self, Error> {
        let (filter, announces_lists) = filter(client);
        if filter == SubscriptionFilter::new() {
            return Ok(Self {
                subscription: None,
                announces_lists,
            });
        }
        match client.listen(filter).await {
            Ok(subscription) => Ok(Self {
                subscription: Some(subscription),
                announces_lists,
            }),
            Err(error) if is_rejection(&error) => {
                tracing::warn!(%error, "the upstream server does not announce changes of its lists");
                Ok(Self {
                    subscription: None,
                    announces_lists: false,
                })
            }
            Err(error) => Err(error),
        }
    }

    /// Waits for a change.
    ///
    /// # Errors
    /// Returns an error if the subscription has ended.
    async fn next(&mut self) -> Result<(), Error> {
        let Some(subscription) = &mut self.subscription else {
            return std::future::pending().await;
        };
        let change = subscription.next().await?;
        change.map(drop).ok_or_else(Error::closed)
    }
}

/// Returns the changes to subscribe to, and whether the server announces the changes of all its lists.
fn filter(client: &Client) -> (SubscriptionFilter, bool) {
    let details = client.server();
    let declared = details.map(|details| details.capabilities.clone());
    let declared = declared.unwrap_or_default();
    let tools = declared.tools.map(|tools| tools.list_changed == Some(true));
    let prompts = declared
        .prompts
        .map(|prompts| prompts.list_changed == Some(true));
    let resources = declared
        .resources
        .map(|resources| resources.list_changed == Some(true));
    let mut filter = SubscriptionFilter::new();
    filter.tools_list_changed = tools.filter(|announces| *announces);
    filter.prompts_list_changed = prompts.filter(|announces| *announces);
    filter.resources_list_changed = resources.filter(|announces| *announces);
    let mut announced = [tools, prompts, resources].into_iter().flatten();
    (filter, announced.all(|announces| announces))
}
