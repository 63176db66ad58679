//! Limits the fleets that run at a time. Several processes of each one would delay those of the others for seconds.

use std::sync::{Condvar, Mutex, PoisonError};

/// The maximum number of fleets at a time.
const MAX_FLEETS: usize = 2;

static RUNNING: Mutex<usize> = Mutex::new(0);
static ENDED: Condvar = Condvar::new();

/// The permit to run a fleet, until it is dropped.
#[derive(Debug)]
pub(crate) struct FleetPermit(());

impl FleetPermit {
    /// Waits until fewer fleets run.
    pub(crate) fn acquire() -> Self {
        let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = ENDED.wait_while(running, |running| *running >= MAX_FLEETS);
        *waited.unwrap_or_else(PoisonError::into_inner) += 1;
        Self(())
    }
}

impl Drop for FleetPermit {
    fn drop(&mut self) {
        *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        ENDED.notify_one();
    }
}
