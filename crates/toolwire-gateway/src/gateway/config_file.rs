//! Watches the configuration file of a running gateway.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::config::GatewayConfig;
use crate::error::GatewayError;
use crate::gateway::Gateway;

/// The time between two looks at a changed file. Only a text that both see is complete.
const SETTLE_TIME: Duration = Duration::from_millis(150);

/// The configuration file of a running gateway.
#[derive(Debug)]
pub struct ConfigFile {
    path: PathBuf,
    /// The text that was read last.
    seen: Option<String>,
}

impl ConfigFile {
    /// Starts to watch a file whose current content the gateway already has.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            seen: GatewayConfig::read_text(path).ok(),
        }
    }

    /// Looks at the file and at the lock file, and passes changes to the gateway. An invalid configuration is rejected
    /// with a log message, and the gateway goes on with the last one.
    ///
    /// With `is_forced`, the file is read also if it has not changed, and the audit log is opened again.
    pub async fn update(&mut self, gateway: &Gateway, is_forced: bool) {
        if is_forced {
            gateway.reopen_audit();
        }
        gateway.update_pins().await;
        let settled = tokio::time::sleep(SETTLE_TIME);
        let Some(text) = self.changed_text(is_forced, settled).await else {
            return;
        };
        let path = self.path.display();
        let parsed = match text {
            Some(text) => GatewayConfig::parse_file(&self.path, &text),
            // The error states why the file cannot be read.
            None => GatewayConfig::load(&self.path),
        };
        let taken = match parsed.map_err(GatewayError::from) {
            Ok(config) => gateway.reload(config).await,
            Err(error) => Err(error),
        };
        match taken {
            Ok(()) => tracing::info!(%path, "the configuration was taken"),
            Err(error @ GatewayError::Partial(_)) => {
                tracing::error!(%path, %error, "the new configuration is in force except for some upstreams");
            }
            Err(error) => {
                tracing::error!(%path, %error, "the new configuration is rejected; the last one goes on");
            }
        }
    }
}

impl ConfigFile {
    /// Returns the current text. `None` if the file cannot be read.
    fn text(&self) -> Option<String> {
        GatewayConfig::read_text(&self.path).ok()
    }

    /// Returns the text, if it has changed since the last one and does not change any more. `Some(None)` if the file cannot
    /// be read any more. A program may write the file in several parts; the next look then sees the rest.
    /// The second look follows `settled`.
    async fn changed_text(
        &mut self,
        is_forced: bool,
        settled: impl Future<Output = ()>,
    ) -> Option<Option<String>> {
        let text = self.text();
        if text == self.seen && !is_forced {
            return None;
        }
        settled.await;
        if self.text() != text {
            // The next look reads the file also if this was demanded by a signal.
            self.seen = None;
            return None;
        }
        self.seen.clone_from(&text);
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use super::*;
    use crate::scratch::Scratch;

    #[tokio::test]
    async fn file_that_still_changes_is_not_taken() {
        let scratch = Scratch::new("config-file");
        let path = scratch.path("gateway.toml");
        std::fs::write(&path, "old").unwrap();
        let mut file = ConfigFile::new(&path);
        assert_eq!(file.changed_text(false, ready(())).await, None);
        std::fs::write(&path, "ne").unwrap();
        let writing = async { std::fs::write(&path, "new").unwrap() };
        assert_eq!(file.changed_text(false, writing).await, None);
        let new = Some(Some("new".to_owned()));
        assert_eq!(file.changed_text(false, ready(())).await, new);
        assert_eq!(file.changed_text(false, ready(())).await, None);
        assert_eq!(file.changed_text(true, ready(())).await, new);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(file.changed_text(false, ready(())).await, Some(None));
        assert_eq!(file.changed_text(false, ready(())).await, None);
    }
}
