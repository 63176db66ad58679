//! The steps of a run. A step that does not end fails.

use std::io;
use std::time::Duration;

/// Runs a step.
///
/// # Errors
/// Returns the error of the step, or an error that names the step if it does not end in time.
pub(super) async fn run<T>(
    step: &str,
    limit: Duration,
    running: impl Future<Output = io::Result<T>>,
) -> io::Result<T> {
    match tokio::time::timeout(limit, running).await {
        Ok(outcome) => {
            outcome.map_err(|error| io::Error::new(error.kind(), format!("{step}: {error}")))
        }
        Err(_) => Err(io::Error::new(
            io::ErrorKind::TimedOut,
            format!(
                "{step}: not finished after {limit:?}; on a slow machine, pass a longer --timeout"
            ),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn step_that_does_not_end_is_named() {
        let limit = Duration::from_millis(1);
        let endless = run("changes", limit, std::future::pending::<io::Result<()>>());
        let error = endless.await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(
            error.to_string(),
            "changes: not finished after 1ms; on a slow machine, pass a longer --timeout"
        );
        let failing = run("memory", Duration::MAX, async {
            Err::<(), _>(io::Error::other("status 503"))
        });
        let error = failing.await.unwrap_err();
        assert_eq!(error.to_string(), "memory: status 503");
    }
}
