//! The lifetimes of grants and tokens, limited by the token of the identity provider.

/// The lifetimes of issued tokens, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lifetimes {
    /// The lifetime of an access token.
    pub access_token: u64,
    /// The lifetime of a grant. After it, the user has to log in again.
    pub grant: u64,
}

/// The state of the identity provider's token. Times are seconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UpstreamToken {
    /// The expiry, or `None` if the token does not expire.
    pub expires_at: Option<u64>,
    /// Whether the token can be refreshed.
    pub can_be_refreshed: bool,
}

impl Lifetimes {
    /// Returns the end of a grant that starts at a time, never later than the identity provider's token.
    #[must_use]
    pub(crate) fn grant_end(&self, start: u64, upstream: UpstreamToken) -> u64 {
        let end = start.saturating_add(self.grant);
        match upstream.expires_at {
            Some(expiry) if !upstream.can_be_refreshed => end.min(expiry),
            _ => end,
        }
    }

    /// Returns the expiry of an access token that is issued now.
    #[must_use]
    pub(crate) fn access_end(&self, now: u64, grant_end: u64, upstream: UpstreamToken) -> u64 {
        let end = now.saturating_add(self.access_token).min(grant_end);
        upstream
            .expires_at
            .map_or(end, |upstream| end.min(upstream))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIFETIMES: Lifetimes = Lifetimes {
        access_token: 100,
        grant: 1_000,
    };

    fn upstream(expires_at: Option<u64>, can_be_refreshed: bool) -> UpstreamToken {
        UpstreamToken {
            expires_at,
            can_be_refreshed,
        }
    }

    #[test]
    fn grant_ends_with_the_upstream_token() {
        let check = |expires_at, can_be_refreshed, expected: u64| {
            let end = LIFETIMES.grant_end(500, upstream(expires_at, can_be_refreshed));
            assert_eq!(end, expected);
        };
        check(None, false, 1_500);
        check(None, true, 1_500);
        check(Some(600), false, 600);
        check(Some(600), true, 1_500);
        check(Some(9_000), false, 1_500);
    }

    #[test]
    fn access_token_ends_with_grant_and_upstream_token() {
        let check = |grant_end, expires_at, expected: u64| {
            let end = LIFETIMES.access_end(500, grant_end, upstream(expires_at, true));
            assert_eq!(end, expected);
        };
        check(1_500, None, 600);
        check(550, None, 550);
        check(1_500, Some(520), 520);
        check(1_500, Some(9_000), 600);
        check(u64::MAX, Some(u64::MAX), 600);
    }
}
