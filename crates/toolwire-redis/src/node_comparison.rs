//! Compares what this node uses with what the node that started before it uses.
//!
//! A node stores the format of its keys, and a value that it has sealed with each of its key rings. The next node can open
//! this value only if it has the key. Neither can be derived from the engine.

use redis::{Script, cmd};
use toolwire::KeyRing;
use toolwire::store::StoreError;

use crate::connection::{Connection, Repeat};
use crate::engine_warning::EngineWarning;
use crate::keys::Keys;
use crate::sealing::Sealing;
use crate::{ConnectError, RedisOptions};

/// The format of the keys of this version. A change of the key layout, or of the meaning of a value, increases it.
///
/// 2: a session with the first revision is not initialized, whatever its record says.
const KEY_FORMAT: &str = "2";

/// The names of the values that a node stores.
const FORMAT: &str = "format";
const SEALED: &str = "sealed";
const REQUEST_STATE: &str = "state";

/// Compares the key layout and the sealing keys with those of the node that started last.
pub(crate) async fn check_other_nodes(
    connection: &Connection,
    keys: &Keys,
    options: &RedisOptions,
) -> Result<Vec<EngineWarning>, ConnectError> {
    let (key, sealing) = (keys.nodes(), options.sealing.as_ref());
    let sample = sealing.map(|sealing| sealing.seal(&key, &[])).transpose();
    let sample = sample.map_err(ConnectError::unavailable)?;
    let own = [
        (FORMAT, KEY_FORMAT),
        (SEALED, sample.as_deref().unwrap_or_default()),
    ];
    let before = compare(connection, &key, &own, options.inspects_only).await;
    let [format, other_sample] = before.map_err(ConnectError::unavailable)?;
    let mut warnings = Vec::new();
    if format.is_some_and(|format| format != KEY_FORMAT) {
        warnings.push(EngineWarning::new(
            "another version of toolwire-redis uses this service name with other keys, so its records are not found",
            "use one version on all nodes, or another service name",
        ));
    }
    let can_open = |sample: &String| match sealing {
        Some(sealing) => sealing.open(&key, sample.as_bytes()).is_some(),
        // A tool that inspects the engine does not need the keys.
        None => sample.is_empty() || options.inspects_only,
    };
    if other_sample.is_some_and(|sample| !can_open(&sample)) {
        warnings.push(EngineWarning::new(
            "the node that started last seals with another key or not at all, so the nodes cannot read each other's records",
            "pass the same keys to `with_sealing` on all nodes",
        ));
    }
    Ok(warnings)
}

/// Compares the keys of request states with those of the node that compared them last.
pub(crate) async fn check_request_state_keys(
    connection: &Connection,
    keys: &Keys,
    state_keys: &KeyRing,
    inspects_only: bool,
) -> Result<Option<EngineWarning>, StoreError> {
    let key = keys.nodes();
    // The name of the sample differs from that of other sealed values, so it is not valid as one of them.
    let name = format!("{key} request state");
    let sealing = Sealing::new(state_keys.clone());
    let sample = sealing.seal(&name, &[])?;
    let own = [(REQUEST_STATE, sample.as_str())];
    let [before] = compare(connection, &key, &own, inspects_only).await?;
    let is_known = |sample: String| sealing.open(&name, sample.as_bytes()).is_some();
    if before.is_none_or(is_known) {
        return Ok(None);
    }
    Ok(Some(EngineWarning::new(
        "the node that started last seals request states with a key that this node does not have, so the nodes reject each \
         other's request states",
        "pass the same keys to `with_request_state_keys` on all nodes",
    )))
}

/// Returns what the previous node has stored under these names. Stores the values of this node, unless it only inspects.
async fn compare<const N: usize>(
    connection: &Connection,
    key: &str,
    own: &[(&str, &str); N],
    inspects_only: bool,
) -> Result<[Option<String>; N], StoreError> {
    let before: Vec<Option<String>> = if inspects_only {
        let mut get = cmd("HMGET");
        get.arg(key);
        for (name, _) in own {
            get.arg(*name);
        }
        connection.send(&get, Repeat::Harmless).await?
    } else {
        let script = Script::new(include_str!("scripts/compare_nodes.lua"));
        let mut invocation = script.prepare_invoke();
        invocation.key(key);
        for (name, value) in own {
            invocation.arg(*name).arg(*value);
        }
        connection.send(&invocation, Repeat::Harmless).await?
    };
    before
        .try_into()
        .map_err(|_| StoreError::unavailable("the engine returned another number of values"))
}
