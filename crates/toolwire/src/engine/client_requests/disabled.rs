//! Requests to the client without the feature `input`: the server sends none, so no task waits for a response.

#[cfg(feature = "http-server")]
use std::sync::Arc;
use std::time::Duration;

use toolwire_types::{ErrorObject, RawJson, RequestId, ResponseId};

#[cfg(feature = "http-server")]
use crate::engine::node_number::NodeNumber;
use crate::error::Error;

/// The pending requests to the client, always empty.
#[derive(Debug)]
pub(crate) struct ClientRequests;

impl ClientRequests {
    pub(crate) fn new(_: Duration) -> Self {
        Self
    }

    #[cfg(feature = "http-server")]
    pub(crate) fn of_node(timeout: Duration, _: Arc<NodeNumber>) -> Self {
        Self::new(timeout)
    }

    #[cfg(feature = "http-server")]
    pub(crate) fn is_waiting_for(&self, _: &ResponseId) -> bool {
        false
    }

    pub(crate) async fn call(
        &self,
        _: impl FnOnce(&RequestId),
        _: impl Fn(&RequestId),
    ) -> Result<RawJson, Error> {
        Err(
            ErrorObject::internal("requests to the client need the feature `input` of toolwire")
                .into(),
        )
    }

    pub(crate) fn resolve(&self, id: &ResponseId, _: Result<RawJson, ErrorObject>) {
        tracing::debug!(?id, "ignored a response without a pending request");
    }

    pub(crate) fn close(&self) {}

    #[cfg(feature = "http-server")]
    pub(crate) fn fail_pending(&self, _: &ErrorObject) {}
}
