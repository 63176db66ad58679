//! The signals that request the shutdown of the process.

use std::io;

/// A receiver of SIGINT and, on Unix, SIGTERM. It receives nothing if signals are ignored.
#[derive(Debug)]
pub(super) struct Signals {
    #[cfg(unix)]
    receivers: Option<[tokio::signal::unix::Signal; 2]>,
    #[cfg(not(unix))]
    is_installed: bool,
}

impl Signals {
    /// Returns a receiver that never receives a signal.
    pub(super) fn ignored() -> Self {
        Self {
            #[cfg(unix)]
            receivers: None,
            #[cfg(not(unix))]
            is_installed: false,
        }
    }

    /// Installs signal handlers. From now on, the signals do not end the process.
    #[cfg(unix)]
    pub(super) fn install() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let interrupt = signal(SignalKind::interrupt())?;
        let terminate = signal(SignalKind::terminate())?;
        Ok(Self {
            receivers: Some([interrupt, terminate]),
        })
    }

    /// Installs signal handlers. From now on, the signals do not end the process.
    #[cfg(not(unix))]
    #[expect(clippy::unnecessary_wraps, reason = "it can fail on Unix")]
    pub(super) fn install() -> io::Result<Self> {
        Ok(Self { is_installed: true })
    }

    /// Waits for the next signal.
    ///
    /// # Cancellation
    /// Dropping the future loses no signal on Unix.
    #[cfg(unix)]
    pub(super) async fn next(&mut self) {
        let Some([interrupt, terminate]) = &mut self.receivers else {
            return std::future::pending().await;
        };
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    }

    /// Waits for the next signal.
    #[cfg(not(unix))]
    pub(super) async fn next(&mut self) {
        if !self.is_installed || tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    }
}
