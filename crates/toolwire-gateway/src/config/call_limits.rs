//! `limit` and `sampling` of an upstream: how many calls and sampling requests are permitted in a period.

use std::time::Duration;

use toolwire_proto::relay::glob::Glob;

use crate::config::ConfigError;
use crate::config::section::{Field, Section};
use crate::config::upstream::patterns;

/// The maximum number of limits of an upstream.
pub(super) const MAX_LIMITS: usize = 16;

/// A number of calls in a period.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallLimit {
    /// The number of calls, which may come at once.
    pub calls: u32,
    /// The period.
    pub period: Duration,
    /// Who shares the limit.
    pub key: LimitKey,
    /// Patterns of the tools whose calls count, by their names at the upstream. Empty: all calls, prompts and reads.
    pub tools: Vec<Glob>,
}

/// A number of sampling requests in a period, for each caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SamplingLimit {
    /// The number of requests, which may come at once.
    pub calls: u32,
    /// The period.
    pub period: Duration,
}

/// Who shares a limit of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimitKey {
    /// Each caller has a limit.
    Principal,
    /// Each client address has a limit; see [`GatewayConfig::trusted_proxies`](crate::GatewayConfig::trusted_proxies).
    Address,
    /// All callers share one limit.
    Upstream,
}

/// Reads one table of `limit`.
pub(super) fn read(field: Field<'_>) -> Result<CallLimit, ConfigError> {
    let start = field.start();
    let mut section = field.section()?;
    let rate = [section.take("calls"), section.take("per")];
    let key = match section.take("key") {
        Some(key) => key.one_of(&[
            ("principal", LimitKey::Principal),
            ("address", LimitKey::Address),
            ("upstream", LimitKey::Upstream),
        ])?,
        None => LimitKey::Principal,
    };
    let (calls, period) = read_rate(rate, &section, start, "limit")?;
    let tools = patterns(section.take("tools"))?;
    section.finish()?;
    Ok(CallLimit {
        calls,
        period,
        key,
        tools,
    })
}

/// Reads the table `sampling`.
pub(super) fn read_sampling(field: Field<'_>) -> Result<SamplingLimit, ConfigError> {
    let start = field.start();
    let mut section = field.section()?;
    let rate = [section.take("calls"), section.take("per")];
    let (calls, period) = read_rate(rate, &section, start, "sampling")?;
    section.finish()?;
    Ok(SamplingLimit { calls, period })
}

/// Reads `calls` and `per` of a table with this name.
fn read_rate(
    rate: [Option<Field<'_>>; 2],
    section: &Section<'_>,
    start: usize,
    name: &str,
) -> Result<(u32, Duration), ConfigError> {
    let [Some(calls), Some(period)] = rate else {
        let missing = section
            .error(start, format!("`{name}` needs `calls` and `per`"))
            .with_advice(format!("write {name} = {{ calls = 60, per = \"1m\" }}"));
        return Err(section.missing(&["calls", "per"], missing));
    };
    let calls = calls.number(1..1_000_001)?;
    let calls = u32::try_from(calls).unwrap_or(u32::MAX);
    Ok((calls, period.duration()?))
}
