//! Identifiers that cannot be guessed.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::store::StoreError;

/// Returns a random identifier in visible ASCII.
pub(crate) fn random_id(prefix: &str, bytes: usize) -> Result<String, StoreError> {
    let mut random = vec![0; bytes];
    getrandom::fill(&mut random)
        .map_err(|_| StoreError::unavailable("the operating system returned no random bytes"))?;
    let mut name = prefix.to_owned();
    URL_SAFE_NO_PAD.encode_string(&random, &mut name);
    Ok(name)
}
