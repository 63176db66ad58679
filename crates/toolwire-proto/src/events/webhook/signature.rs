//! Signatures of deliveries, in the format of Standard Webhooks.
//!
//! A signature is `v1,` and the base64 of HMAC-SHA-256 over `id.timestamp.body`. The key is the decoded secret. A header
//! has several signatures, separated by spaces, while a secret is replaced.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use subtle::ConstantTimeEq as _;

use crate::events::webhook::secret::WebhookSecret;

/// How far the timestamp of a delivery may be from the clock of the receiver, in both directions.
pub const TIMESTAMP_TOLERANCE: Duration = Duration::from_secs(5 * 60);

/// The number of signatures of a delivery that a receiver compares.
const MAX_SIGNATURES: usize = 8;

const VERSION: &str = "v1";

/// Returns the value of `webhook-signature`: one signature per secret.
///
/// `timestamp` is the value of `webhook-timestamp`, in seconds since the Unix epoch.
#[must_use]
pub fn sign<'a>(
    secrets: impl IntoIterator<Item = &'a WebhookSecret>,
    id: &str,
    timestamp: u64,
    body: &[u8],
) -> String {
    let timestamp = timestamp.to_string();
    let signatures = secrets.into_iter().map(|secret| {
        let code = code(secret, id, &timestamp, body);
        format!("{VERSION},{}", STANDARD.encode(code))
    });
    signatures.collect::<Vec<_>>().join(" ")
}

/// The signed headers of a delivery, as received.
#[derive(Debug, Clone, Copy)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a signature covers exactly these headers"
)]
pub struct SignedHeaders<'a> {
    /// The value of `webhook-id`.
    pub id: &'a str,
    /// The value of `webhook-timestamp`.
    pub timestamp: &'a str,
    /// The value of `webhook-signature`.
    pub signature: &'a str,
}

/// Verifies a delivery: one of its signatures belongs to one of the secrets, and its timestamp is current.
///
/// `body` are the bytes as received. `now` is the time since the Unix epoch.
///
/// # Errors
/// Returns an error if the timestamp is invalid or more than [`TIMESTAMP_TOLERANCE`] away, and if no signature matches.
pub fn verify<'a>(
    secrets: impl IntoIterator<Item = &'a WebhookSecret>,
    headers: SignedHeaders<'_>,
    body: &[u8],
    now: Duration,
) -> Result<(), SignatureError> {
    let timestamp: u64 = Some(headers.timestamp)
        .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
        .and_then(|text| text.parse().ok())
        .ok_or(SignatureError::Timestamp)?;
    if now.as_secs().abs_diff(timestamp) > TIMESTAMP_TOLERANCE.as_secs() {
        return Err(SignatureError::Expired);
    }
    let signatures: Vec<Vec<u8>> = headers
        .signature
        .split(' ')
        .take(MAX_SIGNATURES)
        .filter_map(|signature| signature.strip_prefix("v1,"))
        .filter_map(|signature| STANDARD.decode(signature).ok())
        .collect();
    let is_signed = secrets.into_iter().any(|secret| {
        let expected = code(secret, headers.id, headers.timestamp, body);
        signatures
            .iter()
            .any(|signature| bool::from(signature[..].ct_eq(&expected)))
    });
    if is_signed {
        Ok(())
    } else {
        Err(SignatureError::Mismatch)
    }
}

/// Compares the challenge of a verification with the response of the receiver, in constant time.
#[must_use]
pub fn is_challenge(expected: &str, received: &str) -> bool {
    expected.as_bytes().ct_eq(received.as_bytes()).into()
}

fn code(secret: &WebhookSecret, id: &str, timestamp: &str, body: &[u8]) -> [u8; 32] {
    let mut code = Hmac::<Sha256>::new_from_slice(secret.key()).expect("keys have any length");
    for part in [id.as_bytes(), b".", timestamp.as_bytes(), b".", body] {
        code.update(part);
    }
    code.finalize().into_bytes().into()
}

/// The reason why a delivery is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SignatureError {
    /// The timestamp is not a number of seconds.
    Timestamp,
    /// The timestamp is too old, or in the future.
    Expired,
    /// No signature belongs to a secret.
    Mismatch,
}

impl fmt::Display for SignatureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Timestamp => "webhook-timestamp is not a number of seconds",
            Self::Expired => "webhook-timestamp is more than 5 minutes away from the current time",
            Self::Mismatch => "webhook-signature has no signature of a known secret",
        })
    }
}

impl std::error::Error for SignatureError {}

#[cfg(test)]
mod tests {
    use super::*;

    // The example that the libraries of Standard Webhooks publish.
    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const TIMESTAMP: u64 = 1_614_265_330;
    const BODY: &[u8] = br#"{"test": 2432232314}"#;
    const SIGNATURE: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

    fn published() -> WebhookSecret {
        WebhookSecret::parse(SECRET).unwrap()
    }

    fn verified(signature: &str, timestamp: &str, now: u64) -> Result<(), SignatureError> {
        let headers = SignedHeaders {
            id: ID,
            timestamp,
            signature,
        };
        verify([&published()], headers, BODY, Duration::from_secs(now))
    }

    #[test]
    fn signature_matches_the_published_example() {
        assert_eq!(sign([&published()], ID, TIMESTAMP, BODY), SIGNATURE);
        let now = TIMESTAMP;
        assert_eq!(verified(SIGNATURE, "1614265330", now), Ok(()));
    }

    #[test]
    fn any_signature_of_any_secret_is_sufficient() {
        let other = WebhookSecret::new([7; 32]);
        let both = sign([&other, &published()], ID, TIMESTAMP, BODY);
        assert_eq!(both.split(' ').count(), 2);
        let now = Duration::from_secs(TIMESTAMP);
        for secret in [&other, &published()] {
            let headers = SignedHeaders {
                id: ID,
                timestamp: "1614265330",
                signature: &both,
            };
            assert_eq!(verify([secret], headers, BODY, now), Ok(()));
        }
        let check = |signature: &str, expected: Result<(), SignatureError>| {
            assert_eq!(
                verified(signature, "1614265330", TIMESTAMP),
                expected,
                "{signature}"
            );
        };
        check(&format!("v1a,AAAA {SIGNATURE}"), Ok(()));
        check(&format!("v1,AAAA v2,x {SIGNATURE}"), Ok(()));
        check("", Err(SignatureError::Mismatch));
        check(&SIGNATURE[3..], Err(SignatureError::Mismatch));
        check(
            &SIGNATURE.replace("v1", "v2"),
            Err(SignatureError::Mismatch),
        );
        check("v1,", Err(SignatureError::Mismatch));
        // Signatures after the eighth one are not compared.
        check(&format!("{}{SIGNATURE}", "v1,AAAA ".repeat(7)), Ok(()));
        let ninth = format!("{}{SIGNATURE}", "v1,AAAA ".repeat(8));
        check(&ninth, Err(SignatureError::Mismatch));
    }

    #[test]
    fn signature_covers_id_timestamp_and_body() {
        let now = Duration::from_secs(TIMESTAMP);
        let check = |id: &str, timestamp: &str, body: &[u8]| {
            let headers = SignedHeaders {
                id,
                timestamp,
                signature: SIGNATURE,
            };
            let outcome = verify([&published()], headers, body, now);
            assert_eq!(outcome, Err(SignatureError::Mismatch));
        };
        check("msg_other", "1614265330", BODY);
        check(ID, "1614265331", BODY);
        check(ID, "01614265330", BODY);
        check(ID, "1614265330", br#"{"test":2432232314}"#);
        check(ID, "1614265330", b"");
    }

    #[test]
    fn timestamp_is_at_most_five_minutes_away() {
        let check = |now: u64, expected: Result<(), SignatureError>| {
            assert_eq!(verified(SIGNATURE, "1614265330", now), expected, "{now}");
        };
        check(TIMESTAMP + 300, Ok(()));
        check(TIMESTAMP + 301, Err(SignatureError::Expired));
        check(TIMESTAMP - 300, Ok(()));
        check(TIMESTAMP - 301, Err(SignatureError::Expired));
        for timestamp in ["", "+1614265330", "1614265330.0", "99999999999999999999"] {
            let outcome = verified(SIGNATURE, timestamp, TIMESTAMP);
            assert_eq!(outcome, Err(SignatureError::Timestamp), "{timestamp}");
        }
    }
}
