//! A store of an OAuth proxy whose calls fail, for tests.

use toolwire::BoxFuture;
use toolwire::store::StoreError;
use toolwire::store::contract::Faulty;

use crate::proxy::store::{NewProxyRecord, ProxyRecord, ProxyStore};

impl<S: ProxyStore + ?Sized + 'static> ProxyStore for Faulty<S> {
    fn put<'a>(
        &'a self,
        kind: ProxyRecord,
        key: &'a [u8; 32],
        record: NewProxyRecord,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let key = *key;
        self.write("put", move |store| {
            let record = record.clone();
            Box::pin(async move { store.put(kind, &key, record).await })
        })
    }

    fn get<'a>(
        &'a self,
        kind: ProxyRecord,
        key: &'a [u8; 32],
    ) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        let key = *key;
        self.read("get", move |store| {
            Box::pin(async move { store.get(kind, &key).await })
        })
    }

    fn take<'a>(
        &'a self,
        kind: ProxyRecord,
        key: &'a [u8; 32],
    ) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        let key = *key;
        self.write("take", move |store| {
            Box::pin(async move { store.take(kind, &key).await })
        })
    }

    fn replace<'a>(
        &'a self,
        kind: ProxyRecord,
        key: &'a [u8; 32],
        expected: &'a str,
        record: NewProxyRecord,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        let (key, expected) = (*key, expected.to_owned());
        self.write("replace", move |store| {
            let (expected, record) = (expected.clone(), record.clone());
            Box::pin(async move { store.replace(kind, &key, &expected, record).await })
        })
    }

    fn check(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.read("check", |store| {
            Box::pin(async move { store.check().await })
        })
    }
}
