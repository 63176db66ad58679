//! Handlers of the notifications that clients send.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use toolwire_types::RawJson;

use crate::engine::BoxFuture;
use crate::server::connected_client::ConnectedClient;

type Handler = dyn Fn(ConnectedClient, RawJson) -> BoxFuture<'static, ()> + Send + Sync;

/// A registered handler of a notification.
pub(crate) struct NotificationEntry {
    handler: Arc<Handler>,
}

impl NotificationEntry {
    pub(crate) fn new<P, F, Fut>(name: String, handler: F) -> Self
    where
        P: DeserializeOwned,
        F: Fn(ConnectedClient, P) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let handler = move |client: ConnectedClient, params: RawJson| -> BoxFuture<'static, ()> {
            match params.parse::<P>() {
                Ok(params) => Box::pin(handler(client, params)),
                Err(error) => {
                    tracing::warn!(method = name, %error, "ignored a notification with unreadable parameters");
                    Box::pin(std::future::ready(()))
                }
            }
        };
        Self {
            handler: Arc::new(handler),
        }
    }

    pub(crate) fn call(&self, client: ConnectedClient, params: RawJson) -> BoxFuture<'static, ()> {
        (self.handler)(client, params)
    }
}

impl fmt::Debug for NotificationEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NotificationEntry").finish_non_exhaustive()
    }
}
