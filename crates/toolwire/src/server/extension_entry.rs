//! The declaration of a registered extension, to which its methods and notifications refer.

use toolwire_proto::{extensions, methods};
use toolwire_types::{
    ClientCapabilities, ErrorObject, ProtocolVersion, RawJson, ServerCapabilities,
};

/// The declaration of a registered extension.
#[derive(Debug)]
pub(crate) struct ExtensionEntry {
    pub(crate) id: String,
    pub(crate) settings: RawJson,
    pub(crate) since: ProtocolVersion,
    pub(crate) requires_client: bool,
    pub(crate) needs: Vec<ServerCapabilities>,
}

impl ExtensionEntry {
    /// Returns `true` if the extension exists in a revision.
    pub(crate) fn is_in_force(&self, version: ProtocolVersion) -> bool {
        extensions::is_in_force(self.since, version)
    }

    /// Returns the error for a request of one of its methods that is not served.
    pub(crate) fn rejection<'c>(
        &self,
        method: &str,
        version: ProtocolVersion,
        client: impl FnOnce() -> &'c ClientCapabilities,
    ) -> Option<ErrorObject> {
        if !self.is_in_force(version) {
            return Some(methods::not_offered(method));
        }
        if self.requires_client {
            return extensions::check_declared(&self.id, client()).err();
        }
        None
    }
}
