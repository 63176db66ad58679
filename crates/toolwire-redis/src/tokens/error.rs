//! The error of a token store whose engine failed.

use toolwire::store::StoreError;
use toolwire_auth::client::TokenStoreError;

pub(super) fn failed(error: StoreError) -> TokenStoreError {
    TokenStoreError::new("the engine that stores tokens failed").with_source(error)
}
