//! Rate limits per caller, with the generic cell rate algorithm (GCRA).
//!
//! The algorithm stores one time per key: when the next call would be due if calls came at exactly the permitted rate. A
//! call is rejected if that time is too far ahead. Keys whose time is over need no memory.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use serde_json::json;
use toolwire_types::ErrorObject;

/// The maximum number of keys of one limiter that are stored. Further ones share one limit.
pub const MAX_KEYS: usize = 65_536;

/// The shortest time between two searches for keys that need no memory any more.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// A number of calls in a period. All of them may come at once; later calls are permitted one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallRate {
    /// The time between two calls at the permitted rate.
    interval: Duration,
    /// How far calls may be ahead of the rate.
    burst: Duration,
}

impl CallRate {
    /// Creates a limit of this many calls in each period. Zero counts as one.
    #[must_use]
    pub fn new(calls: u32, period: Duration) -> Self {
        let calls = calls.max(1);
        let interval = period / calls;
        Self {
            interval,
            burst: interval * (calls - 1),
        }
    }
}

/// A rejected call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RateLimited {
    /// How long the caller has to wait.
    pub retry_after: Duration,
}

impl From<RateLimited> for ErrorObject {
    fn from(limited: RateLimited) -> Self {
        // A caller that waits for the time in milliseconds must not be too early.
        let milliseconds = limited.retry_after.as_nanos().div_ceil(1_000_000);
        let milliseconds = u64::try_from(milliseconds).unwrap_or(u64::MAX);
        ErrorObject::internal("too many calls; try again later")
            .with_data(json!({ "reason": "rate_limited", "retryAfterMs": milliseconds }))
    }
}

/// The calls of all keys of one limit. `K` is a principal or the address of a client.
///
/// ```
/// use std::time::Duration;
/// use toolwire_proto::relay::rate_limit::{CallRate, RateLimiter};
///
/// let minute = Duration::from_secs(60);
/// let mut limiter = RateLimiter::new(CallRate::new(2, minute));
/// let now = Duration::ZERO;
/// assert!(limiter.check("alice", now).is_ok() && limiter.check("alice", now).is_ok());
/// assert_eq!(limiter.check("alice", now).unwrap_err().retry_after, minute / 2);
/// assert!(limiter.check("bob", now).is_ok());
/// ```
#[derive(Debug, Clone)]
pub struct RateLimiter<K> {
    limit: CallRate,
    /// When the next call of each key would be due.
    due: HashMap<K, Duration>,
    /// The shared limit of the keys that are not stored.
    others: Duration,
    next_sweep: Duration,
}

impl<K: Eq + Hash> RateLimiter<K> {
    /// Creates a limiter without calls.
    #[must_use]
    pub fn new(limit: CallRate) -> Self {
        Self {
            limit,
            due: HashMap::new(),
            others: Duration::ZERO,
            next_sweep: Duration::ZERO,
        }
    }

    /// Counts a call at `now`, a time on one clock.
    ///
    /// # Errors
    /// Returns an error if the key has too many calls. The call is not counted then.
    pub fn check(&mut self, key: K, now: Duration) -> Result<(), RateLimited> {
        let limit = self.limit;
        let due = if self.due.contains_key(&key) || self.has_capacity(now) {
            self.due.entry(key).or_insert(now)
        } else {
            &mut self.others
        };
        let earliest = due.saturating_sub(limit.burst);
        if now < earliest {
            return Err(RateLimited {
                retry_after: earliest - now,
            });
        }
        *due = now.max(*due).saturating_add(limit.interval);
        Ok(())
    }

    /// Returns the number of stored keys.
    #[must_use]
    pub fn len(&self) -> usize {
        self.due.len()
    }

    /// Returns `true` if no key is stored.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.due.is_empty()
    }

    /// Returns `true` if another key can be stored. Removes keys whose time is over if the table is full.
    fn has_capacity(&mut self, now: Duration) -> bool {
        if self.due.len() >= MAX_KEYS && now >= self.next_sweep {
            self.due.retain(|_, due| *due > now);
            self.next_sweep = now.saturating_add(SWEEP_INTERVAL);
        }
        self.due.len() < MAX_KEYS
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn burst_is_permitted_and_then_the_rate() {
        let mut limiter = RateLimiter::new(CallRate::new(3, 3 * SECOND));
        let mut check = |at: Duration, expected: Result<(), Duration>| {
            let result = limiter
                .check("a", at)
                .map_err(|limited| limited.retry_after);
            assert_eq!(result, expected, "{at:?}");
        };
        for _ in 0..3 {
            check(10 * SECOND, Ok(()));
        }
        check(10 * SECOND, Err(SECOND));
        check(10 * SECOND + SECOND / 2, Err(SECOND / 2));
        check(11 * SECOND, Ok(()));
        check(11 * SECOND, Err(SECOND));
        // After the whole period, the whole burst is available again.
        for _ in 0..3 {
            check(20 * SECOND, Ok(()));
        }
        check(20 * SECOND, Err(SECOND));
        // A clock that goes back does not permit more.
        check(19 * SECOND, Err(2 * SECOND));
    }

    #[test]
    fn keys_beyond_the_limit_share_one() {
        let mut limiter = RateLimiter::new(CallRate::new(1, 10 * SECOND));
        for key in 0..MAX_KEYS {
            assert!(limiter.check(key, SECOND).is_ok());
        }
        assert!(limiter.check(MAX_KEYS, SECOND).is_ok());
        assert!(limiter.check(MAX_KEYS + 1, SECOND).is_err());
        assert_eq!(limiter.len(), MAX_KEYS);
        // Keys whose time is over are removed.
        assert!(limiter.check(MAX_KEYS + 1, 12 * SECOND).is_ok());
        assert_eq!(limiter.len(), 1);
    }

    #[test]
    fn error_names_the_reason_and_the_wait() {
        let error = ErrorObject::from(RateLimited {
            retry_after: Duration::from_micros(1500),
        });
        assert_eq!(error.code, -32603);
        let data = error.data.unwrap().to_value().unwrap();
        assert_eq!(data, json!({"reason": "rate_limited", "retryAfterMs": 2}));
    }

    #[test]
    fn zero_calls_count_as_one() {
        let mut limiter = RateLimiter::new(CallRate::new(0, SECOND));
        assert!(limiter.check((), Duration::ZERO).is_ok());
        assert!(limiter.check((), Duration::ZERO).is_err());
        let mut unlimited = RateLimiter::new(CallRate::new(5, Duration::ZERO));
        assert!((0..100).all(|_| unlimited.check((), Duration::ZERO).is_ok()));
    }

    proptest! {
        #[test]
        fn permitted_calls_never_exceed_the_limit(
            calls in 1..6_u32,
            gaps in prop::collection::vec(0..1500_u64, 1..60),
        ) {
            let period = Duration::from_millis(u64::from(calls) * 500);
            let mut limiter = RateLimiter::new(CallRate::new(calls, period));
            let (mut now, mut permitted) = (Duration::ZERO, Vec::new());
            for gap in gaps {
                now += Duration::from_millis(gap);
                match limiter.check((), now) {
                    Ok(()) => permitted.push(now),
                    Err(limited) => {
                        // The stated wait is sufficient.
                        let at = now + limited.retry_after;
                        prop_assert!(limiter.clone().check((), at).is_ok());
                    }
                }
            }
            // After a burst, one call per interval is permitted until the period is over.
            for (index, start) in permitted.iter().enumerate() {
                let within = permitted[index..].iter().take_while(|at| **at < *start + period).count();
                prop_assert!(within < 2 * calls as usize);
            }
        }
    }
}
