//! Cancels the task of a dropped call.

use toolwire_proto::features::VersionFeatures;

use crate::client::Client;

/// Cancels a task when it is dropped, without waiting for the server. Closing the client waits for it.
pub(super) struct CancelOnDrop {
    client: Client,
    /// `None` if the task needs no cancellation.
    id: Option<String>,
}

impl CancelOnDrop {
    pub(super) fn new(client: &Client, id: String) -> Self {
        Self {
            client: client.clone(),
            id: Some(id),
        }
    }

    /// Leaves the task as it is.
    pub(super) fn disarm(mut self) {
        self.id = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let client = self.client.clone();
        if client.session().transport.is_closed() || !can_cancel(&client) {
            return;
        }
        let cancellations = client.shared.task_cancellations.clone();
        cancellations.spawn(async move {
            if let Err(error) = client.task(id).cancel().await {
                tracing::debug!(%error, "the task of a dropped call could not be cancelled");
            }
        });
    }
}

/// Returns `true` if the server supports `tasks/cancel`. In 2025-11-25 that is a capability of its own.
fn can_cancel(client: &Client) -> bool {
    if !client.version().has_core_tasks() {
        return true;
    }
    client.server().is_some_and(|server| {
        let tasks = server.capabilities.tasks.as_ref();
        tasks.is_some_and(|tasks| tasks.cancel.is_some())
    })
}
