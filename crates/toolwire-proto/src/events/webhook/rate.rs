//! The rate limit of one destination host.

use std::time::Duration;

/// A limit on the requests per second, with a burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RateLimit {
    /// The time between two requests.
    interval: Duration,
    /// How far requests may be ahead of the rate.
    burst: Duration,
}

impl RateLimit {
    /// Creates a limit of `per_second` requests, of which `burst` may be sent at once. Zero counts as one.
    #[must_use]
    pub fn new(per_second: u32, burst: u32) -> Self {
        let interval = Duration::from_secs(1) / per_second.max(1);
        Self {
            interval,
            burst: interval * (burst.max(1) - 1),
        }
    }

    /// Returns the number of requests per second.
    #[must_use]
    pub fn per_second(self) -> u64 {
        let interval = self.interval.as_nanos().max(1);
        u64::try_from(1_000_000_000 / interval).unwrap_or(u64::MAX)
    }
}

/// The requests of one destination host. Times are durations since the Unix epoch.
#[derive(Debug, Clone, Copy, Default)]
pub struct HostRate {
    /// When the next request would be due at exactly the limited rate.
    due: Duration,
}

impl HostRate {
    /// Reserves a request and returns how long it has to wait.
    pub fn reserve(&mut self, limit: RateLimit, now: Duration) -> Duration {
        let wait = self.wait(limit, now);
        self.due = self.due.max(now) + limit.interval;
        wait
    }

    /// Reserves a request and returns how long it has to wait. Returns `None` and reserves nothing if that is longer than
    /// `longest`.
    pub fn reserve_within(
        &mut self,
        limit: RateLimit,
        now: Duration,
        longest: Duration,
    ) -> Option<Duration> {
        (self.wait(limit, now) <= longest).then(|| self.reserve(limit, now))
    }

    fn wait(&self, limit: RateLimit, now: Duration) -> Duration {
        let due = self.due.max(now);
        due.saturating_sub(limit.burst).saturating_sub(now)
    }

    /// Returns `true` if no earlier request affects a new one.
    #[must_use]
    pub fn is_idle(&self, now: Duration) -> bool {
        self.due <= now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_beyond_the_burst_wait() {
        let limit = RateLimit::new(10, 3);
        assert_eq!(limit.per_second(), 10);
        let mut host = HostRate::default();
        let start = Duration::from_secs(100);
        let mut check = |now: u64, expected: u64| {
            let wait = host.reserve(limit, start + Duration::from_millis(now));
            assert_eq!(wait, Duration::from_millis(expected));
        };
        check(0, 0);
        check(0, 0);
        check(0, 0);
        check(0, 100);
        check(0, 200);
        check(500, 0);
        assert!(!host.is_idle(start + Duration::from_millis(500)));
        assert!(host.is_idle(start + Duration::from_millis(600)));
    }

    #[test]
    fn request_that_would_wait_too_long_reserves_nothing() {
        let limit = RateLimit::new(10, 1);
        let (mut host, now) = (HostRate::default(), Duration::from_secs(100));
        let longest = Duration::from_millis(200);
        for expected in [Some(0), Some(100), Some(200), None, None] {
            let wait = host.reserve_within(limit, now, longest);
            assert_eq!(wait, expected.map(Duration::from_millis));
        }
        assert_eq!(host.reserve(limit, now), Duration::from_millis(300));
    }
}
