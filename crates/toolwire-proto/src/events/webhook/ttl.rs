//! How long a subscription is valid.

use std::time::Duration;

/// The limits of the TTL that a server grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TtlLimits {
    /// The TTL of a client that requests none.
    pub default: Duration,
    /// The shortest TTL.
    pub shortest: Duration,
    /// The longest TTL.
    pub longest: Duration,
    /// Whether a subscription may be valid without end. Its record must then survive a restart.
    pub permits_unlimited: bool,
}

impl TtlLimits {
    /// The default limits: one hour, between one minute and one day.
    pub const DEFAULT: Self = Self {
        default: Duration::from_secs(60 * 60),
        shortest: Duration::from_secs(60),
        longest: Duration::from_secs(24 * 60 * 60),
        permits_unlimited: false,
    };

    /// Returns the granted TTL, or `None` if the subscription does not expire.
    ///
    /// `requested` is the member `ttlMs`: absent, `null` or a number of milliseconds. A TTL is never rejected, but
    /// shortened, or extended to the shortest one (SEP-3415, "Webhook").
    #[must_use]
    pub fn grant(self, requested: Option<Option<u64>>) -> Option<Duration> {
        let suggested = match requested {
            None => self.default,
            Some(None) if self.permits_unlimited => return None,
            Some(None) => self.longest,
            Some(Some(milliseconds)) => Duration::from_millis(milliseconds),
        };
        Some(suggested.min(self.longest).max(self.shortest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn granted_ttl_is_within_the_limits() {
        let check = |requested: Option<Option<u64>>, expected_seconds: u64| {
            let granted = TtlLimits::DEFAULT.grant(requested);
            assert_eq!(
                granted,
                Some(Duration::from_secs(expected_seconds)),
                "{requested:?}"
            );
        };
        check(None, 3600);
        check(Some(None), 86_400);
        check(Some(Some(0)), 60);
        check(Some(Some(60_000)), 60);
        check(Some(Some(120_000)), 120);
        check(Some(Some(86_400_000)), 86_400);
        check(Some(Some(86_400_001)), 86_400);
        check(Some(Some(u64::MAX)), 86_400);
    }

    #[test]
    fn unlimited_ttl_is_granted_only_on_request_and_with_permission() {
        let limits = TtlLimits {
            permits_unlimited: true,
            ..TtlLimits::DEFAULT
        };
        assert_eq!(limits.grant(Some(None)), None);
        assert!(limits.grant(None).is_some());
        assert!(limits.grant(Some(Some(u64::MAX))).is_some());
    }
}
