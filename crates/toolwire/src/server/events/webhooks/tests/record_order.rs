//! The order in which requests for one subscription change the durable store.

use super::*;

/// A durable store that delays the next put or the next removal.
#[derive(Debug, Clone, Default)]
struct Slow(Arc<SlowState>);

#[derive(Debug, Default)]
struct SlowState {
    records: MemorySubscriptionStore,
    delayed: Mutex<Option<&'static str>>,
    started: Notify,
    released: Notify,
}

impl Slow {
    fn delay_next(&self, operation: &'static str) {
        *lock(&self.0.delayed) = Some(operation);
    }

    async fn before(&self, operation: &'static str) {
        let is_delayed = lock(&self.0.delayed).take_if(|delayed| *delayed == operation);
        if is_delayed.is_some() {
            self.0.started.notify_one();
            self.0.released.notified().await;
        }
    }

    async fn ids(&self) -> Vec<String> {
        let records = self.load().await.unwrap();
        records.into_iter().map(|record| record.id).collect()
    }
}

impl SubscriptionStore for Slow {
    fn is_durable(&self) -> bool {
        true
    }

    fn put(&self, record: SubscriptionRecord) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            self.before("put").await;
            self.0.records.put(record).await
        })
    }

    fn remove<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            self.before("remove").await;
            self.0.records.remove(id).await
        })
    }

    fn load(&self) -> BoxFuture<'_, Result<Vec<SubscriptionRecord>, StoreError>> {
        self.0.records.load()
    }
}

fn fixture() -> (Fixture, Slow) {
    let store = Slow::default();
    let options = WebhookOptions::new().with_store(store.clone());
    (Fixture::with_options(options, Script::default()), store)
}

#[tokio::test(start_paused = true)]
async fn slow_removal_does_not_remove_the_next_subscription() {
    let (fixture, store) = fixture();
    let id = fixture.subscribe().await.id;
    store.delay_next("remove");
    let ending = fixture.unsubscribe("ann", URL);
    let again = async {
        store.0.started.notified().await;
        let again = fixture.subscribe();
        let release = async {
            sleep(Duration::from_secs(1)).await;
            store.0.released.notify_one();
        };
        tokio::join!(again, release).0
    };
    let (ended, again) = tokio::join!(ending, again);
    ended.unwrap();
    assert_eq!(again.id, id);
    assert_eq!(store.ids().await, [id]);
}

#[tokio::test(start_paused = true)]
async fn slow_refresh_does_not_store_an_ended_subscription() {
    let (fixture, store) = fixture();
    fixture.subscribe().await;
    store.delay_next("put");
    let ending = async {
        store.0.started.notified().await;
        let release = async {
            sleep(Duration::from_secs(1)).await;
            store.0.released.notify_one();
        };
        tokio::join!(fixture.unsubscribe("ann", URL), release).0
    };
    let (_, ended) = tokio::join!(fixture.subscribe(), ending);
    ended.unwrap();
    assert!(store.ids().await.is_empty());
}
