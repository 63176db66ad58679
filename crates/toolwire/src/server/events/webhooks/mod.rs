//! Webhooks: the server delivers events to URLs of its clients.
//!
//! `runtime` checks the requests, verifies the URL (`verification`) and starts a task for each
//! subscription (`registry`). The task (`delivery`) requests pages from the source of the event type and sends the
//! events through the [`WebhookSender`], which the transport implements. Both write to the store in the order of
//! `record_writes`. The rules are in `toolwire_proto::events::webhook`.

mod delivery;
mod options;
mod record_writes;
mod registry;
mod runtime;
mod sender;
mod shared;
mod subscription;
mod verification;

use std::sync::Arc;

pub use options::WebhookOptions;
pub(crate) use sender::{WebhookRequest, WebhookResponse, WebhookSender};

use crate::server::Server;
use crate::server::events::webhooks::runtime::WebhookRuntime;

impl Server {
    /// Installs webhooks that send their requests with this sender.
    pub(crate) fn install_webhooks(
        self,
        options: WebhookOptions,
        sender: Arc<dyn WebhookSender>,
    ) -> Self {
        let server = Arc::downgrade(&self.shared);
        let event_type = move |name: &str| {
            let shared = server.upgrade()?;
            let snapshot = Server { shared }.snapshot();
            snapshot.events.by_name.get(name).map(Arc::clone)
        };
        let runtime = Arc::new(WebhookRuntime::new(options, sender, event_type));
        runtime.start();
        self.change(|snapshot| snapshot.events.webhooks = Some(runtime));
        self
    }
}

#[cfg(test)]
mod tests;
