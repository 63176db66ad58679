//! Finds the middleware of the mount that a request is for.

use std::sync::Arc;

#[cfg(feature = "relay")]
use toolwire_proto::methods::is_about_task;
use toolwire_types::{CompleteRequestParams, CompletionReference};

use crate::server::middleware::Chain;
use crate::server::mount::{CatalogEntry as _, Origin};
use crate::server::request::Exchange;

/// The middleware of a mount, and the entry that the request is for.
pub(crate) struct MountRoute {
    pub(crate) chain: Chain,
    /// The name or URI that the source of the mount has for the entry.
    pub(crate) source_name: Arc<str>,
}

impl Exchange {
    /// Returns the middleware of the mount that the request is for, if there is any.
    pub(crate) fn mount_route(&self) -> Option<MountRoute> {
        let origin = self.mount_origin()?;
        let chain = origin.chain.clone()?;
        let source_name = match self.route().name() {
            // The entry may be a template, and the URI may have the prefix of the mount.
            "resources/read" | "resources/subscribe" => {
                self.source_uri(origin.mount, self.name().unwrap_or_default())
            }
            _ => origin.local_name.as_str().into(),
        };
        Some(MountRoute { chain, source_name })
    }

    /// Returns the URI that the source of a mount has for a resource.
    fn source_uri(&self, mount: usize, exposed: &str) -> Arc<str> {
        match self.snapshot().uris.resolve_prefixed(exposed) {
            Some((owner, uri)) if owner == mount => (*uri).into(),
            _ => exposed.into(),
        }
    }

    fn mount_origin(&self) -> Option<Arc<Origin>> {
        let (snapshot, viewer) = (self.snapshot(), self.viewer());
        let name = self.name().unwrap_or_default();
        match self.route().name() {
            "tools/call" => snapshot.find_tool(name, &viewer)?.origin().cloned(),
            #[cfg(feature = "relay")]
            method if is_about_task(method) => self.mounted_task_tool()?.origin().cloned(),
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
