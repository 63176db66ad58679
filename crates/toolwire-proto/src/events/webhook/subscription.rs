//! The key of a subscription, and the id that is derived from it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use toolwire_types::RawJson;

use crate::events::canonical_text;

const CONTEXT: &[u8] = b"toolwire event subscription 1";

/// The number of bytes of an id: as many as a UUID, because ids only route deliveries.
const ID_BYTES: usize = 16;

/// Returns the id of a subscription.
///
/// The key is the principal, the URL, the event type and the arguments in canonical form (SEP-3415, "Webhook"). The id
/// is a digest of the key, so that it is stable across restarts and reveals nothing.
#[must_use]
pub fn subscription_id(principal: &str, url: &str, name: &str, arguments: &RawJson) -> String {
    let mut hash = Sha256::new();
    hash.update(CONTEXT);
    for part in [principal, url, name, &canonical_text(arguments)] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let digest: [u8; 32] = hash.finalize().into();
    format!("sub_{}", URL_SAFE_NO_PAD.encode(&digest[..ID_BYTES]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(principal: &str, url: &str, name: &str, arguments: &str) -> String {
        let arguments = RawJson::from_string(arguments.to_owned()).unwrap();
        subscription_id(principal, url, name, &arguments)
    }

    #[test]
    fn id_depends_on_the_whole_key() {
        let original = id("p", "https://a.example/h", "mail", r#"{"a":1}"#);
        assert_eq!(original, "sub_GL-rqEr3yFDHfwIu0Ok5vQ", "ids must be stable");
        for other in [
            id("q", "https://a.example/h", "mail", r#"{"a":1}"#),
            id("p", "https://a.example/i", "mail", r#"{"a":1}"#),
            id("p", "https://a.example/h", "post", r#"{"a":1}"#),
            id("p", "https://a.example/h", "mail", r#"{"a":2}"#),
            id("p", "https://a.example/h", "mail", "{}"),
            id("phttps", "://a.example/h", "mail", r#"{"a":1}"#),
        ] {
            assert_ne!(other, original);
        }
    }

    #[test]
    fn spelling_of_the_arguments_does_not_matter() {
        let one = id("p", "u", "n", r#"{"a":1,"b":[true]}"#);
        let other = id("p", "u", "n", r#"{ "b" : [ true ], "a" : 1.0 }"#);
        assert_eq!(one, other);
    }
}
