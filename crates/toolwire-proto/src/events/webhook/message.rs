//! The messages of webhook delivery: their headers, and the bodies that are not events.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use toolwire_types::ErrorObject;
use toolwire_types::events::EventOccurrence;

use crate::events::webhook::signature::is_challenge;

/// The header with the id of a message: that of the event.
pub const ID_HEADER: &str = "webhook-id";
/// The header with the time of an attempt, in seconds since the Unix epoch.
pub const TIMESTAMP_HEADER: &str = "webhook-timestamp";
/// The header with the signatures.
pub const SIGNATURE_HEADER: &str = "webhook-signature";
/// The header with the id of the subscription.
pub const SUBSCRIPTION_HEADER: &str = "x-mcp-subscription-id";

/// The content of a message to a receiver.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum WebhookMessage {
    /// An event.
    Event(Box<EventOccurrence>),
    /// Events are missing before this position.
    Gap {
        /// The position from which events are delivered again.
        cursor: Option<String>,
    },
    /// The subscription ended.
    Terminated {
        /// The reason.
        error: ErrorObject,
    },
    /// The receiver shows with its response that it belongs to the client.
    Verification {
        /// The text that the response has to contain.
        challenge: String,
    },
}

/// A body that is not an event. It has a member `type`.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ControlBody<'a> {
    Gap { cursor: Option<&'a str> },
    Terminated { error: &'a ErrorObject },
    Verification { challenge: &'a str },
}

impl WebhookMessage {
    /// Returns the body of the message.
    ///
    /// # Panics
    /// Does not panic: every message can be serialized.
    #[must_use]
    pub fn to_body(&self) -> Vec<u8> {
        let body = match self {
            Self::Event(event) => serde_json::to_vec(event),
            Self::Gap { cursor } => serde_json::to_vec(&ControlBody::Gap {
                cursor: cursor.as_deref(),
            }),
            Self::Terminated { error } => serde_json::to_vec(&ControlBody::Terminated { error }),
            Self::Verification { challenge } => {
                serde_json::to_vec(&ControlBody::Verification { challenge })
            }
        };
        body.expect("messages have only texts and JSON")
    }

    /// Parses a verified body. Returns `None` for a message of a type that this version does not know.
    ///
    /// # Errors
    /// Returns an error if the body is not a message.
    pub fn parse(body: &[u8]) -> serde_json::Result<Option<Self>> {
        // A tagged enum could not parse the data of an error, which stays undecoded.
        #[derive(Deserialize)]
        struct Kind<'a> {
            #[serde(rename = "type", borrow)]
            kind: Option<Cow<'a, str>>,
        }
        #[derive(Deserialize)]
        struct Gap {
            cursor: Option<String>,
        }
        #[derive(Deserialize)]
        struct Terminated {
            error: ErrorObject,
        }
        #[derive(Deserialize)]
        struct Verification {
            challenge: String,
        }

        let kind: Kind<'_> = serde_json::from_slice(body)?;
        Ok(Some(match kind.kind.as_deref() {
            None => Self::Event(serde_json::from_slice(body)?),
            Some("gap") => {
                let Gap { cursor } = serde_json::from_slice(body)?;
                Self::Gap { cursor }
            }
            Some("terminated") => {
                let Terminated { error } = serde_json::from_slice(body)?;
                Self::Terminated { error }
            }
            Some("verification") => {
                let Verification { challenge } = serde_json::from_slice(body)?;
                Self::Verification { challenge }
            }
            Some(_) => return Ok(None),
        }))
    }

    /// Returns the id of the message: that of the event, or a new one from 16 random bytes.
    ///
    /// An event whose id cannot be in a header has a digest of its id, so that receivers can still recognize it.
    #[must_use]
    pub fn id(&self, random: [u8; 16]) -> String {
        let kind = match self {
            Self::Event(event) => return header_id(&event.event_id),
            Self::Gap { .. } => "gap",
            Self::Terminated { .. } => "terminated",
            Self::Verification { .. } => "verification",
        };
        format!("msg_{kind}_{}", URL_SAFE_NO_PAD.encode(random))
    }
}

/// Returns a challenge from 32 random bytes.
#[must_use]
pub fn challenge(random: [u8; 32]) -> String {
    URL_SAFE_NO_PAD.encode(random)
}

/// Returns the body with which a receiver responds to a challenge.
#[must_use]
pub fn challenge_response(challenge: &str) -> Vec<u8> {
    let body = ChallengeResponse {
        challenge: challenge.into(),
    };
    serde_json::to_vec(&body).expect("a text can be serialized")
}

/// Returns `true` if the response of a receiver contains the challenge: in a JSON object, or as the whole text.
#[must_use]
pub fn echoes_challenge(body: &[u8], challenge: &str) -> bool {
    let Ok(text) = std::str::from_utf8(body) else {
        return false;
    };
    match serde_json::from_str::<ChallengeResponse<'_>>(text) {
        Ok(response) => is_challenge(challenge, &response.challenge),
        Err(_) => is_challenge(challenge, text.trim()),
    }
}

#[derive(Serialize, Deserialize)]
struct ChallengeResponse<'a> {
    #[serde(borrow)]
    challenge: Cow<'a, str>,
}

/// The longest id of an event that is sent in a header unchanged.
const MAX_ID_BYTES: usize = 512;

/// Returns the id of an event as a header value: unchanged if it is short and visible ASCII, and its digest otherwise.
fn header_id(id: &str) -> String {
    let is_header_value =
        (1..=MAX_ID_BYTES).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic());
    if is_header_value {
        return id.to_owned();
    }
    format!("evt_{}", URL_SAFE_NO_PAD.encode(Sha256::digest(id)))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn check(message: &WebhookMessage, expected: Value) {
        let body = message.to_body();
        let value: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(value, expected);
        assert_eq!(
            WebhookMessage::parse(&body).unwrap().as_ref(),
            Some(message)
        );
    }

    #[test]
    fn control_bodies_have_a_type() {
        check(
            &WebhookMessage::Gap {
                cursor: Some("c".to_owned()),
            },
            json!({"type": "gap", "cursor": "c"}),
        );
        check(
            &WebhookMessage::Terminated {
                error: ErrorObject::new(-32023, "gone").with_data(json!({"kind": "event"})),
            },
            json!({
                "type": "terminated",
                "error": {"code": -32023, "message": "gone", "data": {"kind": "event"}},
            }),
        );
        check(
            &WebhookMessage::Verification {
                challenge: "x".to_owned(),
            },
            json!({"type": "verification", "challenge": "x"}),
        );
        let event = EventOccurrence::new("e1", "mail", "2026-10-05T12:00:00Z", json!({"type": 1}));
        check(
            &WebhookMessage::Event(Box::new(event)),
            json!({"eventId": "e1", "name": "mail", "timestamp": "2026-10-05T12:00:00Z", "data": {"type": 1}}),
        );
    }

    #[test]
    fn unknown_type_is_not_an_error_and_a_malformed_body_is() {
        assert_eq!(WebhookMessage::parse(br#"{"type":"later"}"#).unwrap(), None);
        for body in [
            "",
            "[]",
            "{}",
            "7",
            r#"{"type":7}"#,
            r#"{"type":"gap""#,
            r#"{"type":"terminated"}"#,
            r#"{"type":"verification","challenge":1}"#,
            r#"{"eventId":"e1"}"#,
        ] {
            assert!(WebhookMessage::parse(body.as_bytes()).is_err(), "{body}");
        }
    }

    #[test]
    fn ids_are_those_of_events_or_random() {
        let event = EventOccurrence::new("e1", "mail", "2026-10-05T12:00:00Z", json!(1));
        assert_eq!(WebhookMessage::Event(Box::new(event)).id([0; 16]), "e1");
        let gap = WebhookMessage::Gap { cursor: None };
        assert_eq!(gap.id([0; 16]), "msg_gap_AAAAAAAAAAAAAAAAAAAAAA");
        assert_ne!(gap.id([1; 16]), gap.id([2; 16]));
    }

    #[test]
    fn response_contains_the_challenge() {
        let challenge = challenge([7; 32]);
        let check = |body: &str, expected: bool| {
            let body = body.replace("CHALLENGE", &challenge);
            assert_eq!(
                echoes_challenge(body.as_bytes(), &challenge),
                expected,
                "{body}"
            );
        };
        check(r#"{"challenge":"CHALLENGE"}"#, true);
        check(r#"{"challenge":"CHALLENGE","more":1}"#, true);
        check(" CHALLENGE\n", true);
        check(r#"{"challenge":"other"}"#, false);
        check("a page that repeats CHALLENGE", false);
        check("", false);
        assert!(echoes_challenge(
            &challenge_response(&challenge),
            &challenge
        ));
        assert!(!echoes_challenge(b"\xff", &challenge));
    }

    #[test]
    fn id_that_is_not_a_header_value_becomes_a_digest() {
        let check = |id: &str, is_unchanged: bool| {
            let header = header_id(id);
            assert_eq!(header == id, is_unchanged, "{id:?}");
            assert!(header.bytes().all(|byte| byte.is_ascii_graphic()));
            assert_eq!(header, header_id(id));
        };
        check("evt_1", true);
        check("", false);
        check("a b", false);
        check("a\r\nb", false);
        check("ä", false);
        check(&"x".repeat(512), true);
        check(&"x".repeat(513), false);
    }
}
