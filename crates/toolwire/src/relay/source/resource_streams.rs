//! Follows the resources of an upstream server that clients are subscribed to.
//!
//! The resources are spread over several `subscriptions/listen` streams, apart from the stream for list changes. So a
//! resource that the server rejects, or a stream beyond a limit of the server, costs no other subscription.

use std::collections::BTreeSet;
use std::sync::Weak;
use std::time::Duration;

use tokio::task::{AbortHandle, JoinSet};
use toolwire_proto::subscriptions::Change;
use toolwire_types::SubscriptionFilter;

use crate::client::{Client, Subscription};
use crate::error::Error;
use crate::relay::connection::is_rejection;
use crate::relay::source::{SourceInner, SourceSignals};
use crate::sync::lock;

/// The maximum number of resources of one stream, and the maximum bytes of their URIs. A single longer URI has a stream
/// of its own.
const MAX_STREAM_URIS: usize = 256;
const MAX_STREAM_BYTES: usize = 32 * 1024;

/// The maximum number of resources of all streams, and the maximum bytes of their URIs. Further ones are not followed.
const MAX_URIS: usize = 10_000;
const MAX_BYTES: usize = 1024 * 1024;

/// The pause before a stream that the server has ended is opened again.
const REOPEN_PAUSE: Duration = Duration::from_secs(1);

/// Follows the resources until the connection is lost.
///
/// # Errors
/// Returns an error if the connection is lost.
pub(super) async fn follow(
    client: &Client,
    source: &Weak<SourceInner>,
    signals: &SourceSignals,
) -> Result<(), Error> {
    let declared = client.server().map(|server| server.capabilities.clone());
    let resources = declared.and_then(|declared| declared.resources);
    if resources.is_none_or(|resources| resources.subscribe != Some(true)) {
        return std::future::pending().await;
    }
    let mut streams = ResourceStreams::new(client, source);
    loop {
        let Some(subscribed) = subscribed(source) else {
            return Ok(());
        };
        streams.update(subscribed).await?;
        tokio::select! {
            () = signals.subscriptions_changed.notified() => {}
            ended = streams.ended() => {
                ended?;
                tokio::time::sleep(REOPEN_PAUSE).await;
            }
        }
    }
}

/// Returns the resources that clients are subscribed to, up to the limits. Returns `None` if the source is dropped.
fn subscribed(source: &Weak<SourceInner>) -> Option<BTreeSet<String>> {
    let source = source.upgrade()?;
    let subscriptions = lock(&source.subscriptions);
    let followed = within_limits(subscriptions.keys());
    let left_out = subscriptions.len() - followed.len();
    if left_out > 0 {
        tracing::warn!(
            upstream = source.name,
            left_out,
            "too many resources are subscribed to; updates of some are not forwarded"
        );
    }
    Some(followed)
}

/// Returns the first URIs, up to the limits for all streams.
fn within_limits<'a>(uris: impl Iterator<Item = &'a String>) -> BTreeSet<String> {
    let mut bytes = 0;
    let fits = |uri: &&String| {
        bytes += uri.len();
        bytes <= MAX_BYTES
    };
    uris.take(MAX_URIS).take_while(fits).cloned().collect()
}

/// The open streams of one connection.
struct ResourceStreams<'a> {
    client: &'a Client,
    source: &'a Weak<SourceInner>,
    open: Vec<ResourceStream>,
    /// The tasks that read the streams. A task returns an error if its stream was lost.
    tasks: JoinSet<Result<(), Error>>,
    /// The resources that the server rejected. They are tried again after all clients ended their subscriptions.
    rejected: BTreeSet<String>,
    /// The resources whose stream ended, so that updates may have been missed.
    missed: BTreeSet<String>,
}

/// A stream, which ends when the value is dropped.
struct ResourceStream {
    uris: BTreeSet<String>,
    task: AbortHandle,
}

impl Drop for ResourceStream {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl<'a> ResourceStreams<'a> {
    fn new(client: &'a Client, source: &'a Weak<SourceInner>) -> Self {
        Self {
            client,
            source,
            open: Vec::new(),
            tasks: JoinSet::new(),
            rejected: BTreeSet::new(),
            missed: BTreeSet::new(),
        }
    }

    /// Opens and ends streams, so that exactly these resources are followed. New streams are open before those that they
    /// replace end. Small streams are joined when another one has to be opened.
    ///
    /// # Errors
    /// Returns an error if the connection is lost. A resource that the server rejects is no error.
    async fn update(&mut self, subscribed: BTreeSet<String>) -> Result<(), Error> {
        self.rejected.retain(|uri| subscribed.contains(uri));
        let mut wanted = subscribed;
        wanted.retain(|uri| !self.rejected.contains(uri));
        let (current, mut replaced) = partition(std::mem::take(&mut self.open), |stream| {
            stream.uris.is_subset(&wanted)
        });
        let is_complete = missing(&wanted, &current).is_empty();
        let (kept, small) = partition(current, |stream| is_complete || stream.is_large());
        replaced.extend(small);
        let missing = missing(&wanted, &kept);
        self.open = kept;
        for batch in batches(missing) {
            self.open(batch).await?;
        }
        drop(replaced);
        self.announce_missed(&wanted);
        Ok(())
    }

    /// Opens a stream. If the server rejects it, opens one for each half, so that only the rejected resources are left
    /// out.
    async fn open(&mut self, uris: Vec<String>) -> Result<(), Error> {
        let mut batches = vec![uris];
        while let Some(mut batch) = batches.pop() {
            let mut filter = SubscriptionFilter::new();
            for uri in &batch {
                filter = filter.with_resource(uri);
            }
            match self.client.listen(filter).await {
                Ok(subscription) => {
                    let reading = read(subscription, Weak::clone(self.source));
                    let task = self.tasks.spawn(reading);
                    let uris = batch.into_iter().collect();
                    self.open.push(ResourceStream { uris, task });
                }
                Err(error) if !is_rejection(&error) => return Err(error),
                Err(error) if batch.len() == 1 => {
                    tracing::warn!(%error, "the upstream server did not accept a subscription to a resource");
                    self.rejected.extend(batch);
                }
                Err(_) => {
                    let half = batch.split_off(batch.len() / 2);
                    batches.extend([half, batch]);
                }
            }
        }
        Ok(())
    }

    /// Waits until a stream ends.
    ///
    /// # Errors
    /// Returns an error if the connection is lost.
    async fn ended(&mut self) -> Result<(), Error> {
        loop {
            let Some(ended) = self.tasks.join_next_with_id().await else {
                return std::future::pending().await;
            };
            let (id, outcome) = match ended {
                Ok((id, outcome)) => (id, outcome),
                // The stream was replaced, or the task panicked.
                Err(error) => (error.id(), Ok(())),
            };
            let position = self.open.iter().position(|stream| stream.task.id() == id);
            let Some(position) = position else {
                continue;
            };
            let stream = self.open.swap_remove(position);
            self.missed.extend(stream.uris.iter().cloned());
            return match outcome {
                Err(error) if !is_rejection(&error) => Err(error),
                _ => Ok(()),
            };
        }
    }

    /// Announces the resources whose updates may have been missed.
    fn announce_missed(&mut self, wanted: &BTreeSet<String>) {
        let Some(source) = self.source.upgrade() else {
            return;
        };
        for uri in std::mem::take(&mut self.missed).intersection(wanted) {
            source.resource_updated(uri);
        }
    }
}

impl ResourceStream {
    /// Returns `true` if the stream has at least half of the resources that it could have.
    fn is_large(&self) -> bool {
        let bytes: usize = self.uris.iter().map(String::len).sum();
        self.uris.len() >= MAX_STREAM_URIS / 2 || bytes >= MAX_STREAM_BYTES / 2
    }
}

/// Returns the streams that meet a condition, and the others.
fn partition(
    streams: Vec<ResourceStream>,
    condition: impl Fn(&ResourceStream) -> bool,
) -> (Vec<ResourceStream>, Vec<ResourceStream>) {
    streams.into_iter().partition(condition)
}

/// Returns the wanted resources that no stream has.
fn missing(wanted: &BTreeSet<String>, streams: &[ResourceStream]) -> BTreeSet<String> {
    let is_followed = |uri: &String| streams.iter().any(|stream| stream.uris.contains(uri));
    let missing = wanted.iter().filter(|uri| !is_followed(uri));
    missing.cloned().collect()
}

/// Passes the updates of a stream to the source, until the stream ends.
async fn read(mut subscription: Subscription, source: Weak<SourceInner>) -> Result<(), Error> {
    while let Some(change) = subscription.next().await? {
        let Some(source) = source.upgrade() else {
            return Ok(());
        };
        if let Change::ResourceUpdated(uri) = change {
            source.resource_updated(&uri);
        }
    }
    Ok(())
}

/// Distributes URIs to streams within the limits of a stream.
fn batches(uris: BTreeSet<String>) -> Vec<Vec<String>> {
    let mut batches: Vec<Vec<String>> = Vec::new();
    let mut bytes = 0;
    for uri in uris {
        bytes += uri.len();
        match batches.last_mut() {
            Some(last) if last.len() < MAX_STREAM_URIS && bytes <= MAX_STREAM_BYTES => {
                last.push(uri);
            }
            _ => {
                bytes = uri.len();
                batches.push(vec![uri]);
            }
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uris(count: usize, length: usize) -> BTreeSet<String> {
        (0..count)
            .map(|number| format!("{number:0length$}"))
            .collect()
    }

    #[test]
    fn streams_have_at_most_their_limits() {
        let check = |count: usize, length: usize, expected: &[usize]| {
            let batches = batches(uris(count, length));
            let sizes: Vec<usize> = batches.iter().map(Vec::len).collect();
            assert_eq!(sizes, expected, "{count} URIs of {length} bytes");
        };
        check(0, 8, &[]);
        check(MAX_STREAM_URIS, 8, &[MAX_STREAM_URIS]);
        check(MAX_STREAM_URIS + 1, 8, &[MAX_STREAM_URIS, 1]);
        check(2, MAX_STREAM_BYTES / 2, &[2]);
        check(2, MAX_STREAM_BYTES / 2 + 1, &[1, 1]);
        check(2, MAX_STREAM_BYTES + 1, &[1, 1]);
    }

    #[test]
    fn further_resources_are_not_followed() {
        let check = |count: usize, length: usize, expected: usize| {
            let followed = within_limits(uris(count, length).iter());
            assert_eq!(followed.len(), expected, "{count} URIs of {length} bytes");
        };
        check(MAX_URIS, 8, MAX_URIS);
        check(MAX_URIS + 1, 8, MAX_URIS);
        let length = MAX_BYTES / 32;
        check(32, length, 32);
        check(33, length, 32);
        check(32, length + 1, 31);
    }
}
