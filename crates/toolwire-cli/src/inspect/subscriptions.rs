//! Listens for changes of lists and of resources.

use std::collections::BTreeMap;

use serde_json::json;
use tokio::task::{AbortHandle, Id};
use toolwire::types::SubscriptionFilter;
use toolwire::{Change, Client, Error, Subscription};

use crate::inspect::events::PageEvents;
use crate::inspect::lists::ListKind;

/// The maximum number of resources with a subscription.
pub(super) const MAX_RESOURCES: usize = 256;

/// The subscriptions of the page. They continue on the next connection. Dropping them ends them.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    lists: Option<AbortHandle>,
    /// The task of each resource. `None` while there is no connection.
    resources: BTreeMap<String, Option<AbortHandle>>,
}

impl Subscriptions {
    /// Returns the URIs of the resources.
    pub(super) fn uris(&self) -> Vec<String> {
        self.resources.keys().cloned().collect()
    }

    pub(super) fn is_full(&self) -> bool {
        self.resources.len() >= MAX_RESOURCES
    }

    /// Ends all tasks. The resources wait for the next connection.
    pub(super) fn disconnect(&mut self) {
        for task in self
            .lists
            .take()
            .into_iter()
            .chain(self.resources.values_mut().filter_map(Option::take))
        {
            task.abort();
        }
    }

    /// Adds the task that listens for changes of lists.
    pub(super) fn set_lists(&mut self, task: AbortHandle) {
        if let Some(earlier) = self.lists.replace(task) {
            earlier.abort();
        }
    }

    /// Adds the task that listens for changes of a resource.
    pub(super) fn insert(&mut self, uri: String, task: AbortHandle) {
        if let Some(Some(earlier)) = self.resources.insert(uri, Some(task)) {
            earlier.abort();
        }
    }

    pub(super) fn remove(&mut self, uri: &str) {
        if let Some(Some(task)) = self.resources.remove(uri) {
            task.abort();
        }
    }

    /// Removes a resource whose task ends by itself. Returns `false` if another task listens meanwhile.
    pub(super) fn remove_ended(&mut self, uri: &str, task: Id) -> bool {
        let current = self.resources.get(uri).and_then(Option::as_ref);
        let is_current = current.is_some_and(|current| current.id() == task);
        if is_current {
            self.resources.remove(uri);
        }
        is_current
    }
}

impl Drop for Subscriptions {
    fn drop(&mut self) {
        self.disconnect();
    }
}

/// Starts a task that reports changes of all lists.
pub(super) fn listen_to_lists(client: Client, events: PageEvents) -> AbortHandle {
    let filter = SubscriptionFilter::new()
        .with_tools_list_changed()
        .with_prompts_list_changed()
        .with_resources_list_changed();
    let task = tokio::spawn(async move {
        // Many servers do not report changes. The page can load lists again.
        if let Ok(mut subscription) = client.listen(filter).await {
            while let Ok(Some(change)) = subscription.next().await {
                report(&change, &events);
            }
        }
    });
    task.abort_handle()
}

/// Subscribes to a resource. Pass the subscription to [`listen_to_resource`].
pub(super) async fn subscribe(client: &Client, uri: &str) -> Result<Subscription, Error> {
    let filter = SubscriptionFilter::new().with_resource(uri.to_owned());
    client.listen(filter).await
}

/// Reports the changes of a resource until the subscription ends.
pub(super) async fn listen_to_resource(mut subscription: Subscription, events: PageEvents) {
    while let Ok(Some(change)) = subscription.next().await {
        report(&change, &events);
    }
}

fn report(change: &Change, events: &PageEvents) {
    let list = |kind: ListKind| events.send("list", &json!({ "kind": kind }));
    match change {
        Change::ToolsListChanged => list(ListKind::Tools),
        Change::PromptsListChanged => list(ListKind::Prompts),
        Change::ResourcesListChanged => {
            list(ListKind::Resources);
            list(ListKind::Templates);
        }
        Change::ResourceUpdated(uri) => events.send("resource", &json!({ "uri": uri })),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn number_of_resources_is_limited() {
        let mut subscriptions = Subscriptions::default();
        let task = || tokio::spawn(std::future::pending::<()>()).abort_handle();
        for number in 1..MAX_RESOURCES {
            subscriptions.insert(format!("test://{number}"), task());
        }
        assert!(!subscriptions.is_full());
        subscriptions.insert("test://0".to_owned(), task());
        assert!(subscriptions.is_full());
        subscriptions.remove("test://0");
        assert_eq!(subscriptions.uris().len(), MAX_RESOURCES - 1);
    }

    #[tokio::test]
    async fn resources_wait_for_the_next_connection() {
        let mut subscriptions = Subscriptions::default();
        let task = || tokio::spawn(std::future::pending::<()>());
        let (first, second) = (task(), task());
        subscriptions.insert("test://a".to_owned(), first.abort_handle());
        subscriptions.disconnect();
        assert!(first.await.expect_err("the task ends").is_cancelled());
        assert_eq!(subscriptions.uris(), ["test://a"]);
        subscriptions.insert("test://a".to_owned(), second.abort_handle());
        // A task of the previous connection does not remove that of the next one.
        assert!(!subscriptions.remove_ended("test://a", task().id()));
        assert!(subscriptions.remove_ended("test://a", second.id()));
        assert!(subscriptions.uris().is_empty());
    }
}
