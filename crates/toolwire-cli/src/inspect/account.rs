//! The login for the inspected server.

use serde_json::{Value, json};

use crate::accounts;
use crate::inspect::connector::Connector;
use crate::inspect::inspector::{InspectError, Inspector};
use crate::inspect::source::Source;
use crate::target::{Endpoint, Target};

impl Inspector {
    /// Returns the stored login, without its tokens. `kind` is `login`, `header` if the command line has credentials, or
    /// `none` if the server has no address.
    pub(super) async fn account(&self) -> Result<Value, InspectError> {
        let Some(endpoint) = endpoint(&self.connector) else {
            return Ok(json!({ "kind": "none" }));
        };
        if endpoint.has_credentials() {
            return Ok(json!({ "kind": "header" }));
        }
        let account = accounts::account(&endpoint.url).await;
        let account = account.map_err(InspectError::Failed)?;
        Ok(json!({ "kind": "login", "account": account }))
    }

    /// Logs in, which opens the browser, or logs out. Then connects again.
    pub(super) async fn change_account(&self, logs_in: bool) -> Result<(), InspectError> {
        let endpoint = endpoint(&self.connector).filter(|endpoint| !endpoint.has_credentials());
        let Some(endpoint) = endpoint else {
            let message =
                "only a server with an address and without an Authorization header has logins";
            return Err(InspectError::Invalid(message.to_owned()));
        };
        let changed = if logs_in {
            self.connector.log_in(&endpoint.url).await
        } else {
            accounts::log_out_of(&endpoint.url).await
        };
        changed.map_err(InspectError::Failed)?;
        self.reconnect();
        Ok(())
    }
}

fn endpoint(connector: &Connector) -> Option<&Endpoint> {
    match &connector.source {
        Source::Server(Target::Http(endpoint)) => Some(endpoint),
        Source::Server(Target::Child(_)) | Source::Record(_) => None,
    }
}
