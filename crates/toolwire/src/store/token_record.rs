//! The serialization of a token's content between nodes. [`TokenInfo`] itself does not implement `Serialize`, so that
//! no handler puts one into a result by mistake.

use std::sync::Arc;
use std::time::SystemTime;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::engine::TokenInfo;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TokenRecord {
    valid: bool,
    subject: Option<String>,
    client_id: Option<String>,
    scopes: Vec<String>,
    expires_at: Option<SystemTime>,
    claims: Map<String, Value>,
}

pub(crate) fn serialize<S: Serializer>(
    token: &Arc<TokenInfo>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let TokenInfo {
        valid,
        subject,
        client_id,
        scopes,
        expires_at,
        claims,
    } = TokenInfo::clone(token);
    let record = TokenRecord {
        valid,
        subject,
        client_id,
        scopes,
        expires_at,
        claims,
    };
    record.serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Arc<TokenInfo>, D::Error> {
    let record = TokenRecord::deserialize(deserializer)?;
    Ok(Arc::new(TokenInfo {
        valid: record.valid,
        subject: record.subject,
        client_id: record.client_id,
        scopes: record.scopes,
        expires_at: record.expires_at,
        claims: record.claims,
    }))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Holder(#[serde(with = "super")] Arc<TokenInfo>);

    #[test]
    fn token_info_survives_serialization() {
        let mut claims = Map::new();
        claims.insert("iss".to_owned(), "https://a".into());
        let ann = TokenInfo {
            valid: true,
            subject: Some("ann".to_owned()),
            client_id: Some("app".to_owned()),
            scopes: vec!["read".to_owned()],
            expires_at: Some(UNIX_EPOCH + Duration::from_millis(1500)),
            claims,
        };
        for token in [ann, TokenInfo::default()] {
            let token = Arc::new(token);
            let written = serde_json::to_string(&Holder(Arc::clone(&token))).unwrap();
            let Holder(read) = serde_json::from_str(&written).unwrap();
            assert_eq!(read, token);
        }
    }
}
