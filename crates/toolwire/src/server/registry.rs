//! What registered tools, prompts, resources and templates share: their map, their options and their error.

use std::fmt;

use indexmap::IndexMap;
use serde::de::DeserializeOwned;
use toolwire_proto::meta_keys::ForbiddenKey;
use toolwire_types::{Meta, RawJson};

use crate::engine::BuildNameHasher;

/// A map from names to entries, in the order of registration.
pub(crate) type NameMap<T> = IndexMap<String, T, BuildNameHasher>;

/// The reason why a tool, prompt or resource cannot be registered: a duplicate name, an invalid schema, …
///
/// The builder methods of [`Server`](crate::Server) panic with this message, because it is a bug in the program. The
/// `add_*` methods, which also work on a running server, return it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RegistrationError {
    message: String,
}

impl RegistrationError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }

    pub(crate) fn duplicate(kind: &str, name: &str) -> Self {
        Self::new(format!(
            "{kind} `{name}` is registered twice; remove the first or rename one"
        ))
    }
}

impl fmt::Display for RegistrationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for RegistrationError {}

/// Rejects an invalid name of a tool or an event type, which `kind` says.
///
/// Spec 2025-11-25 and later, server/tools, "Tool Names".
pub(crate) fn check_name(kind: &str, name: &str) -> Result<(), RegistrationError> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if name.is_empty() || name.len() > 128 || !name.bytes().all(allowed) {
        return Err(RegistrationError::new(format!(
            "{kind} name {name:?}: use 1 to 128 letters, digits, `_`, `-` or `.`"
        )));
    }
    Ok(())
}

/// Rejects a descriptor whose `_meta` has a key that is malformed or reserved for the protocol. `what` names the
/// descriptor.
pub(crate) fn check_meta(what: &str, meta: Option<&Meta>) -> Result<(), RegistrationError> {
    let checked = meta.map_or(Ok(()), ForbiddenKey::check_all);
    checked.map_err(|forbidden| RegistrationError::new(format!("{what}: {forbidden}")))
}

/// Decodes the members of a raw descriptor that routing needs.
pub(crate) fn parse_raw<T: DeserializeOwned>(
    kind: &str,
    descriptor: &RawJson,
) -> Result<T, RegistrationError> {
    descriptor
        .parse()
        .map_err(|error| RegistrationError::new(format!("a raw {kind} cannot be used: {error}")))
}

/// Defines `with_*` methods over a `descriptor` field.
macro_rules! descriptor_options {
    () => {
        /// Sets the title, a display name.
        #[must_use]
        pub fn with_title(mut self, title: impl Into<String>) -> Self {
            self.descriptor.title = Some(title.into());
            self
        }

        /// Sets the description, which models read.
        #[must_use]
        pub fn with_description(mut self, description: impl Into<String>) -> Self {
            self.descriptor.description = Some(description.into());
            self
        }

        /// Adds an icon.
        #[must_use]
        pub fn with_icon(mut self, icon: ::toolwire_types::Icon) -> Self {
            self.descriptor.icons.get_or_insert_default().push(icon);
            self
        }

        /// Sets the `_meta` of the descriptor. Registration fails if a key is malformed or has a prefix that is reserved
        /// for the protocol, such as `io.modelcontextprotocol/`.
        #[must_use]
        pub fn with_meta(mut self, meta: ::toolwire_types::Meta) -> Self {
            self.descriptor.meta = Some(meta);
            self
        }
    };
}

pub(crate) use descriptor_options;
