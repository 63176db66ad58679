//! A token store whose calls fail, for tests.

use toolwire::store::StoreError;
use toolwire::store::contract::Faulty;

use crate::client::store::{TokenStore, TokenStoreError, TokenStoreFuture, TokenStoreLock};
use crate::documents::Secret;

impl<S: TokenStore + ?Sized + 'static> TokenStore for Faulty<S> {
    fn get<'a>(&'a self, name: &'a str) -> TokenStoreFuture<'a, Option<Secret>> {
        let name = name.to_owned();
        let call = self.read("get", move |store| {
            let name = name.clone();
            Box::pin(async move { store.get(&name).await.map_err(StoreError::unavailable) })
        });
        Box::pin(async move { call.await.map_err(token_store_error) })
    }

    fn put<'a>(&'a self, name: &'a str, value: &'a Secret) -> TokenStoreFuture<'a, ()> {
        let (name, value) = (name.to_owned(), value.clone());
        let call = self.write("put", move |store| {
            let (name, value) = (name.clone(), value.clone());
            Box::pin(async move {
                let stored = store.put(&name, &value).await;
                stored.map_err(StoreError::unavailable)
            })
        });
        Box::pin(async move { call.await.map_err(token_store_error) })
    }

    fn remove<'a>(&'a self, name: &'a str) -> TokenStoreFuture<'a, ()> {
        let name = name.to_owned();
        let call = self.write("remove", move |store| {
            let name = name.clone();
            Box::pin(async move { store.remove(&name).await.map_err(StoreError::unavailable) })
        });
        Box::pin(async move { call.await.map_err(token_store_error) })
    }

    fn lock<'a>(&'a self, name: &'a str) -> TokenStoreFuture<'a, TokenStoreLock> {
        let name = name.to_owned();
        let call = self.read("lock", move |store| {
            let name = name.clone();
            Box::pin(async move { store.lock(&name).await.map_err(StoreError::unavailable) })
        });
        Box::pin(async move { call.await.map_err(token_store_error) })
    }
}

/// Returns the error of the store itself, or that of a fault.
fn token_store_error(error: StoreError) -> TokenStoreError {
    match error {
        StoreError::Unavailable(source) => match source.downcast::<TokenStoreError>() {
            Ok(error) => *error,
            Err(fault) => TokenStoreError::new(fault.to_string()),
        },
        StoreError::Unknown(fault) => TokenStoreError::new(fault.to_string()),
        other => TokenStoreError::new(other.to_string()),
    }
}
