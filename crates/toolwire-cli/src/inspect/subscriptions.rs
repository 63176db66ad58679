//! Listens for changes of lists and of resources.

use std::collections::BTreeMap;

use serde_json::json;
use tokio::task::AbortHandle;
use toolwire::types::SubscriptionFilter;
use toolwire::{Change, Client, Error};

use crate::inspect::events::PageEvents;
use crate::inspect::lists::ListKind;

/// The maximum number of resources with a subscription.
pub(super) const MAX_RESOURCES: usize = 256;

/// The subscriptions of one connection. Dropping them ends them.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    lists: Option<AbortHandle>,
    resources: BTreeMap<String, AbortHandle>,
}

impl Subscriptions {
    /// Returns the URIs of the resources.
    pub(super) fn uris(&self) -> Vec<String> {
        self.resources.keys().cloned().collect()
    }

    pub(super) fn is_full(&self) -> bool {
        self.resources.len() >= MAX_RESOURCES
    }

    /// Adds the task that listens for changes of lists.
    pub(super) fn set_lists(&mut self, task: AbortHandle) {
        if let Some(earlier) = self.lists.replace(task) {
            earlier.abort();
        }
    }

    /// Adds the task that listens for changes of a resource.
    pub(super) fn insert(&mut self, uri: String, task: AbortHandle) {
        if let Some(earlier) = self.resources.insert(uri, task) {
            earlier.abort();
        }
    }

    pub(super) fn remove(&mut self, uri: &str) {
        if let Some(task) = self.resources.remove(uri) {
            task.abort();
        }
    }
}

impl Drop for Subscriptions {
    fn drop(&mut self) {
        for task in self.lists.iter().chain(self.resources.values()) {
            task.abort();
        }
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

/// Subscribes to a resource, and starts a task that reports its changes.
pub(super) async fn listen_to_resource(
    client: &Client,
    uri: &str,
    events: PageEvents,
) -> Result<AbortHandle, Error> {
    let filter = SubscriptionFilter::new().with_resource(uri.to_owned());
    let mut subscription = client.listen(filter).await?;
    let task = tokio::spawn(async move {
        while let Ok(Some(change)) = subscription.next().await {
            report(&change, &events);
        }
    });
    Ok(task.abort_handle())
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
}
