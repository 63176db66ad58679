//! The checks when a node connects: faults of the configuration are reported at the start, not by lost records later.

use std::time::{SystemTime, UNIX_EPOCH};

use redis::{Script, cmd};

use crate::ConnectError;
use crate::connection::{Connection, Repeat};
use crate::keys::Keys;
use crate::random_id::random_id;

/// The oldest supported version of Redis. Valkey reports the version of Redis that it is compatible with.
const OLDEST_MAJOR_VERSION: u32 = 7;

/// The largest difference between the clocks of this node and of the engine that is not reported.
const CLOCK_DIFFERENCE_MS: u64 = 2000;

/// Checks the engine. Returns an error if it cannot be used, and logs warnings for what is risky.
pub(crate) async fn check(connection: &Connection, keys: &Keys) -> Result<(), ConnectError> {
    let info: String = connection
        .send(&cmd("INFO"), Repeat::Harmless)
        .await
        .map_err(ConnectError::unavailable)?;
    check_info(&info)?;
    check_script(connection, keys).await?;
    warn_about_clock(connection).await
}

fn check_info(info: &str) -> Result<(), ConnectError> {
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
    if field(info, "aof_enabled") == Some("0") && field(info, "connected_slaves") == Some("0") {
        tracing::warn!(
            "the engine has neither an append-only file nor a replica: a restart can lose tasks and used nonces; set \
             `appendonly yes`"
        );
    }
    Ok(())
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

async fn warn_about_clock(connection: &Connection) -> Result<(), ConnectError> {
    let (seconds, micros): (u64, u64) = connection
        .send(&cmd("TIME"), Repeat::Harmless)
        .await
        .map_err(ConnectError::unavailable)?;
    let theirs = seconds * 1000 + micros / 1000;
    let ours = SystemTime::now().duration_since(UNIX_EPOCH);
    let ours = ours.map_or(0, |time| {
        u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
    });
    let difference_ms = ours.abs_diff(theirs);
    if difference_ms > CLOCK_DIFFERENCE_MS {
        tracing::warn!(
            difference_ms,
            "the clocks of this node and of the engine differ: tasks expire too early or too late"
        );
    }
    Ok(())
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
