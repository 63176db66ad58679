//! The bus between nodes.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use toolwire::Change;
use toolwire::store::{Bus, BusDelivery, BusMessage, BusPayload, BusSubscription, contract};

use crate::engine::Engine;

/// The timeout of what takes a few seconds at most.
const TIMEOUT: Duration = Duration::from_secs(60);

fn message(number: u32) -> BusMessage {
    let change = Change::ResourceUpdated(number.to_string());
    BusMessage::new("node", BusPayload::Change(change))
}

async fn next(subscription: &mut dyn BusSubscription) -> BusDelivery {
    let next = timeout(TIMEOUT, subscription.next()).await;
    next.expect("a delivery").expect("the bus is open")
}

/// Publishes until it succeeds.
async fn publish(bus: &dyn Bus, number: u32) {
    let published = async {
        while bus.publish_all(&[message(number)]).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let published = timeout(TIMEOUT, published).await;
    published.expect("the engine is used again");
}

#[tokio::test]
async fn contract_holds() {
    let engine = Engine::start();
    let connect = async || Arc::new(engine.connect().await.bus());
    contract::bus(connect).await;
}

#[tokio::test]
async fn lost_messages_are_reported() {
    let mut engine = Engine::start();
    let (sender, receiver) = (engine.connect().await.bus(), engine.connect().await.bus());
    let mut subscription = receiver.subscribe().await.unwrap();
    publish(&sender, 1).await;
    assert_eq!(
        next(&mut *subscription).await,
        BusDelivery::Message(message(1))
    );

    // Only the connection for messages is closed. The sender does not notice it.
    let mut kill = redis::cmd("CLIENT");
    kill.arg("KILL").arg("TYPE").arg("pubsub");
    let mut commands = engine.commands().await;
    let killed: u32 = kill.query_async(&mut commands).await.unwrap();
    assert_eq!(killed, 1);
    publish(&sender, 2).await;
    assert_eq!(next(&mut *subscription).await, BusDelivery::Lagged);

    engine.kill();
    engine.restart();
    publish(&sender, 3).await;
    let mut was_reported = false;
    loop {
        // After the restart, a message may arrive before or after the new subscription.
        match timeout(Duration::from_secs(5), subscription.next()).await {
            Ok(Some(BusDelivery::Lagged)) => was_reported = true,
            Ok(Some(BusDelivery::Message(_))) => {}
            Ok(_) => panic!("the bus closed"),
            Err(_) => break,
        }
    }
    assert!(was_reported);
    publish(&sender, 4).await;
    assert_eq!(
        next(&mut *subscription).await,
        BusDelivery::Message(message(4))
    );
}

#[tokio::test]
async fn bus_without_engine_cannot_be_subscribed() {
    let mut engine = Engine::start();
    let bus = engine.connect().await.bus();
    engine.kill();
    assert!(bus.subscribe().await.is_err());
    assert!(bus.check().await.is_err());
    engine.restart();
    // Subscriptions and commands have connections of their own, which are opened again one after the other.
    let used_again = async {
        while bus.subscribe().await.is_err() || bus.check().await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let used_again = timeout(TIMEOUT, used_again).await;
    assert!(used_again.is_ok(), "the engine is used again");
}
