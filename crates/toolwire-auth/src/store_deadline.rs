//! The deadline of calls of shared stores.

use std::time::Duration;

use tokio::time::timeout;
use toolwire::BoxFuture;
use toolwire::store::StoreError;

/// The time in which a call of a shared store has to return. It is the default of `HttpLimits::store_deadline`, and far below
/// `HttpLimits::authorization_deadline`: requests that wait for a store that hangs would use up the permits of a server.
pub(crate) const STORE_DEADLINE: Duration = Duration::from_secs(2);

/// Waits for a call of a store. Returns [`StoreError::Unknown`] if it does not return in time.
pub(crate) async fn within_deadline<T>(
    call: BoxFuture<'_, Result<T, StoreError>>,
) -> Result<T, StoreError> {
    match timeout(STORE_DEADLINE, call).await {
        Ok(result) => result,
        Err(_) => Err(StoreError::unknown("the deadline of the store has passed")),
    }
}
