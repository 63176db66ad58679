//! The checks when a node connects: faults of the configuration are reported at the start, not by lost records later.

use std::time::{SystemTime, UNIX_EPOCH};

use redis::{FromRedisValue as _, Script, Value, cmd};

use crate::connection::{Connection, Repeat};
use crate::engine_warning::EngineWarning;
use crate::keys::Keys;
use crate::node_comparison::check_other_nodes;
use crate::random_id::random_id;
use crate::{ConnectError, RedisOptions};

/// The oldest supported version of Redis. Valkey reports the version of Redis that it is compatible with.
const OLDEST_MAJOR_VERSION: u32 = 7;

/// The largest difference between the clocks of this node and of the engine that is not reported.
const CLOCK_DIFFERENCE_MS: u64 = 2000;

/// Checks the engine. Returns an error if it cannot be used, and what is risky.
pub(crate) async fn check(
    connection: &Connection,
    keys: &Keys,
    options: &RedisOptions,
) -> Result<Vec<EngineWarning>, ConnectError> {
    let mut warnings = Vec::new();
    for info in infos(connection).await? {
        warnings.extend(check_info(&info)?);
    }
    check_script(connection, keys).await?;
    warnings.extend(check_clock(connection).await?);
    warnings.extend(check_other_nodes(connection, keys, options).await?);
    Ok(without_duplicates(warnings))
}

/// Removes repeated warnings. The primaries of a cluster often have the same configuration.
fn without_duplicates(warnings: Vec<EngineWarning>) -> Vec<EngineWarning> {
    let mut distinct = Vec::new();
    for warning in warnings {
        if !distinct.contains(&warning) {
            distinct.push(warning);
        }
    }
    distinct
}

/// Returns what the engine says about itself: one text, or one of each primary of a cluster.
async fn infos(connection: &Connection) -> Result<Vec<String>, ConnectError> {
    let info: Value = connection
        .send(&cmd("INFO"), Repeat::Harmless)
        .await
        .map_err(ConnectError::unavailable)?;
    let texts = match info {
        Value::Map(nodes) => nodes.into_iter().map(|(_, info)| info).collect(),
        info => vec![info],
    };
    let texts = texts.into_iter().map(String::from_redis_value);
    let texts: Result<Vec<_>, _> = texts.collect();
    texts.map_err(ConnectError::unavailable)
}

fn check_info(info: &str) -> Result<Vec<EngineWarning>, ConnectError> {
    let version = field(info, "redis_version").unwrap_or("unknown");
    let major = version
        .split('.')
        .next()
        .and_then(|major| major.parse().ok());
    if major.is_none_or(|major: u32| major < OLDEST_MAJOR_VERSION) {
        return Err(ConnectError::TooOld {
            version: version.to_owned(),
        });
    }
    if field(info, "role").is_some_and(|role| role != "master") {
        return Err(ConnectError::Replica);
    }
    // The field is absent if the engine does not report its memory. Then nothing is known about evictions.
    match field(info, "maxmemory_policy") {
        Some("noeviction") | None => {}
        Some(policy) => {
            return Err(ConnectError::EvictionPolicy {
                policy: policy.to_owned(),
            });
        }
    }
    Ok(risks_of_losing_data(info))
}

fn risks_of_losing_data(info: &str) -> Vec<EngineWarning> {
    let mut warnings = Vec::new();
    let has_replicas = field(info, "connected_slaves").is_some_and(|count| count != "0");
    if field(info, "aof_enabled") == Some("0") && !has_replicas {
        warnings.push(EngineWarning::new(
            "the engine has neither an append-only file nor a replica, so a restart can lose tasks, sessions and used nonces",
            "set `appendonly yes`",
        ));
    }
    // The field is absent if the engine does not require replicas.
    if has_replicas && field(info, "min_slaves_good_slaves").is_none() {
        warnings.push(EngineWarning::new(
            "a primary that is cut off from its replicas accepts writes, which a failover loses",
            "set `min-replicas-to-write 1`",
        ));
    }
    warnings
}

/// Returns a field of the response to `INFO`.
fn field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = info.lines().filter_map(|line| line.split_once(':'));
    lines
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value.trim())
}

/// Checks that scripts run, and that they can write, read and remove keys.
async fn check_script(connection: &Connection, keys: &Keys) -> Result<(), ConnectError> {
    let value = random_id().map_err(ConnectError::unavailable)?;
    let script = Script::new(include_str!("scripts/check.lua"));
    let mut invocation = script.prepare_invoke();
    invocation.key(keys.check()).arg(&value);
    let read: String = connection
        .send(&invocation, Repeat::Harmless)
        .await
        .map_err(ConnectError::unavailable)?;
    if read != value {
        return Err(ConnectError::unavailable(
            "a key that was written has another value when it is read",
        ));
    }
    Ok(())
}

/// Compares the clocks of this node and of the engine.
async fn check_clock(connection: &Connection) -> Result<Option<EngineWarning>, ConnectError> {
    let (seconds, micros): (u64, u64) = connection
        .send(&cmd("TIME"), Repeat::Harmless)
        .await
        .map_err(ConnectError::unavailable)?;
    let theirs = seconds * 1000 + micros / 1000;
    let ours = SystemTime::now().duration_since(UNIX_EPOCH);
    let ours = ours.map_or(0, |time| {
        u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
    });
    Ok(clock_warning(ours.abs_diff(theirs)))
}

fn clock_warning(difference_ms: u64) -> Option<EngineWarning> {
    (difference_ms > CLOCK_DIFFERENCE_MS).then(|| {
        EngineWarning::new(
            format!(
                "the clocks of this node and of the engine differ by {difference_ms} ms, so tasks expire too early or too late"
            ),
            "synchronize both with NTP",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUITABLE: &str = "# Server\r\nredis_version:7.0.15\r\n# Memory\r\nmaxmemory_policy:noeviction\r\n\
                            aof_enabled:1\r\nrole:master\r\nconnected_slaves:0\r\n";

    #[test]
    fn suitable_engine_is_accepted() {
        assert!(check_info(SUITABLE).is_ok());
        assert!(check_info(&SUITABLE.replace("7.0.15", "8.1.1")).is_ok());
        assert!(check_info(&SUITABLE.replace("7.0.15", "10.0.0")).is_ok());
    }

    #[test]
    fn risks_are_reported_with_the_remedy() {
        let check = |changes: &[(&str, &str)], remedy: Option<&str>| {
            let info = changes
                .iter()
                .fold(SUITABLE.to_owned(), |info, (from, to)| {
                    info.replace(from, to)
                });
            let warnings = check_info(&info).unwrap();
            let remedies: Vec<_> = warnings.iter().map(|one| one.remedy.as_str()).collect();
            assert_eq!(remedies, Vec::from_iter(remedy), "{changes:?}");
        };
        let replica = ("connected_slaves:0", "connected_slaves:1");
        let no_file = ("aof_enabled:1", "aof_enabled:0");
        let one_replica = "connected_slaves:1\r\nmin_slaves_good_slaves:1";
        check(&[], None);
        check(&[no_file], Some("set `appendonly yes`"));
        check(&[replica], Some("set `min-replicas-to-write 1`"));
        check(&[no_file, replica], Some("set `min-replicas-to-write 1`"));
        check(&[("connected_slaves:0", one_replica)], None);
    }

    #[test]
    fn equal_warnings_of_several_primaries_are_reported_once() {
        let warning = |problem: &str| EngineWarning::new(problem.to_owned(), "remedy");
        let both = [warning("a"), warning("b")];
        assert_eq!(without_duplicates([&both[..], &both].concat()), both);
    }

    #[test]
    fn clocks_that_differ_by_more_than_two_seconds_are_reported() {
        assert_eq!(clock_warning(2000), None);
        let warning = clock_warning(2001).unwrap().to_string();
        assert!(warning.contains("differ by 2001 ms"), "{warning}");
    }

    #[test]
    fn unsuitable_engine_is_rejected_with_the_remedy() {
        let rejected = |from: &str, to: &str| {
            let error = check_info(&SUITABLE.replace(from, to)).unwrap_err();
            error.to_string()
        };
        assert_eq!(
            rejected("7.0.15", "6.2.14"),
            "the engine has version 6.2.14: Redis 7.0 or newer, or Valkey, is needed"
        );
        assert_eq!(
            rejected("redis_version", "other_version"),
            "the engine has version unknown: Redis 7.0 or newer, or Valkey, is needed"
        );
        assert_eq!(
            rejected("role:master", "role:slave"),
            "the engine is a replica, which accepts no writes: connect to its primary"
        );
        assert!(rejected("noeviction", "allkeys-lru").contains("set it to noeviction"));
    }
}
