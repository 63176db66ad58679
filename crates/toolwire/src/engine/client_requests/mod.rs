//! Requests to the client. Without the feature `input`, the server sends none.

#[cfg(not(feature = "input"))]
mod disabled;
#[cfg(feature = "input")]
mod enabled;

#[cfg(not(feature = "input"))]
pub(crate) use disabled::ClientRequests;
#[cfg(feature = "input")]
pub(crate) use enabled::ClientRequests;

use std::time::Duration;

use toolwire_types::{ErrorObject, RawJson, ResponseId};

/// The functions of both alternatives.
const _: () = {
    let _: fn(Duration) -> ClientRequests = ClientRequests::new;
    let _: fn(&ClientRequests, &ResponseId, Result<RawJson, ErrorObject>) = ClientRequests::resolve;
    let _: fn(&ClientRequests) = ClientRequests::close;
};
