//! Limits the authorization attempts of a client for one request.
//!
//! Spec 2026-07-28, authorization, "Step-Up Authorization Flow": after a few attempts, it is a permanent failure.
//!
//! ```text
//!            401, with a refresh token         401                     401
//!   start ───────────────────────────▶ refreshed ───▶ authorized ───────▶ give up
//!     │  401, without one                               ▲   │
//!     ├─────────────────────────────────────────────────┘   │ 403 with other scopes: step up, twice at most
//!     └── 403 insufficient_scope ──▶ stepped up ◀───────────┘
//!                                        │ 403 with scopes that were already requested, or too many step-ups
//!                                        ▼
//!                                     give up
//! ```

use std::fmt;

use toolwire_proto::scopes::ScopeSet;

use crate::rules::challenge::{Challenge, ChallengeError};

/// The default number of step-ups for one request. Together with the first authorization, a user is asked at most three
/// times.
pub(crate) const DEFAULT_MAX_STEP_UPS: u8 = 2;

/// The maximum number of nonces that are accepted for one request. One is usual. A second covers a nonce that has just
/// been renewed.
pub(crate) const MAX_NONCES: u8 = 2;

/// The way in which a server rejected a request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum AuthRejection {
    /// 401: the token is missing or invalid. The scopes are those of the challenge.
    Unauthorized(Option<ScopeSet>),
    /// 403 `insufficient_scope`, with the scopes of the challenge.
    InsufficientScope(Option<ScopeSet>),
    /// `use_dpop_nonce`: the proof needs the nonce of the response.
    NonceRequired,
}

impl AuthRejection {
    /// Returns the rejection and its challenge, or `None` if no token would help.
    ///
    /// A 401 always requires a token, even without a challenge. A 403 requires one only with `insufficient_scope`. Any
    /// other 403 is final.
    #[must_use]
    pub(crate) fn read(
        status: u16,
        challenges: &[Challenge],
    ) -> Option<(Self, Option<&Challenge>)> {
        let with_error = |error: &ChallengeError| {
            let mut all = challenges.iter();
            all.find(|challenge| challenge.error.as_ref() == Some(error))
        };
        let scopes = |challenge: Option<&Challenge>| {
            let scope = challenge.and_then(|challenge| challenge.scope.as_deref());
            scope.and_then(|scope| ScopeSet::parse(scope).ok())
        };
        match status {
            401 => {
                if let Some(challenge) = with_error(&ChallengeError::UseDpopNonce) {
                    return Some((Self::NonceRequired, Some(challenge)));
                }
                let mut all = challenges.iter();
                let challenge = all
                    .find(|challenge| challenge.resource_metadata.is_some())
                    .or_else(|| challenges.first());
                Some((Self::Unauthorized(scopes(challenge)), challenge))
            }
            403 => {
                let challenge = with_error(&ChallengeError::InsufficientScope)?;
                Some((
                    Self::InsufficientScope(scopes(Some(challenge))),
                    Some(challenge),
                ))
            }
            _ => None,
        }
    }
}

/// The next step after a rejection.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum NextStep {
    /// Use the refresh token, then repeat the request.
    Refresh,
    /// Authorize again, then repeat the request.
    Authorize,
    /// Authorize with these scopes in addition to the previous ones, then repeat the request.
    StepUp(ScopeSet),
    /// Repeat the request with the nonce.
    RepeatWithNonce,
    /// Return the error to the caller.
    GiveUp(AttemptsExhausted),
}

/// The authorization attempts for one request.
#[derive(Debug, Clone)]
pub(crate) struct Attempts {
    max_step_ups: u8,
    has_refreshed: bool,
    has_authorized: bool,
    step_ups: u8,
    nonces: u8,
    /// The scopes that were requested since the request was first sent.
    requested: ScopeSet,
}

impl Attempts {
    /// Creates the attempts for a request that has not been sent yet.
    #[must_use]
    pub(crate) const fn new() -> Self {
        Self {
            max_step_ups: DEFAULT_MAX_STEP_UPS,
            has_refreshed: false,
            has_authorized: false,
            step_ups: 0,
            nonces: 0,
            requested: ScopeSet::new(),
        }
    }

    /// Returns the next step after a rejection.
    pub(crate) fn next(&mut self, rejection: AuthRejection, has_refresh_token: bool) -> NextStep {
        match rejection {
            AuthRejection::NonceRequired if self.nonces < MAX_NONCES => {
                self.nonces += 1;
                NextStep::RepeatWithNonce
            }
            AuthRejection::NonceRequired => NextStep::GiveUp(AttemptsExhausted::Nonces),
            AuthRejection::Unauthorized(scopes) => self.authorize(scopes, has_refresh_token),
            AuthRejection::InsufficientScope(scopes) => self.step_up(scopes.unwrap_or_default()),
        }
    }

    fn authorize(&mut self, scopes: Option<ScopeSet>, has_refresh_token: bool) -> NextStep {
        if self.has_authorized || self.step_ups > 0 {
            // The token is new, so another token would be rejected as well.
            return NextStep::GiveUp(AttemptsExhausted::Unauthorized);
        }
        if has_refresh_token && !self.has_refreshed {
            self.has_refreshed = true;
            return NextStep::Refresh;
        }
        self.has_authorized = true;
        self.requested = scopes.unwrap_or_default();
        NextStep::Authorize
    }

    fn step_up(&mut self, scopes: ScopeSet) -> NextStep {
        let was_requested =
            (self.has_authorized || self.step_ups > 0) && self.requested.contains_all(&scopes);
        if scopes.is_empty() || was_requested {
            return NextStep::GiveUp(AttemptsExhausted::NothingToAdd);
        }
        if self.step_ups == self.max_step_ups {
            return NextStep::GiveUp(AttemptsExhausted::StepUps);
        }
        self.step_ups += 1;
        self.requested = self.requested.union(&scopes);
        NextStep::StepUp(scopes)
    }
}

impl Default for Attempts {
    fn default() -> Self {
        Self::new()
    }
}

/// The reason why no further attempt is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum AttemptsExhausted {
    /// The server rejects a newly issued token.
    Unauthorized,
    /// The server requires further scopes repeatedly.
    StepUps,
    /// The server requires scopes that were just requested, or names none.
    NothingToAdd,
    /// The server requires a new nonce repeatedly.
    Nonces,
}

impl fmt::Display for AttemptsExhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unauthorized => "the server rejects a newly issued token",
            Self::StepUps => "the server repeatedly requires further scopes",
            Self::NothingToAdd => {
                "the token lacks required scopes, and there is no further scope to request"
            }
            Self::Nonces => "the server repeatedly requires another nonce",
        })
    }
}

impl std::error::Error for AttemptsExhausted {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scopes(text: &str) -> ScopeSet {
        ScopeSet::parse(text).unwrap()
    }

    fn unauthorized() -> AuthRejection {
        AuthRejection::Unauthorized(None)
    }

    fn insufficient(text: &str) -> AuthRejection {
        AuthRejection::InsufficientScope(Some(scopes(text)))
    }

    #[test]
    fn only_401_and_insufficient_scope_require_a_token() {
        let nonce = Challenge::dpop().with_error(ChallengeError::UseDpopNonce);
        let plain = Challenge::bearer();
        let located = Challenge::bearer()
            .with_resource_metadata("https://a.example/m")
            .with_scopes(&scopes("x"));
        let expired = Challenge::bearer().with_error(ChallengeError::InvalidToken);
        let insufficient = Challenge::bearer()
            .with_error(ChallengeError::InsufficientScope)
            .with_scopes(&scopes("y"));
        let wanted = |text: &str| Some(scopes(text));
        let cases = [
            (401, vec![], Some((AuthRejection::Unauthorized(None), None))),
            (
                401,
                vec![&plain, &located],
                Some((AuthRejection::Unauthorized(wanted("x")), Some(&located))),
            ),
            (
                401,
                vec![&expired],
                Some((AuthRejection::Unauthorized(None), Some(&expired))),
            ),
            (
                401,
                vec![&plain, &nonce],
                Some((AuthRejection::NonceRequired, Some(&nonce))),
            ),
            (
                403,
                vec![&plain, &insufficient],
                Some((
                    AuthRejection::InsufficientScope(wanted("y")),
                    Some(&insufficient),
                )),
            ),
            (403, vec![&plain], None),
            (403, vec![], None),
            (400, vec![&insufficient], None),
            (200, vec![&plain], None),
        ];
        for (status, challenges, expected) in cases {
            let challenges: Vec<Challenge> = challenges.into_iter().cloned().collect();
            assert_eq!(
                AuthRejection::read(status, &challenges),
                expected,
                "{status} {challenges:?}"
            );
        }
    }

    #[track_caller]
    fn check(has_refresh_token: bool, script: &[(AuthRejection, NextStep)]) {
        let mut attempts = Attempts::new();
        for (rejection, expected) in script {
            let next = attempts.next(rejection.clone(), has_refresh_token);
            assert_eq!(&next, expected, "after {rejection:?} in {script:?}");
        }
    }

    #[test]
    fn invalid_token_is_refreshed_once_and_authorized_once() {
        check(
            true,
            &[
                (unauthorized(), NextStep::Refresh),
                (unauthorized(), NextStep::Authorize),
                (
                    unauthorized(),
                    NextStep::GiveUp(AttemptsExhausted::Unauthorized),
                ),
            ],
        );
        check(
            false,
            &[
                (unauthorized(), NextStep::Authorize),
                (
                    unauthorized(),
                    NextStep::GiveUp(AttemptsExhausted::Unauthorized),
                ),
            ],
        );
    }

    #[test]
    fn step_ups_are_limited_to_two() {
        check(
            false,
            &[
                (unauthorized(), NextStep::Authorize),
                (insufficient("a"), NextStep::StepUp(scopes("a"))),
                (insufficient("b"), NextStep::StepUp(scopes("b"))),
                (
                    insufficient("c"),
                    NextStep::GiveUp(AttemptsExhausted::StepUps),
                ),
            ],
        );
    }

    #[test]
    fn requested_scopes_are_not_requested_again() {
        let nothing_to_add = NextStep::GiveUp(AttemptsExhausted::NothingToAdd);
        check(
            true,
            &[
                (insufficient("a b"), NextStep::StepUp(scopes("a b"))),
                (insufficient("b"), nothing_to_add.clone()),
            ],
        );
        check(
            false,
            &[
                (
                    AuthRejection::Unauthorized(Some(scopes("admin"))),
                    NextStep::Authorize,
                ),
                (insufficient("admin"), nothing_to_add.clone()),
            ],
        );
        check(
            true,
            &[(AuthRejection::InsufficientScope(None), nothing_to_add)],
        );
    }

    #[test]
    fn rejected_step_up_token_ends_the_attempts() {
        check(
            true,
            &[
                (insufficient("a"), NextStep::StepUp(scopes("a"))),
                (
                    unauthorized(),
                    NextStep::GiveUp(AttemptsExhausted::Unauthorized),
                ),
            ],
        );
    }

    #[test]
    fn nonces_are_limited_to_two() {
        check(
            true,
            &[
                (AuthRejection::NonceRequired, NextStep::RepeatWithNonce),
                (unauthorized(), NextStep::Refresh),
                (AuthRejection::NonceRequired, NextStep::RepeatWithNonce),
                (
                    AuthRejection::NonceRequired,
                    NextStep::GiveUp(AttemptsExhausted::Nonces),
                ),
            ],
        );
    }

    proptest! {
        #[test]
        fn attempts_end_for_every_server(
            rejections in prop::collection::vec((0..3_u8, "[a-h]{1}"), 20),
            has_refresh_token in any::<bool>(),
        ) {
            let mut attempts = Attempts::new();
            let mut authorizations = 0;
            let mut steps = 0;
            for (kind, scope) in rejections {
                let rejection = match kind {
                    0 => unauthorized(),
                    1 => insufficient(&scope),
                    _ => AuthRejection::NonceRequired,
                };
                match attempts.next(rejection, has_refresh_token) {
                    NextStep::GiveUp(_) => break,
                    NextStep::Authorize | NextStep::StepUp(_) => authorizations += 1,
                    _ => {}
                }
                steps += 1;
            }
            prop_assert!(authorizations <= 3);
            prop_assert!(steps <= 6);
        }
    }
}
