//! The subscriptions of revisions up to 2025-11-25, one resource at a time.

use toolwire_proto::stamp;
use toolwire_types::{EmptyResult, SubscribeRequestParams};

use crate::engine::Outcome;
use crate::server::request::Exchange;
use crate::server::snapshot::Snapshot;

/// Handles `resources/subscribe` and `resources/unsubscribe`.
pub(crate) fn subscribe(snapshot: &Snapshot, exchange: &Exchange, wanted: bool) -> Outcome {
    let request: SubscribeRequestParams = exchange.decode_params()?;
    let version = exchange.context.version();
    if wanted {
        let resource = snapshot.find_resource(&request.uri);
        let resource = resource.ok_or_else(|| stamp::resource_not_found(&request.uri, version))?;
        exchange.context.check_scopes(resource.access())?;
    }
    if let Some(connection) = exchange.context.connection_state() {
        if wanted {
            connection.subscribe(&request.uri)?;
        } else {
            connection.unsubscribe(&request.uri);
        }
    }
    snapshot.finish(EmptyResult::new(), version)
}
