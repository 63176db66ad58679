//! A bus whose calls fail, and whose messages are lost, repeated or delayed.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::engine::BoxFuture;
use crate::store::contract::faulty::plan::FaultPlan;
use crate::store::contract::faulty::{Fault, Faulty};
use crate::store::{Bus, BusDelivery, BusMessage, BusSubscription, StoreFuture};
use crate::sync::lock;

/// How long a message waits for one of another node.
const MAX_DELAY: Duration = Duration::from_millis(100);

impl<S: Bus + ?Sized + 'static> Bus for Faulty<S> {
    fn publish_all<'a>(&'a self, messages: &'a [BusMessage]) -> StoreFuture<'a, ()> {
        let messages: Arc<[BusMessage]> = messages.into();
        self.read("publish_all", move |bus| {
            let messages = Arc::clone(&messages);
            Box::pin(async move { bus.publish_all(&messages).await })
        })
    }

    fn subscribe(&self) -> StoreFuture<'_, Box<dyn BusSubscription>> {
        let plan = Arc::clone(&self.plan);
        self.read("subscribe", move |bus| {
            let plan = Arc::clone(&plan);
            Box::pin(async move {
                let subscription = FaultySubscription {
                    inner: bus.subscribe().await?,
                    plan,
                    delayed: None,
                    ready: VecDeque::new(),
                };
                Ok(Box::new(subscription) as Box<dyn BusSubscription>)
            })
        })
    }

    fn check(&self) -> StoreFuture<'_, ()> {
        self.read("check", |bus| Box::pin(async move { bus.check().await }))
    }
}

#[derive(Debug)]
struct FaultySubscription {
    inner: Box<dyn BusSubscription>,
    plan: Arc<Mutex<FaultPlan>>,
    /// A message that waits for one of another node, and until when.
    delayed: Option<(BusMessage, Instant)>,
    ready: VecDeque<BusDelivery>,
}

impl FaultySubscription {
    fn receive(&mut self, message: BusMessage) {
        if let Some((delayed, _)) = self.delayed.take() {
            // Messages of one node stay in order.
            let is_of_same_node = delayed.node == message.node;
            let pair = [delayed, message].map(BusDelivery::Message);
            self.ready.extend(pair);
            if !is_of_same_node {
                self.ready.make_contiguous().reverse();
            }
            return;
        }
        match lock(&self.plan).next_of_message() {
            Some(Fault::Drop) => self.ready.push_back(BusDelivery::Lagged),
            Some(Fault::Duplicate) => {
                let delivery = BusDelivery::Message(message);
                self.ready.extend([delivery.clone(), delivery]);
            }
            Some(Fault::Reorder) => self.delayed = Some((message, Instant::now() + MAX_DELAY)),
            _ => self.ready.push_back(BusDelivery::Message(message)),
        }
    }

    fn end_delay(&mut self) {
        let delayed = self.delayed.take().map(|(message, _)| message);
        self.ready.extend(delayed.map(BusDelivery::Message));
    }
}

impl BusSubscription for FaultySubscription {
    fn next(&mut self) -> BoxFuture<'_, Option<BusDelivery>> {
        Box::pin(async move {
            loop {
                if let Some(delivery) = self.ready.pop_front() {
                    return Some(delivery);
                }
                let delivery = match &self.delayed {
                    None => self.inner.next().await,
                    Some((_, until)) => match timeout_at(*until, self.inner.next()).await {
                        Ok(delivery) => delivery,
                        Err(_) => {
                            self.end_delay();
                            continue;
                        }
                    },
                };
                match delivery {
                    Some(BusDelivery::Message(message)) => self.receive(message),
                    Some(lagged) => {
                        self.end_delay();
                        self.ready.push_back(lagged);
                    }
                    None if self.delayed.is_some() => self.end_delay(),
                    None => return None,
                }
            }
        })
    }
}
