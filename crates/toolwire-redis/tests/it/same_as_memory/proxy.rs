//! The records of an OAuth proxy.

use toolwire_auth::proxy::store::{
    MemoryProxyLimits, MemoryProxyStore, NewProxyRecord, OwnerLimit, ProxyOwner, ProxyRecord,
    ProxyStore,
};

use super::*;

#[derive(Debug, Clone)]
enum ProxyOperation {
    Put { removes_first: bool },
    Get,
    Take,
    Replace { is_stale: bool },
}

/// The operation, the kind, the key of the record, and the number of its owner.
type OfRecord = (ProxyOperation, usize, u8, u8);

struct Records<P> {
    stores: [Arc<P>; 2],
    /// The last text of each record.
    texts: [[String; 5]; 2],
}

impl<P> Records<P> {
    fn new(stores: [Arc<P>; 2]) -> Self {
        let texts = Default::default();
        Self { stores, texts }
    }
}

impl<P: ProxyStore> Operated<OfRecord> for Records<P> {
    async fn run(&mut self, (operation, kind, key, owner): &OfRecord, number: usize) -> String {
        let store = &self.stores[number % 2];
        let last = &mut self.texts[*kind][usize::from(*key)];
        let kind = [ProxyRecord::Grant, ProxyRecord::Client][*kind];
        let key = [*key; 32];
        // The order in which records expire is that of their creation.
        let lifetime = HOUR + Duration::from_secs(number as u64);
        let new = number.to_string();
        let record = |at_limit| {
            let record = NewProxyRecord::new(&new, lifetime);
            match owner {
                0 => record,
                owner => record.with_owner(ProxyOwner::new([*owner; 32], 2, at_limit)),
            }
        };
        match operation {
            ProxyOperation::Put { removes_first } => {
                let at_limit = if *removes_first {
                    OwnerLimit::RemoveFirst
                } else {
                    OwnerLimit::Reject
                };
                let put = store.put(kind, &key, record(at_limit)).await;
                if put.is_ok() {
                    *last = new;
                }
                text(put)
            }
            ProxyOperation::Get => text(store.get(kind, &key).await),
            ProxyOperation::Take => text(store.take(kind, &key).await),
            ProxyOperation::Replace { is_stale } => {
                let expected = if *is_stale { "other" } else { last.as_str() };
                let record = record(OwnerLimit::RemoveFirst);
                let replaced = store.replace(kind, &key, expected, record).await;
                if matches!(replaced, Ok(true)) {
                    *last = new;
                }
                text(replaced)
            }
        }
    }
}

#[test]
fn proxy_records_are_those_of_memory() {
    let operation = prop_oneof![
        3 => any::<bool>().prop_map(|removes_first| ProxyOperation::Put { removes_first }),
        1 => Just(ProxyOperation::Get),
        1 => Just(ProxyOperation::Take),
        2 => any::<bool>().prop_map(|is_stale| ProxyOperation::Replace { is_stale }),
    ];
    compare(
        &options().with_proxy_grants(4).with_proxy_clients(4),
        (operation, 0..2_usize, 0..5_u8, 0..3_u8),
        async |redis| Records::new(redis.map(|redis| Arc::new(redis.proxy_store()))),
        async || {
            let mut limits = MemoryProxyLimits::default();
            (limits.grants, limits.clients) = (4, 4);
            Records::new(both(MemoryProxyStore::new(limits)))
        },
    );
}
