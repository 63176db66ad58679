//! Rotation of refresh tokens (OAuth 2.1, section 4.3.1; RFC 9700, section 4.14.2).
//!
//! Each use of a refresh token replaces it. If a used token is presented again, it was stolen, or its owner did not
//! receive the response. Within a short grace period, these cases are not distinguished: the same client gets the same
//! successor again. Later, the grant has to end.

/// The default grace period in which a used refresh token is accepted again, in seconds.
pub(crate) const DEFAULT_GRACE: u64 = 30;

/// The maximum grace period, in seconds.
pub(crate) const LONGEST_GRACE: u64 = 300;

/// The digest of a refresh token.
pub(crate) type Digest = [u8; 32];

/// The refresh tokens of a grant.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RefreshTokens<'a> {
    /// The valid token. `None` if the grant ends before another access token could be issued.
    pub current: Option<&'a Digest>,
    /// The previous token, and the time of its first use in seconds since the Unix epoch.
    pub used: Option<(&'a Digest, u64)>,
}

/// The classification of a presented refresh token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presented {
    /// The current token. It is replaced.
    Current,
    /// The previous token within the grace period. Its successor is issued again.
    Repeated,
    /// A token that was used before or never existed. The grant ends.
    Reused,
}

impl RefreshTokens<'_> {
    /// Classifies a token that names this grant. Repetitions do not prolong the grace period.
    ///
    /// The nodes of a service may have different clocks. If the first use is in the future by more than the grace
    /// period, it counts as one in the past. So a clock that is behind does not prolong the grace period.
    #[must_use]
    pub(crate) fn classify(&self, presented: &Digest, now: u64, grace: u64) -> Presented {
        if self.current == Some(presented) {
            return Presented::Current;
        }
        match self.used {
            Some((used, used_at)) if used == presented && now.abs_diff(used_at) < grace => {
                Presented::Repeated
            }
            _ => Presented::Reused,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn used_token_is_accepted_only_within_the_grace_period() {
        let (current, used, other) = ([1; 32], [2; 32], [3; 32]);
        let tokens = RefreshTokens {
            current: Some(&current),
            used: Some((&used, 1_000)),
        };
        let check = |presented: &Digest, now, grace, expected: Presented| {
            assert_eq!(tokens.classify(presented, now, grace), expected, "{now}");
        };
        check(&current, 1_000, 30, Presented::Current);
        check(&current, 9_999, 30, Presented::Current);
        check(&used, 1_000, 30, Presented::Repeated);
        check(&used, 1_029, 30, Presented::Repeated);
        check(&used, 1_030, 30, Presented::Reused);
        // Without a grace period, and with a clock that is behind.
        check(&used, 1_000, 0, Presented::Reused);
        check(&used, 971, 30, Presented::Repeated);
        check(&used, 970, 30, Presented::Reused);
        check(&other, 1_000, 30, Presented::Reused);
    }

    #[test]
    fn grant_without_tokens_accepts_no_token() {
        let none = RefreshTokens {
            current: None,
            used: None,
        };
        assert_eq!(none.classify(&[0; 32], 0, LONGEST_GRACE), Presented::Reused);
    }
}
