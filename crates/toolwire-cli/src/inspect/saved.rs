//! The saved calls of the page: it saves a call with the responses to its input requests, and makes it again.

use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;
use serde_json::json;
use toolwire::RawJson;

use crate::inspect::inspector::{InspectError, Inspector, invalid};
use crate::saved_calls::{SavedCall, SavedCalls, SavedCallsError};

/// The response to a request for the saved calls.
#[derive(Debug, Serialize)]
pub(super) struct SavedList {
    /// The file, for the user.
    file: String,
    calls: Vec<SavedCall>,
}

impl Inspector {
    /// Returns all saved calls.
    pub(super) async fn saved_calls(&self) -> Result<SavedList, InspectError> {
        let saved = self.with_saved(|_| Ok(false)).await?;
        Ok(SavedList {
            file: self.saved_path().display().to_string(),
            calls: saved.calls,
        })
    }

    /// Saves an ended call of a tool under a name. It replaces the saved call with this name.
    pub(super) async fn save_call(&self, name: String, id: u64) -> Result<(), InspectError> {
        let Some(call) = self.calls.to_save(id, name) else {
            let message = "this call cannot be saved; save a call of a tool that has ended";
            return Err(InspectError::Invalid(message.to_owned()));
        };
        self.with_saved(move |saved| saved.insert(call).map(|()| true))
            .await?;
        self.events.send("saved", &json!({}));
        Ok(())
    }

    /// Deletes a saved call. Returns `false` if no saved call has this name.
    pub(super) async fn delete_saved(&self, name: &str) -> Result<bool, InspectError> {
        let before = self.with_saved(|_| Ok(false)).await?;
        if before.get(name).is_none() {
            return Ok(false);
        }
        let name = name.to_owned();
        self.with_saved(move |saved| Ok(saved.remove(&name)))
            .await?;
        self.events.send("saved", &json!({}));
        Ok(true)
    }

    /// Makes a saved call again, also with the saved responses to its input requests. Returns the id of the call.
    pub(super) async fn start_saved(
        self: &Arc<Self>,
        name: &str,
        with_responses: bool,
    ) -> Result<u64, InspectError> {
        let saved = self.with_saved(|_| Ok(false)).await?;
        let Some(call) = saved.get(name) else {
            let message = format!("there is no saved call `{name}`");
            return Err(InspectError::Invalid(message));
        };
        let params = json!({"name": call.tool, "arguments": call.arguments});
        let responses = if with_responses {
            call.responses.clone()
        } else {
            Vec::new()
        };
        self.start_call("tools/call".to_owned(), RawJson::from(params), responses)
    }

    /// Reads the file, and writes it again if `change` returns `true`.
    async fn with_saved(
        &self,
        change: impl FnOnce(&mut SavedCalls) -> Result<bool, SavedCallsError> + Send + 'static,
    ) -> Result<SavedCalls, InspectError> {
        let path: PathBuf = self.saved_path().to_owned();
        // Two requests change the file one after the other.
        let permit = Arc::clone(&self.saving).acquire_owned().await;
        let permit = permit.map_err(invalid)?;
        let changed = tokio::task::spawn_blocking(move || {
            // The request may end before the change.
            let _permit = permit;
            let mut saved = SavedCalls::read(&path)?;
            if change(&mut saved)? {
                saved.write(&path)?;
            }
            Ok::<_, SavedCallsError>(saved)
        });
        changed.await.map_err(invalid)?.map_err(invalid)
    }
}
