//! Receives the signals that ask a command to end.

use std::future::poll_fn;
use std::task::Poll;

use crate::failure::{Exit, Failure};

/// Receives signals from the moment it is created. A signal that arrives while no task waits is delivered to the next
/// wait.
pub(crate) struct Interrupts {
    #[cfg(unix)]
    signals: Vec<(tokio::signal::unix::Signal, Exit)>,
    #[cfg(windows)]
    signals: Vec<(tokio::signal::windows::CtrlC, Exit)>,
}

impl Interrupts {
    /// Starts to receive SIGINT, SIGTERM and SIGHUP. A signal that cannot be received ends the process as usual.
    ///
    /// An ignored SIGHUP stays ignored, so that a command started with `nohup` outlives its terminal. Only Linux
    /// reports which signals are ignored.
    #[cfg(unix)]
    pub(crate) fn listen() -> Self {
        Self::listen_to(true)
    }

    /// Starts to receive SIGINT and SIGTERM only, for a command that does not end at SIGHUP; see [`Hangups`].
    pub(crate) fn listen_except_hangup() -> Self {
        #[cfg(unix)]
        return Self::listen_to(false);
        #[cfg(windows)]
        return Self::listen();
    }

    #[cfg(unix)]
    fn listen_to(with_hangup: bool) -> Self {
        use tokio::signal::unix::{SignalKind, signal};

        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let kinds = [
            (SignalKind::interrupt(), Exit::Interrupted),
            (SignalKind::terminate(), Exit::Terminated),
            (SignalKind::hangup(), Exit::TerminalClosed),
        ];
        let wanted = kinds.into_iter().filter(|(kind, _)| {
            *kind != SignalKind::hangup() || (with_hangup && !is_ignored(&status, *kind))
        });
        let signals = wanted.filter_map(|(kind, exit)| Some((signal(kind).ok()?, exit)));
        Self {
            signals: signals.collect(),
        }
    }

    /// Starts to receive Ctrl-C. If it cannot be received, it ends the process as usual.
    #[cfg(windows)]
    pub(crate) fn listen() -> Self {
        let interrupt = tokio::signal::windows::ctrl_c().ok();
        let signals = interrupt.map(|signal| (signal, Exit::Interrupted));
        Self {
            signals: signals.into_iter().collect(),
        }
    }

    /// Waits for the next signal and returns its exit code.
    pub(crate) async fn next(&mut self) -> Exit {
        poll_fn(|context| {
            for (signal, exit) in &mut self.signals {
                if signal.poll_recv(context) == Poll::Ready(Some(())) {
                    return Poll::Ready(*exit);
                }
            }
            Poll::Pending
        })
        .await
    }

    /// Runs `work` until it ends or a signal arrives.
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

/// Receives SIGHUP, at which a command reads its files again. Other systems than Unix have no such signal.
pub(crate) struct Hangups {
    #[cfg(unix)]
    signal: Option<tokio::signal::unix::Signal>,
}

impl Hangups {
    pub(crate) fn listen() -> Self {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};

            let signal = signal(SignalKind::hangup()).ok();
            Self { signal }
        }
        #[cfg(windows)]
        Self {}
    }

    /// Waits for the next signal.
    pub(crate) async fn next(&mut self) {
        #[cfg(unix)]
        if let Some(signal) = &mut self.signal
            && signal.recv().await.is_some()
        {
            return;
        }
        std::future::pending::<()>().await;
    }
}

/// Returns `true` if `/proc/self/status` reports that this process ignores a signal.
#[cfg(unix)]
fn is_ignored(status: &str, kind: tokio::signal::unix::SignalKind) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    let number = kind.as_raw_value();
    // The lowest bit is signal 1.
    mask.is_some_and(|mask| mask >> (number - 1) & 1 == 1)
}

#[cfg(all(test, unix))]
mod tests {
    use tokio::signal::unix::SignalKind;

    use super::*;

    #[test]
    fn ignored_signals_are_read_from_their_mask() {
        let status = |mask: &str| format!("Name:\tx\nSigBlk:\t0000000000000001\nSigIgn:\t{mask}\n");
        let (hangup, interrupt) = (SignalKind::hangup(), SignalKind::interrupt());
        assert!(is_ignored(&status("0000000000001001"), hangup));
        assert!(!is_ignored(&status("0000000000001002"), hangup));
        assert!(is_ignored(&status("0000000000000002"), interrupt));
        assert!(!is_ignored(&status("no number"), hangup));
        assert!(!is_ignored("", hangup));
    }
}
