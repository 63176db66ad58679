//! Reads directories of skills again, at their interval.

use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::server::skills::{SkillCatalog, SkillDirectory};
use crate::server::{Server, ServerInner};

/// Starts to rescan the directories of a catalog, unless that has started.
pub(super) fn start_all(catalog: &SkillCatalog, server: &Server) {
    for source in &catalog.sources {
        if let Some(directory) = &source.directory {
            start(directory, server);
        }
    }
}

/// Starts to rescan a directory that has an interval, unless that has started, or outside of a Tokio runtime.
pub(super) fn start(directory: &SkillDirectory, server: &Server) {
    let Some(interval) = directory.rescan_interval() else {
        return;
    };
    if tokio::runtime::Handle::try_current().is_err() {
        return;
    }
    directory.start_rescan(|| {
        let server = Arc::downgrade(&server.shared);
        tokio::spawn(rescan(directory.clone(), server, interval)).abort_handle()
    });
}

/// Rescans a directory until the server ends.
async fn rescan(directory: SkillDirectory, server: Weak<ServerInner>, interval: Duration) {
    let mut last_error = None;
    loop {
        tokio::time::sleep(interval).await;
        let is_running = server
            .upgrade()
            .is_some_and(|server| !server.shutdown.is_cancelled());
        if !is_running {
            return;
        }
        let reloading = directory.clone();
        let outcome = tokio::task::spawn_blocking(move || reloading.reload()).await;
        let error = match outcome {
            Ok(Ok(_)) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(panic) => Some(panic.to_string()),
        };
        if let Some(error) = error
            .as_ref()
            .filter(|error| last_error.as_ref() != Some(*error))
        {
            let path = directory.path().display();
            tracing::warn!(%path, "skills were not reloaded: {error}");
        }
        last_error = error;
    }
}
