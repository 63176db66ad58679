//! The tokens of a client.

use toolwire::{KeyRing, StateKey};
use toolwire_auth::client::{MemoryTokenStore, TokenStore};
use toolwire_auth::documents::Secret;

use super::*;

#[derive(Debug, Clone)]
enum TokenOperation {
    Get,
    Put,
    /// Stores a value under the lock of its name.
    PutLocked,
    Remove,
}

/// The operation and the name.
type OfToken = (TokenOperation, usize);

struct Tokens<T>([Arc<T>; 2]);

impl<T: TokenStore> Operated<OfToken> for Tokens<T> {
    async fn run(&mut self, (operation, name): &OfToken, number: usize) -> String {
        let store = &self.0[number % 2];
        let name = ["token", "{token}", ""][*name];
        let value = Secret::from(format!("value {number} \u{e9}\n"));
        match operation {
            TokenOperation::Get => {
                let value = store.get(name).await.unwrap();
                format!("{:?}", value.as_ref().map(Secret::expose))
            }
            TokenOperation::Put => format!("{:?}", store.put(name, &value).await.is_ok()),
            TokenOperation::PutLocked => {
                let _lock = store.lock(name).await.unwrap();
                format!("{:?}", store.put(name, &value).await.is_ok())
            }
            TokenOperation::Remove => format!("{:?}", store.remove(name).await.is_ok()),
        }
    }
}

#[test]
fn tokens_are_those_of_memory() {
    let operation = prop_oneof![
        3 => Just(TokenOperation::Get),
        2 => Just(TokenOperation::Put),
        1 => Just(TokenOperation::PutLocked),
        1 => Just(TokenOperation::Remove),
    ];
    let keys = || KeyRing::new(StateKey::new([1; 32]));
    compare(
        &options(),
        (operation, 0..3_usize),
        async |redis| Tokens(redis.map(|redis| Arc::new(redis.token_store("ann", keys())))),
        async || Tokens(both(MemoryTokenStore::new())),
    );
}
