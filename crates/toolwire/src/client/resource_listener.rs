//! One listener of resources of a legacy server: its subscriptions, and their end.

use crate::client::Client;
use crate::error::Error;

/// The resources of one listener. When it is dropped, those that have no other listener are unsubscribed.
pub(super) struct ResourceListener {
    client: Client,
    uris: Vec<String>,
}

impl ResourceListener {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            uris: Vec::new(),
        }
    }

    /// Subscribes to a resource, unless it is subscribed for another listener.
    pub(super) async fn subscribe(&mut self, uri: &str) -> Result<(), Error> {
        self.client.subscribed_resources().add_listener(uri);
        self.uris.push(uri.to_owned());
        self.ensure_subscribed(uri).await
    }

    /// Subscribes to all resources in a new session, unless another listener has done it.
    pub(super) async fn subscribe_again(&self) -> Result<(), Error> {
        for uri in &self.uris {
            self.ensure_subscribed(uri).await?;
        }
        Ok(())
    }

    async fn ensure_subscribed(&self, uri: &str) -> Result<(), Error> {
        let resources = self.client.subscribed_resources();
        // If the request of another listener fails or is dropped, this one sends its own.
        let _locked = resources.requests.lock(uri).await;
        // If the session is replaced meanwhile, the resource counts as not subscribed.
        let session = self.client.session().incoming.renewed_sessions();
        if !resources.is_subscribed(uri, session) {
            self.client.subscribe_resource(uri).await?;
            resources.set_subscribed(uri, session);
        }
        Ok(())
    }
}

impl Drop for ResourceListener {
    fn drop(&mut self) {
        let resources = self.client.subscribed_resources();
        let mut uris = std::mem::take(&mut self.uris);
        uris.retain(|uri| resources.remove_listener(uri));
        if uris.is_empty() {
            return;
        }
        let runtime = tokio::runtime::Handle::try_current();
        let (Ok(runtime), false) = (runtime, self.client.session().transport.is_closed()) else {
            for uri in &uris {
                resources.remove(uri);
            }
            return;
        };
        runtime.spawn(unsubscribe(self.client.clone(), uris));
    }
}

/// Unsubscribes from resources that still have no listener.
async fn unsubscribe(client: Client, uris: Vec<String>) {
    let resources = client.subscribed_resources();
    for uri in uris {
        let _locked = resources.requests.lock(&uri).await;
        if resources.remove(&uri)
            && let Err(error) = client.unsubscribe_resource(&uri).await
        {
            tracing::debug!(%error, "a resource could not be unsubscribed");
        }
    }
}
