//! Handlers of the notifications that clients send.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use toolwire_proto::decode_message::decode_message;
use toolwire_types::RawJson;

use crate::engine::{BoxFuture, PeerText};
use crate::server::connected_client::ConnectedClient;
use crate::server::extension_entry::ExtensionEntry;

type Handler = dyn Fn(ConnectedClient, RawJson) -> BoxFuture<'static, ()> + Send + Sync;

/// A registered handler of a notification.
#[derive(Clone)]
pub(crate) struct NotificationEntry {
    handler: Arc<Handler>,
    /// The extension that the notification belongs to, if any.
    extension: Option<Arc<ExtensionEntry>>,
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
                    // The error may contain text of the client.
                    let error = decode_message(&error);
                    let error = PeerText::new(&error);
                    tracing::warn!(method = name, %error, "ignored a notification with unreadable parameters");
                    Box::pin(std::future::ready(()))
                }
            }
        };
        Self {
            handler: Arc::new(handler),
            extension: None,
        }
    }

    /// Makes it a notification of an extension.
    pub(crate) fn of_extension(mut self, extension: Arc<ExtensionEntry>) -> Self {
        self.extension = Some(extension);
        self
    }

    /// Returns the extension that the notification belongs to.
    pub(crate) fn extension(&self) -> Option<&ExtensionEntry> {
        self.extension.as_deref()
    }

    /// Returns `true` if the revision of the client has the notification. A client without a session has no negotiated
    /// revision and uses the newest one.
    pub(crate) fn is_in_force(&self, client: &ConnectedClient) -> bool {
        let Some(extension) = &self.extension else {
            return true;
        };
        let version = client.version();
        version.is_none_or(|version| extension.is_in_force(version))
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
