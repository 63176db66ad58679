//! Making a value fit the revision it is sent in.
//!
//! The SDK thinks in the newest revision. Just before something is written, [`Stamp::stamp`] adds what the peer's
//! revision requires (`resultType`, cache hints, the server's name) and takes away or rewrites what it does not know.
//! Members nobody knows stay: readers ignore them, and a proxy must not lose them. Nothing here decides whether a
//! method may be used at all; that is [`crate::methods`].

mod capabilities;
mod content;
mod descriptors;
mod elicitation;
mod errors;
mod notifications;
mod raw;
mod results;
mod sampling;
mod tasks;
mod tool_result;

use toolwire_types::{Meta, ProtocolVersion, RawJson, meta_key};

pub use elicitation::{project_elicitation, restore_elicitation};
pub use errors::{resource_not_found, stamp_error, unreadable_id};
pub use raw::stamp_raw;
pub use sampling::{project_sampling, project_sampling_result};
pub use tool_result::{text_result_size, tool_result_size, write_text_result, write_tool_result};

use crate::features::VersionFeatures;

/// Whom a value is written for.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Target<'a> {
    /// The revision the peer speaks in this exchange.
    pub version: ProtocolVersion,
    /// The server's `Implementation`, already as JSON, to be named in the results of modern revisions.
    pub server_info: Option<&'a RawJson>,
}

impl<'a> Target<'a> {
    /// A peer that speaks this revision.
    #[must_use]
    pub const fn new(version: ProtocolVersion) -> Self {
        Self {
            version,
            server_info: None,
        }
    }

    /// Names the server in results.
    #[must_use]
    pub const fn with_server_info(mut self, server_info: &'a RawJson) -> Self {
        self.server_info = Some(server_info);
        self
    }
}

/// A value that can be made to fit a revision.
///
/// Stamping twice for the same target changes nothing the second time.
pub trait Stamp {
    /// Adds what the revision requires and removes what it does not know.
    fn stamp(&mut self, target: &Target<'_>);
}

impl<T: Stamp> Stamp for [T] {
    fn stamp(&mut self, target: &Target<'_>) {
        for item in self {
            item.stamp(target);
        }
    }
}

impl<T: Stamp> Stamp for Option<T> {
    fn stamp(&mut self, target: &Target<'_>) {
        if let Some(item) = self {
            item.stamp(target);
        }
    }
}

/// Empties a member unless the revision knows it.
fn keep_if<T>(known: bool, member: &mut Option<T>) {
    if !known {
        *member = None;
    }
}

/// Metadata that rides on messages: reserved keys of other revisions go, everything else stays.
impl Stamp for Meta {
    fn stamp(&mut self, target: &Target<'_>) {
        if !target.version.has_server_info_in_meta() {
            self.remove(meta_key::SERVER_INFO);
        }
        if !target.version.has_listen() {
            self.remove(meta_key::SUBSCRIPTION_ID);
        }
        if !target.version.has_core_tasks() {
            self.remove(meta_key::RELATED_TASK);
            self.remove(meta_key::MODEL_IMMEDIATE_RESPONSE);
        }
    }
}

/// Stamps the metadata of a message and leaves it out when nothing remains of it.
fn stamp_meta(meta: &mut Option<Meta>, target: &Target<'_>) {
    if let Some(present) = meta
        && !present.is_empty()
    {
        present.stamp(target);
        if present.is_empty() {
            *meta = None;
        }
    }
}

#[cfg(test)]
mod tests;
