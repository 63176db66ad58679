//! Without the feature `tasks`, no request becomes a task.

use crate::engine::Cancellation;
#[cfg(feature = "input")]
use crate::error::Error;
#[cfg(feature = "input")]
use crate::server::RequestContext;
#[cfg(feature = "input")]
use crate::server::ask::PendingAsk;

/// A task, which no request can become.
#[derive(Debug)]
pub(crate) enum NoTask {}

impl NoTask {
    pub(crate) fn cancellation(&self) -> &Cancellation {
        match *self {}
    }

    pub(crate) fn set_message(&self, _: String) {
        match *self {}
    }

    #[cfg(feature = "input")]
    pub(crate) async fn ask(&self, _: &RequestContext, _: Vec<&PendingAsk>) -> Result<(), Error> {
        match *self {}
    }

    #[cfg(feature = "input")]
    pub(crate) async fn save_journal(&self, _: &RequestContext) -> Result<(), Error> {
        match *self {}
    }
}

/// The task of a request, which is always empty.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestTask;

impl RequestTask {
    #[inline]
    pub(crate) fn get(&self) -> Option<&NoTask> {
        None
    }
}
