//! The wish of the user, or of the system, that a command should end.

use crate::failure::{Exit, Failure};

/// Hears of it from the moment this is made. What comes while nobody waits is kept for whoever waits next.
pub(crate) struct Interrupts {
    #[cfg(unix)]
    heard: Option<[tokio::signal::unix::Signal; 2]>,
    #[cfg(windows)]
    heard: Option<tokio::signal::windows::CtrlC>,
}

impl Interrupts {
    /// Where signals cannot be heard, they end the process as they always do.
    #[cfg(unix)]
    pub(crate) fn heard() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        let interrupt = signal(SignalKind::interrupt());
        let terminate = signal(SignalKind::terminate());
        Self {
            heard: interrupt.ok().zip(terminate.ok()).map(<[_; 2]>::from),
        }
    }

    /// Where they cannot be heard, they end the process as they always do.
    #[cfg(windows)]
    pub(crate) fn heard() -> Self {
        Self {
            heard: tokio::signal::windows::ctrl_c().ok(),
        }
    }

    /// Waits for the next one.
    #[cfg(unix)]
    pub(crate) async fn next(&mut self) -> Exit {
        let Some([interrupt, terminate]) = &mut self.heard else {
            return std::future::pending().await;
        };
        tokio::select! {
            _ = interrupt.recv() => Exit::Interrupted,
            _ = terminate.recv() => Exit::Terminated,
        }
    }

    /// Waits for the next one.
    #[cfg(windows)]
    pub(crate) async fn next(&mut self) -> Exit {
        let Some(interrupt) = &mut self.heard else {
            return std::future::pending().await;
        };
        let _ = interrupt.recv().await;
        Exit::Interrupted
    }

    /// Works until it is done, or somebody wants an end.
    pub(crate) async fn or<T>(
        &mut self,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        tokio::select! {
            outcome = work => outcome,
            exit = self.next() => Err(Failure::silent(exit)),
        }
    }
}
