//! Reads the mailbox of this node.

use std::sync::{Arc, Weak};

use crate::engine::node_number::NodeNumber;
use crate::store::Mailbox;
use crate::transport::http::cluster::handler::{ClusterHandler, RECONNECT, while_used};
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
    while let Some(Some(message)) = while_used(handler, mailbox.next()).await {
        let Some(handler) = handler.upgrade() else {
            return;
        };
        handler.on_node_message(message);
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU16;
    use std::sync::Mutex;
    use std::time::Duration;

    use super::*;
    use crate::engine::BoxFuture;
    use crate::store::{BusPayload, NodeMessage};
    use crate::sync::lock;

    /// A mailbox that is lost after each read took three seconds.
    #[derive(Debug, Default)]
    struct SlowMailbox {
        reads: u32,
        messages: Vec<NodeMessage>,
    }

    impl Mailbox for SlowMailbox {
        fn node(&self) -> NonZeroU16 {
            NonZeroU16::MIN
        }

        fn next(&mut self) -> BoxFuture<'_, Option<NodeMessage>> {
            self.reads += 1;
            Box::pin(async {
                tokio::time::sleep(RECONNECT * 3).await;
                self.messages.pop()
            })
        }
    }

    #[derive(Default)]
    struct Received(Mutex<Vec<NodeMessage>>);

    impl ClusterHandler for Received {
        fn on_bus_message(&self, _: BusPayload) {}

        fn resync(&self) {}

        fn on_node_message(&self, message: NodeMessage) {
            lock(&self.0).push(message);
        }

        fn on_number_lost(&self) {}

        fn on_notification_dropped(&self) {}
    }

    fn message() -> NodeMessage {
        NodeMessage::StreamMessage {
            session: "session".to_owned(),
            message: toolwire_types::RawJson::from(serde_json::json!({})),
            token: Arc::default(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn slow_read_is_not_started_again() {
        let received = Arc::<Received>::default();
        let handler = Arc::downgrade(&received) as Weak<dyn ClusterHandler>;
        let mut mailbox = SlowMailbox {
            reads: 0,
            messages: vec![message()],
        };
        let reading = read_until_lost(&mut mailbox, &handler);
        let ended = tokio::time::timeout(Duration::from_secs(60), reading).await;
        assert!(ended.is_ok(), "the mailbox is lost after one message");
        assert_eq!(mailbox.reads, 2);
        assert_eq!(*lock(&received.0), [message()]);
    }

    #[tokio::test(start_paused = true)]
    async fn reading_ends_with_its_endpoint() {
        let received = Arc::<Received>::default();
        let handler = Arc::downgrade(&received) as Weak<dyn ClusterHandler>;
        drop(received);
        let start = tokio::time::Instant::now();
        read_until_lost(&mut SlowMailbox::default(), &handler).await;
        assert_eq!(start.elapsed(), RECONNECT);
    }
}
