//! How long what is given out may last, beside the token of the identity provider that stands behind it.

/// How long tokens last, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a caller that forgets a new member would give out tokens that last otherwise"
)]
pub struct Lifetimes {
    /// An access token.
    pub access_token: u64,
    /// A whole grant: after it the user has to log in again.
    pub grant: u64,
}

/// What is known about the token of the identity provider. Times are seconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a caller that forgets a new member would outlive the identity provider"
)]
pub struct UpstreamToken {
    /// When it ends, if it does.
    pub expires_at: Option<u64>,
    /// Whether there is a way to get the next one.
    pub can_be_refreshed: bool,
}

impl Lifetimes {
    /// When a grant ends that began at a time: never later than what stands behind it.
    #[must_use]
    pub fn grant_end(&self, began: u64, upstream: UpstreamToken) -> u64 {
        let own = began.saturating_add(self.grant);
        match upstream.expires_at {
            Some(end) if !upstream.can_be_refreshed => own.min(end),
            _ => own,
        }
    }

    /// When an access token ends that is given out now.
    #[must_use]
    pub fn access_end(&self, now: u64, grant_end: u64, upstream: UpstreamToken) -> u64 {
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
    fn a_grant_ends_with_what_stands_behind_it() {
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
    fn an_access_token_never_outlives_anything() {
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
