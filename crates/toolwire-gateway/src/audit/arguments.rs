//! A keyed digest of the arguments of a call, for the audit log.

use std::fmt::Write as _;

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::value::RawValue;
use sha2::Sha256;
use toolwire::RawJson;
use toolwire_auth::documents::Secret;
use toolwire_proto::canonical_json::canonical_text;

/// Returns the digest of arguments, with which equal calls can be found. Without the key, it reveals nothing about them.
///
/// The order of members, white space and the spelling of numbers and strings do not matter.
pub(super) fn keyed_digest(arguments: Option<&RawValue>, key: Option<&Secret>) -> Option<String> {
    let (arguments, key) = (arguments?, key?);
    let text = canonical_text(&RawJson::from(arguments));
    let mut code =
        Hmac::<Sha256>::new_from_slice(key.expose().as_bytes()).expect("keys have any length");
    code.update(text.as_bytes());
    let mut digest = String::from("hmac-sha256:");
    for byte in code.finalize().into_bytes() {
        write!(digest, "{byte:02x}").expect("a string accepts any text");
    }
    Some(digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Box<RawValue> {
        serde_json::from_str(text).expect("the text is JSON")
    }

    #[test]
    fn digest_depends_on_the_key_and_the_values() {
        let digest = |text: &str, key: &str| {
            let digest = keyed_digest(Some(&json(text)), Some(&Secret::new(key)));
            digest.expect("there is a key")
        };
        let base = digest(r#"{"a":1,"b":"x"}"#, "key");
        assert_eq!(base, digest(r#"{ "b":"x", "a":1.0 }"#, "key"));
        assert_ne!(base, digest(r#"{"a":2,"b":"x"}"#, "key"));
        assert_ne!(base, digest(r#"{"a":1,"b":"x"}"#, "other"));
        // Digests of older files can be compared, so they must not change between releases.
        assert_eq!(
            digest("{}", "key"),
            "hmac-sha256:a777724d943eb48dc69bca8a4a6d57a04db3f9ec7e1de4e581e860265bdf3032"
        );
        assert_eq!(keyed_digest(Some(&json("{}")), None), None);
        assert_eq!(keyed_digest(None, Some(&Secret::new("key"))), None);
    }
}
