//! Keeps the entries of an upstream server up to date.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::Instant;
use toolwire_proto::features::Era;
use toolwire_types::SubscriptionFilter;

use crate::client::{Client, ClientBuilder, ClientLimits, Subscription};
use crate::error::Error;
use crate::relay::connection::is_rejection;
use crate::relay::credentials::is_credential_error;
use crate::relay::forwarder::Relay;
use crate::relay::source::entries::UpstreamEntries;
use crate::relay::source::resource_streams;
use crate::relay::source::state::ConnectionStatus;
use crate::relay::source::{ListFreshness, SourceInner, SourceSignals};
use crate::sync::lock;

/// The pauses between attempts to connect: the first, and the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// A connection of this age counts as stable, so that the next pause is the first one again.
const STABLE_AGE: Duration = Duration::from_secs(60);

/// The shortest time between two reads of lists whose changes are not announced.
const MIN_READ_INTERVAL: Duration = Duration::from_secs(60);

/// The pause after a reading of the lists, however many changes the server announces.
const CHANGE_PAUSE: Duration = Duration::from_millis(100);

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
        if is_credential_error(&error) {
            tracing::info!(upstream = source.name, %error, "the lists need credentials");
        } else {
            tracing::warn!(upstream = source.name, %error, "the upstream server is not reachable");
        }
        source.status.send_modify(|status| status.lose(&error));
        source.set_outdated();
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
    drop(relay.open().await?);
    let builder = ClientBuilder::new("toolwire-relay", env!("CARGO_PKG_VERSION"));
    let builder = builder.with_era(Era::Modern).with_limits(limits.clone());
    let client = builder.in_process(relay.server()).await?;
    let mut changes = ListChanges::open(&client).await?;
    let announces_lists = changes.announces_lists;
    let read_lists = async {
        while let Some(entries) = read(&relay, &client, &limits, announces_lists, source).await? {
            let reads_again = entries.has_rejected_list || !announces_lists;
            tokio::time::sleep(CHANGE_PAUSE).await;
            tokio::select! {
                () = signals.lists_changed.notified() => {}
                () = tokio::time::sleep(entries.hint.ttl.max(MIN_READ_INTERVAL)), if reads_again => {}
            }
        }
        Ok(())
    };
    tokio::select! {
        ended = read_lists => ended,
        ended = changes.follow(signals) => ended,
        ended = resource_streams::follow(&client, source, signals) => ended,
    }
}

/// Reads the lists and replaces the entries. Returns `None` if the source is dropped.
async fn read(
    relay: &Relay,
    client: &Client,
    limits: &ClientLimits,
    announces_lists: bool,
    source: &Weak<SourceInner>,
) -> Result<Option<Arc<UpstreamEntries>>, Error> {
    let Some(previous) = source.upgrade().map(|source| source.entries()) else {
        return Ok(None);
    };
    let upstream = relay.open().await?;
    let entries = UpstreamEntries::read(client, &upstream, limits, &previous).await?;
    let freshness = if announces_lists && !entries.has_rejected_list {
        ListFreshness::Current
    } else {
        ListFreshness::Unknown
    };
    let entries = Arc::new(entries);
    let Some(source) = source.upgrade() else {
        return Ok(None);
    };
    *lock(&source.entries) = Arc::clone(&entries);
    *lock(&source.freshness) = freshness;
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

    /// Signals changes until the subscription ends. All changes during one reading of the lists cause one further
    /// reading.
    ///
    /// # Errors
    /// Returns an error if the subscription has ended.
    async fn follow(&mut self, signals: &SourceSignals) -> Result<(), Error> {
        let Some(subscription) = &mut self.subscription else {
            return std::future::pending().await;
        };
        while subscription.next().await?.is_some() {
            signals.lists_changed.notify_one();
        }
        Err(Error::closed())
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
