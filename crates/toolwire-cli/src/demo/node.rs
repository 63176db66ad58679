//! The server of `toolwire demo` as one of several nodes.

use toolwire::tasks::Tasks;
use toolwire::transport::http::HttpOptions;
use toolwire::{KeyRing, Server, StateKey};
use toolwire_redis::{Redis, RedisOptions};

use crate::demo::{server, server_with};
use crate::failure::{Exit, Failure};
use crate::telemetry;

/// The name of the service in the engine.
const SERVICE: &str = "toolwire-demo";

/// Returns a server that shares sessions, streams and tasks with all nodes of this engine, and also the key of its request
/// state if it has none.
pub(crate) async fn join(
    url: &str,
    keys: Option<KeyRing>,
    options: HttpOptions,
) -> Result<(Server, HttpOptions), Failure> {
    let unavailable =
        |error: &dyn std::error::Error| Failure::new(Exit::NoConnection, error.to_string());
    let stores = telemetry::observe_stores(RedisOptions::new(SERVICE));
    let redis = Redis::connect(url, stores).await;
    let redis = redis.map_err(|error| unavailable(&error))?;
    let keys = match keys {
        Some(keys) => keys,
        None => {
            let key = redis.shared_key().await;
            KeyRing::new(StateKey::new(key.map_err(|error| unavailable(&error))?))
        }
    };
    let checked = redis.check_request_state_keys(&keys).await;
    checked.map_err(|error| unavailable(&error))?;
    let server = server_with(Tasks::new(redis.tasks()))
        .with_request_state_keys(keys)
        .with_single_use_request_state(redis.nonces());
    Ok((server, options.with_cluster(&redis)))
}

/// Returns a server that shares nothing but the keys of its request state. 2026-07-28 clients need no more.
pub(crate) fn server_with_keys(keys: KeyRing) -> Server {
    server().with_request_state_keys(keys)
}
