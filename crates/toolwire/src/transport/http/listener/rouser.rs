//! A handler that holds its thread must not stop everybody else.
//!
//! Of the threads of a runtime one looks after sockets and timers for all. When that one comes to run a handler which does
//! not give its thread back, no other takes over before it is woken, and with nobody looking after sockets nothing wakes
//! it: the server stands still, however many threads sleep. So while requests run, a thread beside the runtime wakes one of
//! them from time to time. Waking does no harm where nothing is wrong. When no request runs, this thread sleeps as well.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use tokio::runtime::{Handle, RuntimeFlavor};

use crate::transport::http::slots::Slots;

/// For how long a handler can hold up the others.
const PERIOD: Duration = Duration::from_millis(50);

/// It only sleeps and spawns.
const STACK: usize = 128 * 1024;

/// Wakes threads as long as this is not dropped.
#[derive(Debug)]
pub(super) struct Rouser {
    is_over: Arc<AtomicBool>,
    thread: Thread,
}

impl Rouser {
    /// Begins, if the runtime has threads that could help each other.
    pub(super) fn start(requests: &Arc<Slots>) -> Option<Self> {
        let runtime = Handle::current();
        let has_several = runtime.runtime_flavor() == RuntimeFlavor::MultiThread
            && runtime.metrics().num_workers() > 1;
        if !has_several {
            return None;
        }
        let is_over = Arc::new(AtomicBool::new(false));
        let (requests, over) = (Arc::clone(requests), Arc::clone(&is_over));
        let started = thread::Builder::new()
            .name("toolwire-rouser".to_owned())
            .stack_size(STACK)
            .spawn(move || watch(&runtime, &requests, &over));
        match started {
            Ok(handle) => Some(Self {
                is_over,
                thread: handle.thread().clone(),
            }),
            Err(error) => {
                tracing::warn!(%error, "no thread can be started: a handler that blocks may hold up others");
                None
            }
        }
    }
}

impl Drop for Rouser {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

fn watch(runtime: &Handle, requests: &Slots, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Acquire) {
        if requests.used() == 0 && requests.wake_me() {
            thread::park();
        }
        // Before anything else: the request that woke it may be over in a moment, and the next one should not wake it again.
        thread::park_timeout(PERIOD);
        if requests.used() > 0 {
            // Whoever is woken for it looks after the sockets next.
            runtime.spawn(async {});
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::transport::http::byte_budget::ByteBudget;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn many_short_requests_wake_it_once_in_a_while() {
        let slots = Slots::new(1, ByteBudget::new(0, 0));
        let _rouser = Rouser::start(&slots).unwrap();
        let began = Instant::now();
        let mut woken = 0;
        while woken < 3 {
            // Whoever takes the first slot wakes it.
            woken += u32::from(slots.has_sleeper());
            drop(slots.take(0));
            thread::yield_now();
        }
        // However slow the machine is: in between it sleeps for a period, twice.
        assert!(began.elapsed() >= 2 * PERIOD);
    }
}
