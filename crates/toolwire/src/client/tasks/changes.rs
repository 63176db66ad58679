//! Notifications about one task, from servers that send them (tasks extension).

use std::sync::Arc;

use toolwire_proto::features::VersionFeatures;
use toolwire_proto::task_results::task_state;
use toolwire_types::SubscriptionFilter;
use toolwire_types::tasks::extension::DetailedTask;

use crate::client::Client;
use crate::client::incoming::IncomingMessages;
use crate::client::listen::Subscription;
use crate::client::tasks::notifications::TaskNotificationGuard;
use crate::engine::BoxFuture;
use crate::error::Error;

/// The subscription to one task. If the server does not grant it, it reports nothing, and the caller polls.
pub(super) struct TaskChanges {
    client: Client,
    id: String,
    state: State,
}

enum State {
    Opening(BoxFuture<'static, Result<Subscription, Error>>, Watched),
    Open(Box<Subscription>, Watched),
    Off,
}

/// The notifications of the task that arrive on this connection.
struct Watched {
    incoming: Arc<IncomingMessages>,
    _guard: TaskNotificationGuard,
}

impl TaskChanges {
    /// Subscribes to the changes of a task, if the server has the extension. Nothing is sent until
    /// [`next`](Self::next) is polled.
    pub(super) fn new(client: &Client, id: &str) -> Self {
        let mut changes = Self {
            client: client.clone(),
            id: id.to_owned(),
            state: State::Off,
        };
        if client.version().has_listen() && client.server_has_tasks() {
            let incoming = Arc::clone(&client.session().incoming);
            let watched = Watched {
                _guard: incoming.task_notifications.watch(id),
                incoming,
            };
            let (client, id) = (client.clone(), id.to_owned());
            let opening = Box::pin(async move {
                let mut filter = SubscriptionFilter::new();
                filter.task_ids = Some(vec![id]);
                client.listen(filter).await
            });
            changes.state = State::Opening(opening, watched);
        }
        changes
    }

    /// Returns `true` if the server reports changes of the task.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, State::Open(..))
    }

    /// Returns the task of the next notification, or `None` if the task changed and has to be read. Never returns if the
    /// server reports nothing. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> Option<DetailedTask> {
        loop {
            match &mut self.state {
                State::Off => std::future::pending().await,
                State::Opening(opening, _) => {
                    let opened = opening.await;
                    self.opened(opened);
                }
                State::Open(subscription, watched) => match subscription.next().await {
                    Ok(Some(_)) => {
                        let params = watched.incoming.task_notifications.take(&self.id)?;
                        return task_state(self.client.version(), &self.id, &params).ok();
                    }
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
