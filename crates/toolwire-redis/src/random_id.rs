//! Ids that no other call has.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use toolwire::store::StoreError;

/// Returns a random id of 16 characters.
pub(crate) fn random_id() -> Result<String, StoreError> {
    let mut bytes = [0; 12];
    getrandom::fill(&mut bytes)
        .map_err(|error| StoreError::unavailable(format!("no random bytes: {error}")))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}
