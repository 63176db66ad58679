//! Notifications about one task, from servers that send them.

use toolwire_proto::features::VersionFeatures;
use toolwire_proto::task_results::task_state;
use toolwire_types::SubscriptionFilter;
use toolwire_types::tasks::extension::DetailedTask;

use crate::client::Client;
use crate::client::listen::Subscription;
use crate::client::tasks::notifications::TaskNotificationGuard;
use crate::engine::BoxFuture;
use crate::error::Error;

/// The notifications about one task. If the server sends none, they report nothing, and the caller polls.
pub(super) struct TaskChanges {
    client: Client,
    id: String,
    state: State,
}

enum State {
    Opening(BoxFuture<'static, Result<Subscription, Error>>, Watched),
    Open(Box<Subscription>, Watched),
    /// The server may send the status of its own accord. Spec 2025-11-25, basic/utilities/tasks: the notifications are
    /// optional, so the client polls as if there were none.
    Unsolicited(Watched),
    Off,
}

/// The notifications of the task that arrive on this connection.
struct Watched(TaskNotificationGuard);

impl Watched {
    fn new(client: &Client, id: &str) -> Self {
        Self(client.session().incoming.task_notifications.watch(id))
    }

    /// Returns the task of the latest notification, or `None` if it has to be read.
    fn take(&self, client: &Client, id: &str) -> Option<DetailedTask> {
        let params = self.0.take()?;
        task_state(client.version(), id, &params).ok()
    }
}

impl TaskChanges {
    /// Subscribes to the changes of a task, if the server has the extension, or receives its status in 2025-11-25. Nothing
    /// is sent until [`next`](Self::next) is polled.
    pub(super) fn new(client: &Client, id: &str) -> Self {
        let mut changes = Self {
            client: client.clone(),
            id: id.to_owned(),
            state: State::Off,
        };
        if client.version().has_listen() && client.server_has_tasks() {
            let watched = Watched::new(client, id);
            let (client, id) = (client.clone(), id.to_owned());
            let opening = Box::pin(async move {
                let mut filter = SubscriptionFilter::new();
                filter.task_ids = Some(vec![id]);
                client.listen(filter).await
            });
            changes.state = State::Opening(opening, watched);
        } else if client.version().has_core_tasks() {
            changes.state = State::Unsolicited(Watched::new(client, id));
        }
        changes
    }

    /// Returns `true` if the server has agreed to report the changes of the task.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, State::Open(..))
    }

    /// Returns the task of the next notification, or `None` if the task changed and has to be read. Never returns if the
    /// server reports nothing. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> Option<DetailedTask> {
        loop {
            match &mut self.state {
                State::Off => std::future::pending().await,
                State::Unsolicited(watched) => {
                    watched.0.stored().await;
                    return watched.take(&self.client, &self.id);
                }
                State::Opening(opening, _) => {
                    let opened = opening.await;
                    self.opened(opened);
                }
                State::Open(subscription, watched) => match subscription.next().await {
                    Ok(Some(_)) => return watched.take(&self.client, &self.id),
                    Ok(None) | Err(_) => {
                        self.state = State::Off;
                        // Changes may have been missed.
                        return None;
                    }
                },
            }
        }
    }

    fn opened(&mut self, opened: Result<Subscription, Error>) {
        let opening = std::mem::replace(&mut self.state, State::Off);
        match (opened, opening) {
            (Ok(subscription), State::Opening(_, watched)) => {
                let accepted = subscription.accepted_filter().task_ids.as_ref();
                if accepted.is_some_and(|ids| ids.contains(&self.id)) {
                    self.state = State::Open(Box::new(subscription), watched);
                }
            }
            (Err(error), _) => {
                tracing::debug!(%error, "the server reports no changes of the task");
            }
            (Ok(_), _) => {}
        }
    }
}
