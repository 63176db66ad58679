//! The lock between the processes that share a directory. The system releases it when its process ends.

use std::fs::{File, TryLockError};
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// The first pause between two attempts. Each further pause is twice as long.
const FIRST_PAUSE: Duration = Duration::from_micros(200);

/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_millis(10);

/// A lock that is released on drop.
#[derive(Debug)]
pub(super) struct ProcessLock(Arc<File>);

impl ProcessLock {
    /// Waits for the lock, up to a timeout. It blocks the thread.
    ///
    /// The function polls, because a blocking lock call of the system cannot be limited in time.
    pub(super) fn acquire(file: &Arc<File>, timeout: Duration) -> io::Result<Self> {
        let start = Instant::now();
        let mut pause = FIRST_PAUSE;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self(Arc::clone(file))),
                Err(TryLockError::WouldBlock) if start.elapsed() < timeout => {}
                Err(TryLockError::WouldBlock) => {
                    let seconds = timeout.as_secs_f64();
                    let reason = format!("another process has locked it for {seconds} s");
                    return Err(io::Error::new(io::ErrorKind::TimedOut, reason));
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
            thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

impl Drop for ProcessLock {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}
