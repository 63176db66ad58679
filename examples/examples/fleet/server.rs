//! The server: one node of the warehouse.

use std::time::Duration;

use toolwire::transport::http::{HttpListener, HttpOptions};
use toolwire::{Error, KeyRing, RequestContext, StateKey};
use toolwire_redis::{Redis, RedisOptions};

struct Warehouse {
    /// The name of the node, which the results contain.
    node: String,
}

#[toolwire::server(name = "warehouse", version = "1.0.0")]
impl Warehouse {
    /// Packs parcels, and reports each of them.
    #[tool]
    async fn pack(&self, ctx: &RequestContext, parcels: u32) -> String {
        for parcel in 1..=parcels {
            // The response becomes a stream, which the client can resume on every node.
            ctx.report_progress(f64::from(parcel), Some(f64::from(parcels)), None);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        format!("packed {parcels} parcels at {}", self.node)
    }

    /// Ships a parcel if the user agrees. The response of the user may arrive at another node.
    #[tool]
    async fn ship(&self, ctx: &RequestContext, city: String) -> Result<String, Error> {
        let message = format!("Ship the parcel to {city}?");
        if ctx.confirm("ship", message).await? {
            Ok(format!("shipped to {city} from {}", self.node))
        } else {
            Ok("nothing was shipped".to_owned())
        }
    }
}

pub(crate) async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let redis = setting(1, "FLEET_REDIS", "redis://127.0.0.1");
    let address = setting(2, "FLEET_ADDRESS", "127.0.0.1:3000");
    let hosts = std::env::var("FLEET_HOSTS").unwrap_or_default();

    // Fails with the remedy if the engine does not suit, for example because it may evict keys.
    let redis = Redis::connect(&redis, RedisOptions::new("warehouse")).await?;
    let options = HttpOptions::new()
        .with_limits(crate::limits::limits())
        .with_cluster(&redis)
        .with_public_hosts(hosts.split(',').filter(|host| !host.is_empty()));
    let warehouse = Warehouse {
        // The name of the container or of the pod.
        node: std::env::var("HOSTNAME").unwrap_or_else(|_| "this node".to_owned()),
    };
    // Without a shared key, a node rejects the request state of the others.
    let keys = KeyRing::new(StateKey::new(redis.shared_key().await?));
    // Logs a warning if another node has another key.
    redis.check_request_state_keys(&keys).await?;
    let server = warehouse.into_server().with_request_state_keys(keys);

    // Returns after SIGTERM, when the running calls are complete, or after `HttpLimits::drain`.
    let listener = HttpListener::bind(server, address, options).await?;
    eprintln!("listening on {}", listener.url());
    Ok(listener.run().await?)
}

/// Returns an argument, or else an environment variable, or else the default.
fn setting(position: usize, variable: &str, default: &str) -> String {
    let argument = std::env::args().nth(position);
    argument
        .or_else(|| std::env::var(variable).ok())
        .unwrap_or_else(|| default.to_owned())
}
