//! Rules for JSON Web Keys: private members and thumbprints.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use crate::documents::Jwk;

/// Members that only private and symmetric keys have (RFC 7518, sections 6.2.2, 6.3.2 and 6.4; RFC 8037, section 2).
const SECRET_MEMBERS: [&str; 8] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/// Returns `true` if a key contains private or symmetric key material.
#[must_use]
pub(crate) fn is_secret(key: &Jwk) -> bool {
    key.kty == "oct"
        || SECRET_MEMBERS
            .iter()
            .any(|name| key.extra.contains_key(*name))
}

/// Returns the thumbprint of a public key (RFC 7638; RFC 8037 for Edwards keys). Returns `None` for other key types and
/// for keys with a missing or invalid member.
#[must_use]
pub fn thumbprint(key: &Jwk) -> Option<String> {
    // The required members in the order of their names, without whitespace.
    let members: [(&str, Option<&str>); 4] = match key.kty.as_str() {
        "EC" => [
            ("crv", Some(curve(key)?)),
            ("kty", Some("EC")),
            ("x", Some(part(key.x.as_deref())?)),
            ("y", Some(part(key.y.as_deref())?)),
        ],
        "OKP" => [
            ("crv", Some(curve(key)?)),
            ("kty", Some("OKP")),
            ("x", Some(part(key.x.as_deref())?)),
            ("y", None),
        ],
        "RSA" => [
            ("e", Some(part(key.e.as_deref())?)),
            ("kty", Some("RSA")),
            ("n", Some(part(key.n.as_deref())?)),
            ("y", None),
        ],
        _ => return None,
    };
    let members = members
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    let members: Vec<String> = members
        .map(|(name, value)| format!("\"{name}\":\"{value}\""))
        .collect();
    let digest = Sha256::digest(format!("{{{}}}", members.join(",")));
    Some(URL_SAFE_NO_PAD.encode(digest))
}

/// Returns the value if it is not empty and valid base64url, so that it needs no escapes in JSON.
fn part(value: Option<&str>) -> Option<&str> {
    value.filter(|value| !value.is_empty() && URL_SAFE_NO_PAD.decode(value).is_ok())
}

fn curve(key: &Jwk) -> Option<&str> {
    let known = ["P-256", "P-384", "P-521", "Ed25519", "Ed448"];
    key.crv.as_deref().filter(|curve| known.contains(curve))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thumbprints_match_the_rfc_examples() {
        // RFC 7638, section 3.1.
        let rsa = Jwk::rsa(
            "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3\
             oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdA\
             ZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-\
             kEgU8awapJzKnqDKgw",
            "AQAB",
        )
        .with_alg("RS256")
        .with_kid("2011-04-29");
        let expected = "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs";
        assert_eq!(thumbprint(&rsa).as_deref(), Some(expected));
        // RFC 8037, appendix A.3.
        let ed25519 = Jwk::okp("Ed25519", "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo");
        let expected = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k";
        assert_eq!(thumbprint(&ed25519).as_deref(), Some(expected));
        // RFC 9449, sections 4.1 and 6.1.
        let p256 = Jwk::ec(
            "P-256",
            "l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs",
            "9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA",
        );
        let expected = "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I";
        assert_eq!(thumbprint(&p256).as_deref(), Some(expected));
    }

    #[test]
    fn incomplete_and_unknown_keys_have_no_thumbprint() {
        let mut without_y = Jwk::ec("P-256", "AA", "AA");
        without_y.y = None;
        for key in [
            without_y,
            Jwk::ec("P-256", "AA", ""),
            Jwk::ec("P-256", "A\"", "AA"),
            Jwk::ec("P-256", "AA==", "AA"),
            Jwk::ec("P-256\"", "AA", "AA"),
            Jwk::okp("X25519", "AA"),
            Jwk::rsa("", "AQAB"),
            serde_json::from_str(r#"{"kty": "oct", "k": "AA"}"#).unwrap(),
            serde_json::from_str(r#"{"kty": "RSA"}"#).unwrap(),
        ] {
            assert_eq!(thumbprint(&key), None, "{key:?}");
        }
    }

    #[test]
    fn private_and_symmetric_keys_are_detected() {
        for name in SECRET_MEMBERS {
            let text = format!(r#"{{"kty": "RSA", "n": "AA", "e": "AQAB", "{name}": "AA"}}"#);
            assert!(is_secret(&serde_json::from_str(&text).unwrap()), "{name}");
        }
        assert!(is_secret(
            &serde_json::from_str(r#"{"kty": "oct"}"#).unwrap()
        ));
        assert!(!is_secret(&Jwk::rsa("AA", "AQAB")));
    }
}
