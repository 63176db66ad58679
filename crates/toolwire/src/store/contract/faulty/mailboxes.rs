//! Mailboxes whose calls fail, and which a failover empties.

use std::num::NonZeroU16;

use tokio::sync::watch;

use crate::engine::BoxFuture;
use crate::store::contract::faulty::Faulty;
use crate::store::{Mailbox, Mailboxes, NodeMessage, StoreFuture};

impl<S: Mailboxes + ?Sized + 'static> Mailboxes for Faulty<S> {
    fn open(&self) -> StoreFuture<'_, Box<dyn Mailbox>> {
        let rewinds = self.rewinds.subscribe();
        self.read("open", move |mailboxes| {
            let rewinds = rewinds.clone();
            Box::pin(async move {
                let inner = mailboxes.open().await?;
                Ok(Box::new(FaultyMailbox { inner, rewinds }) as Box<dyn Mailbox>)
            })
        })
    }

    fn send<'a>(&'a self, node: NonZeroU16, message: &'a NodeMessage) -> StoreFuture<'a, bool> {
        let message = message.clone();
        self.read("send", move |mailboxes| {
            let message = message.clone();
            Box::pin(async move { mailboxes.send(node, &message).await })
        })
    }

    fn check(&self) -> StoreFuture<'_, ()> {
        self.read("check", |mailboxes| {
            Box::pin(async move { mailboxes.check().await })
        })
    }
}

#[derive(Debug)]
struct FaultyMailbox {
    inner: Box<dyn Mailbox>,
    rewinds: watch::Receiver<u64>,
}

impl Mailbox for FaultyMailbox {
    fn node(&self) -> NonZeroU16 {
        self.inner.node()
    }

    fn next(&mut self) -> BoxFuture<'_, Option<NodeMessage>> {
        Box::pin(async move {
            let rewound = async {
                if self.rewinds.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            tokio::select! {
                biased;
                () = rewound => None,
                message = self.inner.next() => message,
            }
        })
    }
}
