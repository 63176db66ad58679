//! The server of `toolwire demo` as one of several nodes.

use std::path::Path;

use toolwire::tasks::Tasks;
use toolwire::transport::http::HttpOptions;
use toolwire::{KeyRing, Server, StateKey};
use toolwire_redis::{Redis, RedisOptions};

use crate::demo::{server, server_with};
use crate::failure::{Exit, Failure};
use crate::state_key::read_state_key;
use crate::telemetry;

/// The name of the service in the engine.
const SERVICE: &str = "toolwire-demo";

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
    let keys = KeyRing::new(StateKey::new(key.map_err(|error| unavailable(&error))?));
    let checked = redis.check_request_state_keys(&keys).await;
    checked.map_err(|error| unavailable(&error))?;
    let server = server_with(Tasks::new(redis.tasks()))
        .with_request_state_keys(keys)
        .with_single_use_request_state(redis.nonces());
    Ok((server, options.with_cluster(&redis)))
}

/// Returns a server that shares nothing but the key of its request state, which this file contains. 2026-07-28 clients
/// need no more.
pub(crate) fn server_with_key(path: &Path) -> Result<Server, Failure> {
    Ok(server().with_request_state_keys(read_state_key(path)?))
}
