//! The server of `toolwire demo` as one of several nodes.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;

use toolwire::tasks::Tasks;
use toolwire::transport::http::HttpOptions;
use toolwire::{KeyRing, Server, StateKey};
use toolwire_redis::{Redis, RedisOptions};

use crate::demo::{server, server_with};
use crate::failure::{Exit, Failure};
use crate::telemetry;

/// The name of the service in the engine.
const SERVICE: &str = "toolwire-demo";

/// The size of the key of the request state.
const KEY_BYTES: usize = 32;

/// Returns a server that shares sessions, streams, tasks and keys with all nodes of this engine.
pub(crate) async fn join(
    url: &str,
    options: HttpOptions,
) -> Result<(Server, HttpOptions), Failure> {
    let unavailable =
        |error: &dyn std::error::Error| Failure::new(Exit::NoConnection, error.to_string());
    let stores = telemetry::observe_stores(RedisOptions::new(SERVICE));
    let redis = Redis::connect(url, stores).await;
    let redis = redis.map_err(|error| unavailable(&error))?;
    let key = redis.shared_key().await;
    let key = StateKey::new(key.map_err(|error| unavailable(&error))?);
    let server = server_with(Tasks::new(redis.tasks()))
        .with_request_state_keys(KeyRing::new(key))
        .with_single_use_request_state(redis.nonces());
    let options = options
        .with_session_store(Arc::new(redis.sessions()))
        .with_event_log(Arc::new(redis.event_log()))
        .with_bus(Arc::new(redis.bus()))
        .with_mailboxes(Arc::new(redis.mailboxes()));
    Ok((server, options))
}

/// Returns a server that shares nothing but the key of its request state, which this file contains. 2026-07-28 clients
/// need no more.
pub(crate) fn server_with_key(path: &Path) -> Result<Server, Failure> {
    let shown = path.display();
    let bytes = read_key(path)
        .map_err(|error| Failure::usage(format!("the key {shown} cannot be read: {error}")))?;
    let key: [u8; KEY_BYTES] = bytes.try_into().map_err(|bytes: Vec<u8>| {
        let count = match bytes.len() {
            count if count > KEY_BYTES => format!("more than {KEY_BYTES} bytes"),
            count => format!("{count} bytes instead of {KEY_BYTES}"),
        };
        Failure::usage(format!(
            "the key {shown} has {count}; create one with `head -c {KEY_BYTES} /dev/urandom > FILE`"
        ))
    })?;
    Ok(server().with_request_state_keys(KeyRing::new(StateKey::new(key))))
}

/// Reads a key, and one more byte of a file that is too long. The file may be a device without an end.
fn read_key(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(path)?;
    file.take(KEY_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
