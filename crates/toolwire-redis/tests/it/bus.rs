//! The bus between nodes.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use toolwire::store::{
    Bus, BusDelivery, BusMessage, BusPayload, BusSubscription, SessionRecord, SessionStore as _,
    contract,
};
use toolwire::types::ProtocolVersion;
use toolwire::{Change, Principal};
use toolwire_redis::{Redis, RedisOptions};
use toolwire_tests::relay::{Link, Relay};

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
    check_contract(&Engine::start()).await;
}

/// Checks the contract with an engine.
pub(crate) async fn check_contract(engine: &Engine) {
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
    // On a busy machine, the connection of an earlier attempt may still be open.
    assert!(killed >= 1);
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
async fn check_of_a_running_node_repeats_no_message() {
    const MESSAGES: u32 = 200;
    let engine = Engine::start();
    let node = engine.connect().await;
    let bus = node.bus();
    let mut subscription = bus.subscribe().await.unwrap();
    let checking = async {
        for _ in 0..10 {
            node.check_bus().await.unwrap();
        }
    };
    let publishing = async {
        for number in 0..MESSAGES {
            publish(&bus, number).await;
        }
    };
    tokio::join!(checking, publishing);
    for number in 0..MESSAGES {
        let expected = BusDelivery::Message(message(number));
        assert_eq!(next(&mut *subscription).await, expected);
    }
}

#[tokio::test]
async fn publications_of_one_node_share_round_trips() {
    const CALLERS: u32 = 50;
    let engine = Engine::start();
    let mut subscription = engine.connect().await.bus().subscribe().await.unwrap();
    let relay = Relay::start(engine.socket()).unwrap();
    let url = format!("redis://stores:secret@{}", relay.address());
    let options = RedisOptions::new("test").with_response_timeout(TIMEOUT);
    let bus = Redis::connect(&url, options).await.unwrap().bus();
    relay.set_link(Link::Slow(Duration::from_millis(50)));
    let start = Instant::now();
    publish(&bus, 0).await;
    let one = start.elapsed();
    let start = Instant::now();
    let mut publishing = JoinSet::new();
    for number in 1..=CALLERS {
        let bus = bus.clone();
        publishing.spawn(async move { publish(&bus, number).await });
    }
    publishing.join_all().await;
    // The first caller does not wait for the others, which share the second round trip.
    assert!(start.elapsed() < one * 6, "{:?} {one:?}", start.elapsed());
    let mut received = Vec::new();
    for _ in 0..=CALLERS {
        received.push(next(&mut *subscription).await);
    }
    for number in 0..=CALLERS {
        let expected = BusDelivery::Message(message(number));
        assert!(received.contains(&expected), "{number}: {received:?}");
    }
}

#[tokio::test]
async fn dropped_caller_does_not_interrupt_the_publication_of_others() {
    let engine = Engine::start();
    let mut subscription = engine.connect().await.bus().subscribe().await.unwrap();
    let node = engine.connect().await;
    let (bus, sessions, owner) = (node.bus(), node.sessions(), Principal::anonymous());
    let record = SessionRecord::new(ProtocolVersion::V2025_11_25, Default::default(), None);
    let earlier = sessions.replace_and_publish("absent", &owner, 1, &record, &bus, "node");
    let earlier = earlier.expect("the bus of the engine");
    let messages = [1, 2].map(message);
    let [mut dropped, mut other] = [0, 1].map(|caller| bus.publish_all(&messages[caller..=caller]));
    // Both wait until the earlier publication has ended.
    assert!(begin(&mut dropped).is_pending() && begin(&mut other).is_pending());
    assert!(matches!(earlier.await, Ok(None)));
    // This caller sends the messages of both.
    assert!(begin(&mut dropped).is_pending());
    drop(dropped);
    other.await.unwrap();
    for expected in messages {
        let delivery = next(&mut *subscription).await;
        assert_eq!(delivery, BusDelivery::Message(expected));
    }
}

/// Polls a publication once.
fn begin<F: Future + Unpin>(publication: &mut F) -> Poll<F::Output> {
    Pin::new(publication).poll(&mut Context::from_waker(Waker::noop()))
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
