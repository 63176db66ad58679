//! Reads the mailbox of this node.

use std::sync::{Arc, Weak};

use crate::engine::node_number::NodeNumber;
use crate::store::Mailbox;
use crate::transport::http::cluster::handler::{ClusterHandler, RECONNECT};
use crate::transport::http::stores::Stores;

/// Passes messages to the handler until the handler is dropped. A node that lost its number takes another one.
pub(super) async fn read(
    stores: Stores,
    handler: Weak<dyn ClusterHandler>,
    number: Arc<NodeNumber>,
) {
    while handler.strong_count() > 0 {
        let Some(opening) = stores.open_mailbox() else {
            return;
        };
        match opening.await {
            Ok(mut mailbox) => {
                number.set(Some(mailbox.node()));
                read_until_lost(&mut *mailbox, &handler).await;
                number.set(None);
                if let Some(handler) = handler.upgrade() {
                    tracing::warn!(
                        "this node lost its number, and so the responses that it waits for"
                    );
                    handler.on_number_lost();
                }
            }
            Err(error) => {
                tracing::warn!(%error, "cannot open the mailbox of this node");
                tokio::time::sleep(RECONNECT).await;
            }
        }
    }
}

async fn read_until_lost(mailbox: &mut dyn Mailbox, handler: &Weak<dyn ClusterHandler>) {
    loop {
        // The timeout lets the task end after its endpoint was dropped.
        let next = tokio::time::timeout(RECONNECT, mailbox.next()).await;
        let Some(handler) = handler.upgrade() else {
            return;
        };
        match next {
            Ok(Some(message)) => handler.on_node_message(message),
            Ok(None) => return,
            Err(_) => {}
        }
    }
}
