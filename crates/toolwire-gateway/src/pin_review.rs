//! Compares the upstreams of a configuration with the lock file, without a gateway.

use tokio::task::JoinSet;
use toolwire::Source as _;

use crate::config::GatewayConfig;
use crate::connection::{GatewayOptions, upstream_source};
use crate::error::GatewayError;
use crate::pins::{LockFile, Offer, Review};

/// The comparison of one upstream.
#[derive(Debug)]
#[non_exhaustive]
pub struct PinnedUpstream {
    /// The name of the upstream.
    pub name: String,
    /// The approved instructions.
    pub approved_instructions: Option<String>,
    /// What it offers, and how that differs from what was approved. An error if it is not reachable.
    pub outcome: Result<(Offer, Review), String>,
}

/// Connects to each upstream with `pin`, and compares what it offers with the lock file. Nothing is approved.
///
/// # Errors
/// Returns an error if an upstream cannot be set up.
pub async fn review_pins(
    config: &GatewayConfig,
    lock_file: &LockFile,
    options: &GatewayOptions,
) -> Result<Vec<PinnedUpstream>, GatewayError> {
    let pinned = config.upstreams.iter();
    let pinned = pinned.filter(|upstream| upstream.pin.is_some());
    let mut reviewing = JoinSet::new();
    for (index, upstream) in pinned.enumerate() {
        let name = upstream.name.clone();
        let source = upstream_source(upstream, options, None)
            .map_err(|problem| GatewayError::Setting(format!("upstream `{name}`: {problem}")))?;
        let approved = lock_file.upstreams.get(&name).cloned().unwrap_or_default();
        let instructions = approved.instructions.as_ref();
        let approved_instructions = instructions.map(|pinned| pinned.text.clone());
        reviewing.spawn(async move {
            let connected = source.connect().await;
            let outcome = connected.map_err(|error| error.to_string()).map(|()| {
                let offer = Offer::of(&source.catalog());
                let review = Review::of(&approved, &offer);
                (offer, review)
            });
            source.close().await;
            let reviewed = PinnedUpstream {
                name,
                approved_instructions,
                outcome,
            };
            (index, reviewed)
        });
    }
    let mut reviewed = reviewing.join_all().await;
    reviewed.sort_by_key(|(index, _)| *index);
    Ok(reviewed.into_iter().map(|(_, upstream)| upstream).collect())
}
