//! The limits on the bytes of the input requests that wait for clients.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use toolwire_types::{ErrorObject, RawJson};

/// The maximum bytes of the parameters of all input requests of one call that have no response yet.
const MAX_CALL_BYTES: usize = 4 * 1024 * 1024;

/// The same for all calls of a relay.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// The bytes that input requests of all calls may still have.
#[derive(Debug, Clone)]
pub(in crate::relay) struct InputBytes(Arc<Semaphore>);

impl Default for InputBytes {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_BYTES)))
    }
}

/// The bytes that input requests of one call may still have.
#[derive(Debug)]
pub(in crate::relay) struct CallInputBytes {
    all: InputBytes,
    call: Arc<Semaphore>,
}

/// The right of an input request to its bytes, until it is dropped.
#[derive(Debug)]
pub(in crate::relay) struct InputPermit {
    _call: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

impl CallInputBytes {
    pub(in crate::relay) fn new(all: InputBytes) -> Self {
        Self {
            all,
            call: Arc::new(Semaphore::new(MAX_CALL_BYTES)),
        }
    }

    /// Returns the permit for an input request with these parameters.
    ///
    /// # Errors
    /// Returns an error if the input requests of the call, or those of all calls, would have too many bytes.
    pub(in crate::relay) fn permit(&self, params: &RawJson) -> Result<InputPermit, ErrorObject> {
        let acquire = |bytes: &Arc<Semaphore>, limit: usize, whose: &str| {
            let count = u32::try_from(params.get().len()).unwrap_or(u32::MAX);
            let permit = Arc::clone(bytes).try_acquire_many_owned(count);
            permit.map_err(|_| {
                ErrorObject::internal(format!(
                    "the open input requests of {whose} may have at most {limit} bytes"
                ))
            })
        };
        Ok(InputPermit {
            _call: acquire(&self.call, MAX_CALL_BYTES, "a call")?,
            _all: acquire(&self.all.0, MAX_BYTES, "all calls of a relay")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(bytes: usize) -> RawJson {
        RawJson::from_value(&"x".repeat(bytes - 2).into())
    }

    #[test]
    fn input_requests_of_a_call_are_limited_in_bytes() {
        let call = CallInputBytes::new(InputBytes::default());
        assert!(call.permit(&params(MAX_CALL_BYTES + 1)).is_err());
        let first = call.permit(&params(MAX_CALL_BYTES - 2));
        let second = call.permit(&params(2));
        assert!(first.is_ok() && second.is_ok(), "the limit is reached");
        assert!(call.permit(&params(2)).is_err());
        drop(first);
        assert!(call.permit(&params(2)).is_ok());
    }

    #[test]
    fn input_requests_of_all_calls_are_limited_in_bytes() {
        let all = InputBytes::default();
        let largest = params(MAX_CALL_BYTES);
        let permit = || CallInputBytes::new(all.clone()).permit(&largest);
        let permits: Vec<_> = (0..MAX_BYTES / MAX_CALL_BYTES).map(|_| permit()).collect();
        assert!(permits.iter().all(Result::is_ok), "the limit is reached");
        let rejected = CallInputBytes::new(all.clone()).permit(&params(2));
        assert!(rejected.is_err());
        drop(permits);
        assert!(permit().is_ok());
    }
}
