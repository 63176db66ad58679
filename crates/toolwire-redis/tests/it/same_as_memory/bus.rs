//! The bus between nodes.

use toolwire::Change;
use toolwire::store::{Bus, BusDelivery, BusMessage, BusPayload, BusSubscription, MemoryBus};

use super::*;

#[derive(Debug, Clone)]
enum BusOperation {
    /// Publishes this number of messages at once.
    Publish { messages: usize },
    /// Takes the next message of one of the subscriptions.
    Next { subscription: usize },
    /// Subscribes again, without the messages that wait.
    Subscribe { subscription: usize },
}

struct Buses<B> {
    buses: [Arc<B>; 2],
    subscriptions: Vec<Box<dyn BusSubscription>>,
    /// The number of messages that wait for each subscription.
    waiting: [usize; 2],
    /// The name of the publishing node. Messages of an earlier sequence have another one, and may arrive late.
    node: String,
}

impl<B: Bus> Buses<B> {
    async fn new(buses: [Arc<B>; 2]) -> Self {
        static SEQUENCES: AtomicU32 = AtomicU32::new(0);
        let mut subscriptions = Vec::new();
        for bus in &buses {
            subscriptions.push(bus.subscribe().await.unwrap());
        }
        Self {
            buses,
            subscriptions,
            waiting: [0; 2],
            node: SEQUENCES.fetch_add(1, Ordering::Relaxed).to_string(),
        }
    }
}

impl<B: Bus> Operated<BusOperation> for Buses<B> {
    async fn run(&mut self, operation: &BusOperation, number: usize) -> String {
        match operation {
            BusOperation::Publish { messages } => {
                let message = |index: usize| {
                    let uri = format!("{number} {index}");
                    let change = BusPayload::Change(Change::ResourceUpdated(uri));
                    BusMessage::new(&self.node, change)
                };
                let published: Vec<_> = (0..*messages).map(message).collect();
                for waiting in &mut self.waiting {
                    *waiting += messages;
                }
                text(self.buses[number % 2].publish_all(&published).await)
            }
            BusOperation::Next { subscription } if self.waiting[*subscription] == 0 => {
                "empty".to_owned()
            }
            BusOperation::Next { subscription } => {
                self.waiting[*subscription] -= 1;
                let subscription = &mut self.subscriptions[*subscription];
                loop {
                    let next = timeout(HOUR, subscription.next()).await.unwrap();
                    match next {
                        Some(BusDelivery::Message(message)) if message.node != self.node => {}
                        Some(BusDelivery::Message(message)) => {
                            return format!("{:?}", message.payload);
                        }
                        other => return format!("{other:?}"),
                    }
                }
            }
            BusOperation::Subscribe { subscription } => {
                // The messages that were published have to arrive before, so the new subscription does not get them.
                while self.waiting[*subscription] > 0 {
                    let subscription = *subscription;
                    Box::pin(self.run(&BusOperation::Next { subscription }, number)).await;
                }
                let subscribed = self.buses[*subscription].subscribe().await.unwrap();
                self.subscriptions[*subscription] = subscribed;
                String::new()
            }
        }
    }
}

#[test]
fn messages_of_the_bus_are_those_of_memory() {
    let operation = prop_oneof![
        3 => (1..4_usize).prop_map(|messages| BusOperation::Publish { messages }),
        5 => (0..2_usize).prop_map(|subscription| BusOperation::Next { subscription }),
        1 => (0..2_usize).prop_map(|subscription| BusOperation::Subscribe { subscription }),
    ];
    compare(
        &options(),
        operation,
        async |redis| Buses::new(redis.map(|redis| Arc::new(redis.bus()))).await,
        async || Buses::new(both(MemoryBus::default())).await,
    );
}
