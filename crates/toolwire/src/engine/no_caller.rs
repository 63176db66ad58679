//! Stands in for requests to the client when the feature `input` is off: nobody makes any, so nobody waits.

use std::time::Duration;

use toolwire_types::{ErrorObject, RawJson, RequestId, ResponseId};

use crate::error::Error;

/// Nobody waits for the client.
#[derive(Debug)]
pub(crate) struct Caller;

impl Caller {
    pub(crate) fn new(_: Duration) -> Self {
        Self
    }

    #[cfg(feature = "http-server")]
    pub(crate) fn starting_anywhere(timeout: Duration) -> Self {
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
        Err(ErrorObject::internal("asking the client needs the feature `input` of toolwire").into())
    }

    pub(crate) fn resolve(&self, id: &ResponseId, _: Result<RawJson, ErrorObject>) {
        tracing::debug!(?id, "an answer that nobody waits for");
    }

    pub(crate) fn close(&self) {}
}
