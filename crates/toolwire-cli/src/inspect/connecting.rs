//! Opens the connections of the page one after the other, and its subscriptions on each of them.

use std::sync::Arc;

use tokio::task::AbortHandle;
use toolwire::{Client, Error};

use crate::failure::{Failure, Phase};
use crate::inspect::inspector::{InspectError, Inspector, Status, failed};
use crate::inspect::subscriptions::{
    MAX_RESOURCES, listen_to_lists, listen_to_resource, subscribe,
};

impl Inspector {
    /// Connects for the first time.
    pub(super) async fn connect(self: &Arc<Self>) -> Result<(), Failure> {
        let settings = self.lock().settings.clone();
        let client = self.connector.connect(&settings).await?;
        self.connected(client);
        Ok(())
    }

    /// Connects again whenever it is requested, until the future is dropped.
    pub(crate) async fn run(self: &Arc<Self>) {
        loop {
            self.reconnect.notified().await;
            self.log.note("connecting");
            let (settings, before) = {
                let mut current = self.lock();
                let before = std::mem::replace(&mut current.status, Status::Connecting);
                current.subscriptions.disconnect();
                (current.settings.clone(), before)
            };
            self.send_state();
            self.calls.cancel_all();
            if let Status::Connected(client) = before {
                client.close().await;
            }
            match self.connector.connect(&settings).await {
                Ok(client) => self.connected(client),
                Err(failure) => {
                    self.log.note(&failure.message_with_advice());
                    self.lock().status = Status::Failed(failure);
                    self.send_state();
                }
            }
        }
    }

    /// Stores a new connection, and subscribes to what was subscribed before.
    fn connected(self: &Arc<Self>, client: Client) {
        {
            let mut current = self.lock();
            current.status = Status::Connected(client.clone());
            current.connections += 1;
            let lists = listen_to_lists(client.clone(), self.events.clone());
            current.subscriptions.set_lists(lists);
            for uri in current.subscriptions.uris() {
                let task = self.subscribe_again(client.clone(), uri.clone());
                current.subscriptions.insert(uri, task);
            }
        }
        self.send_state();
    }

    /// Starts a task that subscribes to a resource on a new connection. The server may take long to respond.
    fn subscribe_again(self: &Arc<Self>, client: Client, uri: String) -> AbortHandle {
        let (inspector, events) = (Arc::downgrade(self), self.events.clone());
        let task = tokio::spawn(async move {
            let error = match subscribe(&client, &uri).await {
                Ok(subscription) => return listen_to_resource(subscription, events).await,
                // The server may not have the resource any more.
                Err(error) => error,
            };
            let Some(inspector) = inspector.upgrade() else {
                return;
            };
            let is_current = {
                let mut current = inspector.lock();
                current.subscriptions.remove_ended(&uri, tokio::task::id())
            };
            if is_current {
                let message = Failure::of(&error, Phase::Calling).message_with_advice();
                let note = format!("no subscription to {uri}: {message}");
                inspector.log.note(&note);
                inspector.send_state();
            }
        });
        task.abort_handle()
    }

    /// Shows that the server process has ended. Over HTTP, the next request may succeed.
    pub(super) fn report_lost_connection(&self, error: &Error) {
        let is_process = self.connector.source.is_process();
        if !is_process || !(error.is_closed() || error.server_exit().is_some()) {
            return;
        }
        let failure = Failure::of(error, Phase::Calling);
        {
            let mut current = self.lock();
            // Another connection may be open meanwhile.
            if !matches!(current.status, Status::Connected(_)) {
                return;
            }
            current.status = Status::Failed(failure);
        }
        self.log.note("the server closed the connection");
        self.send_state();
    }

    /// Subscribes to a resource, or ends the subscription.
    pub(super) async fn subscribe(&self, uri: &str, subscribed: bool) -> Result<(), InspectError> {
        if !subscribed {
            self.lock().subscriptions.remove(uri);
        } else if self.lock().subscriptions.is_full() {
            let message = format!("there are {MAX_RESOURCES} subscriptions; end one first");
            return Err(InspectError::Limit(message));
        } else {
            let client = self.client()?;
            let connection = self.lock().connections;
            let subscription = subscribe(&client, uri).await.map_err(failed)?;
            let mut current = self.lock();
            if current.connections != connection {
                return Err(InspectError::NotConnected);
            }
            let task = tokio::spawn(listen_to_resource(subscription, self.events.clone()));
            let subscriptions = &mut current.subscriptions;
            subscriptions.insert(uri.to_owned(), task.abort_handle());
        }
        self.send_state();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use toolwire::client_middleware::{ClientMiddleware, ClientNext, ClientRequest};
    use toolwire::{BoxFuture, RawJson, Server};

    use super::*;
    use crate::inspect::tests::inspector_without_server;

    /// Never sends a request for a subscription.
    struct DelaySubscriptions;

    impl ClientMiddleware for DelaySubscriptions {
        fn handle<'a>(
            &'a self,
            request: &'a mut ClientRequest,
            next: ClientNext<'a>,
        ) -> BoxFuture<'a, Result<RawJson, Error>> {
            Box::pin(async move {
                if request.method() == "subscriptions/listen" {
                    std::future::pending::<()>().await;
                }
                next.run(request).await
            })
        }

        fn handles_every_request(&self) -> bool {
            true
        }
    }

    /// Waits for a state of the connection.
    async fn status(inspector: &Inspector, expected: &str) -> Value {
        loop {
            let state = inspector.state();
            if state["connection"]["status"] == expected {
                return state;
            }
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn subscriptions_survive_a_failed_connection_and_do_not_delay_the_next_one() {
        let inspector = inspector_without_server();
        let task = tokio::spawn(std::future::pending::<()>()).abort_handle();
        let uri = "test://a".to_owned();
        inspector.lock().subscriptions.insert(uri.clone(), task);
        let running = Arc::clone(&inspector);
        let running = tokio::spawn(async move { running.run().await });
        inspector.reconnect();
        let state = status(&inspector, "failed").await;
        assert_eq!(state["subscriptions"], json!([uri]));
        running.abort();
        let builder = Client::builder("test", "1").with_middleware(DelaySubscriptions);
        let client = builder.in_process(&Server::new("test", "1")).await;
        inspector.connected(client.expect("a client"));
        let state = status(&inspector, "connected").await;
        assert_eq!(state["subscriptions"], json!([uri]));
    }

    #[tokio::test]
    async fn rejected_subscription_ends_on_the_next_connection() {
        let inspector = inspector_without_server();
        let task = tokio::spawn(std::future::pending::<()>()).abort_handle();
        let uri = "test://a".to_owned();
        inspector.lock().subscriptions.insert(uri, task);
        let client = Client::in_process(&Server::new("test", "1")).await;
        let client = client.expect("a client");
        client.close().await;
        inspector.connected(client);
        while !inspector.lock().subscriptions.uris().is_empty() {
            tokio::task::yield_now().await;
        }
        let log = inspector.log.after(0, 10);
        let is_noted = |note: &str| note.starts_with("no subscription to test://a: ");
        assert!(log.iter().any(|entry| is_noted(&entry.text)), "{log:?}");
    }
}
