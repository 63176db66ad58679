//! Finds the middleware of the mount that a request is for.

use std::sync::Arc;

use toolwire_types::{CompleteRequestParams, CompletionReference};

use crate::server::middleware::Chain;
use crate::server::mount::{CatalogEntry as _, Origin};
use crate::server::request::Exchange;

impl Exchange {
    /// Returns the middleware of the mount that the request is for, if there is any.
    pub(crate) fn mount_chain(&self) -> Option<Chain> {
        self.mount_origin()?.chain.clone()
    }

    fn mount_origin(&self) -> Option<Arc<Origin>> {
        let (snapshot, viewer) = (self.snapshot(), self.viewer());
        let name = self.name().unwrap_or_default();
        match self.route().name() {
            "tools/call" => snapshot.find_tool(name, &viewer)?.origin().cloned(),
            "prompts/get" => snapshot.find_prompt(name, &viewer)?.origin().cloned(),
            "resources/read" | "resources/subscribe" => {
                snapshot.find_resource(name, &viewer)?.origin().cloned()
            }
            "completion/complete" => {
                let request: CompleteRequestParams = self.decode_params().ok()?;
                match request.reference {
                    CompletionReference::Prompt(prompt) => {
                        let prompt = snapshot.find_prompt(&prompt.name, &viewer)?;
                        prompt.origin().cloned()
                    }
                    CompletionReference::Resource(template) => {
                        let template = snapshot.find_template(&template.uri, &viewer)?;
                        template.origin().cloned()
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }
}
