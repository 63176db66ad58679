//! Capabilities of clients and servers.

use toolwire_types::ProtocolVersion;

use crate::extensions;
use crate::features::VersionFeatures;
use crate::raw_object::RawObject;
use crate::relay::convert::{Conversion, MemberRule};

const SERVER: &[MemberRule] = &[
    ("completions", ProtocolVersion::has_completions_capability),
    ("tasks", ProtocolVersion::has_core_tasks),
];

const CLIENT: &[MemberRule] = &[
    ("elicitation", ProtocolVersion::has_elicitation),
    ("tasks", ProtocolVersion::has_core_tasks),
];

const ROOTS: &[MemberRule] = &[("listChanged", ProtocolVersion::is_legacy)];

const SAMPLING: &[MemberRule] = &[
    ("tools", ProtocolVersion::has_sampling_tools),
    ("context", ProtocolVersion::has_sampling_tools),
];

const ELICITATION: &[MemberRule] = &[
    ("form", ProtocolVersion::has_url_elicitation),
    ("url", ProtocolVersion::has_url_elicitation),
];

impl Conversion {
    /// Converts the capabilities of a server for a client. Capabilities that the client's revision cannot use are
    /// removed, so that they are not promised.
    pub fn server_capabilities(self, capabilities: &mut RawObject<'_>) {
        self.remove_lost(capabilities, SERVER);
        self.extensions(capabilities);
    }

    /// Converts the capabilities of a client for an upstream.
    pub fn client_capabilities(self, capabilities: &mut RawObject<'_>) {
        // A client of URL elicitation only cannot show the forms of 2025-06-18.
        if self.loses(ProtocolVersion::has_url_elicitation)
            && let Some(elicitation) = capabilities.object_mut("elicitation")
            && elicitation.contains("url")
            && !elicitation.contains("form")
        {
            capabilities.remove("elicitation");
        }
        self.remove_lost(capabilities, CLIENT);
        for (member, rules) in [
            ("roots", ROOTS),
            ("sampling", SAMPLING),
            ("elicitation", ELICITATION),
        ] {
            if let Some(capability) = capabilities.object_mut(member) {
                self.remove_lost(capability, rules);
            }
        }
        self.extensions(capabilities);
    }

    /// Removes the extensions that the receiver's revision may not declare.
    fn extensions(self, capabilities: &mut RawObject<'_>) {
        let Some(declared) = capabilities.object_mut("extensions") else {
            return;
        };
        let before = declared.len();
        declared.retain(|id| {
            extensions::may_declare(self.to, id) || !extensions::may_declare(self.from, id)
        });
        if before > 0 && declared.is_empty() {
            capabilities.remove("extensions");
        }
    }
}
