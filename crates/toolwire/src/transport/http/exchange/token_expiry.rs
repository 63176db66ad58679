//! Ends streams when their access token expires.
//!
//! A stream of changes has no end of its own. Without this limit, it would serve a client whose token was not renewed,
//! for example because the user lost access. An authorized client opens the stream again with a new token. The response
//! to a call is not cut off: the call was authorized when it started, and it ends by itself.

use std::time::UNIX_EPOCH;

use tokio::time::Instant;

use crate::engine::{TokenInfo, since_epoch};

/// Returns the instant at which a token expires, or `None` if it does not expire.
pub(crate) fn expiry_instant(token: Option<&TokenInfo>) -> Option<Instant> {
    let end = token?.expires_at?.duration_since(UNIX_EPOCH);
    let left = end.unwrap_or_default().saturating_sub(since_epoch());
    Instant::now().checked_add(left)
}

/// Returns the later of two expiry instants. `None` means never.
pub(crate) fn latest(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    one.zip(other).map(|(one, other)| one.max(other))
}

/// Sleeps until the token expires.
pub(crate) async fn sleep_until_expiry(end: Option<Instant>) {
    match end {
        Some(end) => tokio::time::sleep_until(end).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    fn token_expiring(at: Option<SystemTime>) -> TokenInfo {
        TokenInfo {
            valid: true,
            expires_at: at,
            ..TokenInfo::default()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn expiry_instant_follows_expires_at() {
        let now = UNIX_EPOCH + since_epoch();
        let hour = Duration::from_secs(3600);
        let end = expiry_instant(Some(&token_expiring(Some(now + hour)))).unwrap() - Instant::now();
        assert!(end <= hour && end > hour - Duration::from_secs(60));
        let expired = expiry_instant(Some(&token_expiring(Some(now - hour)))).unwrap();
        assert_eq!(expired, Instant::now());
        let before_epoch = expiry_instant(Some(&token_expiring(Some(UNIX_EPOCH - hour)))).unwrap();
        assert_eq!(before_epoch, Instant::now());
        assert_eq!(expiry_instant(Some(&token_expiring(None))), None);
        assert_eq!(expiry_instant(None), None);
    }

    #[test]
    fn missing_expiry_is_later_than_any_other() {
        let now = Instant::now();
        let soon = now + Duration::from_secs(1);
        assert_eq!(latest(Some(now), Some(soon)), Some(soon));
        assert_eq!(latest(Some(soon), Some(now)), Some(soon));
        assert_eq!(latest(None, Some(now)), None);
        assert_eq!(latest(Some(now), None), None);
    }
}
