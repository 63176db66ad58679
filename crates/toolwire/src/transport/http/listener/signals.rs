//! The signals that ask a process to end.

use std::io;

/// SIGINT, and SIGTERM where there is one; or nothing, when signals are somebody else's business.
#[derive(Debug)]
pub(super) struct Signals {
    #[cfg(unix)]
    heard: Option<[tokio::signal::unix::Signal; 2]>,
    #[cfg(not(unix))]
    heard: bool,
}

impl Signals {
    /// Never hears anything.
    pub(super) fn ignored() -> Self {
        Self {
            #[cfg(unix)]
            heard: None,
            #[cfg(not(unix))]
            heard: false,
        }
    }

    /// From now on signals are heard here, and do not end the process.
    #[cfg(unix)]
    pub(super) fn heard() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let interrupt = signal(SignalKind::interrupt())?;
        let terminate = signal(SignalKind::terminate())?;
        Ok(Self {
            heard: Some([interrupt, terminate]),
        })
    }

    /// From now on signals are heard here, and do not end the process.
    #[cfg(not(unix))]
    #[expect(clippy::unnecessary_wraps, reason = "it can fail elsewhere")]
    pub(super) fn heard() -> io::Result<Self> {
        Ok(Self { heard: true })
    }

    /// Waits for the next one.
    ///
    /// # Cancellation
    /// Dropping the future loses no signal on Unix.
    #[cfg(unix)]
    pub(super) async fn next(&mut self) {
        let Some([interrupt, terminate]) = &mut self.heard else {
            return std::future::pending().await;
        };
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    }

    /// Waits for the next one.
    #[cfg(not(unix))]
    pub(super) async fn next(&mut self) {
        if !self.heard || tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    }
}
