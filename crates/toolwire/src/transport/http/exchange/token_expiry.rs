//! When a stream has outlived the token that it was opened with.
//!
//! Streams that never end by themselves would serve a client for ever that was let in once: one whose token was not
//! renewed, because its user has left. So they end with their token, and whoever may come back does. The answer to a call
//! is not cut off: the call was allowed when it began, and it ends by itself.

use std::time::UNIX_EPOCH;

use tokio::time::Instant;

use crate::engine::{TokenInfo, since_epoch};

/// When a token ends, on the clock that streams wait by; `None` when it does not.
pub(crate) fn expiry_instant(token: Option<&TokenInfo>) -> Option<Instant> {
    let end = token?.expires_at?.duration_since(UNIX_EPOCH);
    let left = end.unwrap_or_default().saturating_sub(since_epoch());
    Instant::now().checked_add(left)
}

/// The later of two ends.
pub(crate) fn latest(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    one.zip(other).map(|(one, other)| one.max(other))
}

/// Waits for an end.
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

    fn ending(at: Option<SystemTime>) -> TokenInfo {
        TokenInfo {
            valid: true,
            expires_at: at,
            ..TokenInfo::default()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_ends_when_it_says() {
        let now = UNIX_EPOCH + since_epoch();
        let hour = Duration::from_secs(3600);
        let end = expiry_instant(Some(&ending(Some(now + hour)))).unwrap() - Instant::now();
        assert!(end <= hour && end > hour - Duration::from_secs(60));
        let over = expiry_instant(Some(&ending(Some(now - hour)))).unwrap();
        assert_eq!(over, Instant::now());
        let before_time = expiry_instant(Some(&ending(Some(UNIX_EPOCH - hour)))).unwrap();
        assert_eq!(before_time, Instant::now());
        assert_eq!(expiry_instant(Some(&ending(None))), None);
        assert_eq!(expiry_instant(None), None);
    }

    #[test]
    fn an_end_that_is_none_is_the_latest() {
        let now = Instant::now();
        let soon = now + Duration::from_secs(1);
        assert_eq!(latest(Some(now), Some(soon)), Some(soon));
        assert_eq!(latest(Some(soon), Some(now)), Some(soon));
        assert_eq!(latest(None, Some(now)), None);
        assert_eq!(latest(Some(now), None), None);
    }
}
