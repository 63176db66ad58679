//! Panics of visibility rules.

use toolwire_types::ErrorObject;

use crate::engine::catch_panic;
use crate::server::snapshot::Snapshot;

impl Snapshot {
    /// Runs code that evaluates visibility rules for a request. A panic of a rule fails only this request.
    #[inline]
    pub(crate) fn catch_rule_panic<T>(
        &self,
        method: &str,
        evaluate: impl FnOnce() -> T,
    ) -> Result<T, ErrorObject> {
        if self.is_filtered {
            caught(method, evaluate)
        } else {
            Ok(evaluate())
        }
    }
}

#[cold]
fn caught<T>(method: &str, evaluate: impl FnOnce() -> T) -> Result<T, ErrorObject> {
    catch_panic(evaluate).map_err(|_| {
        // A subscriber may panic as well. The request still receives its response.
        let _ = catch_panic(|| tracing::error!(method, "a visibility rule panicked"));
        ErrorObject::internal(format!("`{method}` failed unexpectedly"))
    })
}
