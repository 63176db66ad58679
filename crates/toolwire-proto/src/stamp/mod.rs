//! Conversion of outgoing values to the revision of the peer.
//!
//! The SDK uses the newest revision internally. Before a value is written, [`Stamp::stamp`] adds members that the
//! peer's revision requires (`resultType`, cache hints, the server's name). It removes or rewrites members that the
//! revision does not define. Unknown members stay: readers ignore them, and a proxy must not lose them. This module
//! does not decide whether a method may be used. [`crate::methods`] does.

mod capabilities;
mod content;
mod descriptors;
mod elicitation;
mod errors;
mod notifications;
mod polled_task;
mod raw;
mod results;
mod sampling;
mod tasks;
mod tool_result;

use toolwire_types::{Meta, ProtocolVersion, RawJson, meta_key};

#[cfg(feature = "mount")]
pub(crate) use descriptors::describes_object;
pub use elicitation::{project_elicitation, restore_elicitation};
pub use errors::{resource_not_found, stamp_error, unreadable_id};
pub use polled_task::{PolledTask, write_polled_task};
pub use raw::stamp_raw;
pub use sampling::{project_sampling, project_sampling_result};
pub use tool_result::{text_result_size, tool_result_size, write_text_result, write_tool_result};

use crate::features::VersionFeatures;

/// The peer that a value is written for.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Target<'a> {
    /// The revision of the exchange.
    pub version: ProtocolVersion,
    /// The server's `Implementation` as JSON, which results of modern revisions contain.
    pub server_info: Option<&'a RawJson>,
}

impl<'a> Target<'a> {
    /// Creates a target of this revision.
    #[must_use]
    pub const fn new(version: ProtocolVersion) -> Self {
        Self {
            version,
            server_info: None,
        }
    }

    /// Sets the server's `Implementation`, which results contain.
    #[must_use]
    pub const fn with_server_info(mut self, server_info: &'a RawJson) -> Self {
        self.server_info = Some(server_info);
        self
    }
}

/// A value that can be converted to a revision.
///
/// A second stamp for the same target changes nothing.
pub trait Stamp {
    /// Adds members that the revision requires and removes those that it does not define.
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

/// Clears a member unless `known` is set.
fn keep_if<T>(known: bool, member: &mut Option<T>) {
    if !known {
        *member = None;
    }
}

/// A `_meta` key with the feature that defines it.
type MetaFeature = (&'static str, fn(ProtocolVersion) -> bool);

/// The keys of `_meta` in results and notifications that not all revisions define.
pub(crate) const META_FEATURES: [MetaFeature; 4] = [
    (
        meta_key::SERVER_INFO,
        ProtocolVersion::has_server_info_in_meta,
    ),
    (meta_key::SUBSCRIPTION_ID, ProtocolVersion::has_listen),
    (meta_key::RELATED_TASK, ProtocolVersion::has_core_tasks),
    (
        meta_key::MODEL_IMMEDIATE_RESPONSE,
        ProtocolVersion::has_core_tasks,
    ),
];

/// Metadata of messages: reserved keys of other revisions are removed, other keys stay.
impl Stamp for Meta {
    fn stamp(&mut self, target: &Target<'_>) {
        for (key, has_feature) in META_FEATURES {
            if !has_feature(target.version) {
                self.remove(key);
            }
        }
    }
}

/// Stamps the metadata of a message, and removes it if it is empty afterwards.
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
