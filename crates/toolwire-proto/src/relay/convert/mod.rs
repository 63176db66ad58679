//! Conversion of messages from one revision to another, as text.
//!
//! [`crate::stamp`] does the same for typed values that a server of this SDK writes. A relay does not own the messages
//! that it forwards, so here a member is removed only if the sender's revision defines it and the receiver's does not.
//! Everything else passes unchanged, also members with names of later revisions. If both revisions are the same, only
//! `HopMeta` and the subscription id change a message. All functions edit a [`RawObject`], so that a relay can change
//! names and URIs in the same pass.

#[cfg(feature = "relay")]
mod capabilities;
mod content;
mod descriptors;
#[cfg(feature = "relay")]
mod errors;
#[cfg(feature = "relay")]
mod handshake;
#[cfg(feature = "relay")]
mod hop_meta;
#[cfg(feature = "relay")]
mod input;
mod results;
#[cfg(test)]
#[cfg(feature = "relay")]
mod tests;

use toolwire_types::{ProtocolVersion, meta_key};

#[cfg(feature = "relay")]
pub use self::errors::url_input_required;
#[cfg(feature = "relay")]
pub use self::handshake::{discover_result, initialize_result};
#[cfg(feature = "relay")]
pub use self::hop_meta::HopMeta;
#[cfg(feature = "relay")]
pub use self::input::name_upstream;
pub use self::results::{IncompleteResult, ResultMembers};
use crate::features::VersionFeatures;
use crate::raw_object::RawObject;
use crate::stamp::META_FEATURES;

/// The conversion of messages from the revision of their sender to that of their receiver.
///
/// ```
/// use toolwire_proto::raw_object::RawObject;
/// use toolwire_proto::relay::convert::{Conversion, ResultMembers};
/// use toolwire_types::{ProtocolVersion, RawJson};
///
/// let conversion = Conversion::new(ProtocolVersion::V2026_07_28, ProtocolVersion::V2025_11_25);
/// let list: RawJson =
///     serde_json::from_str(r#"{"resultType":"complete","tools":[],"ttlMs":5,"cacheScope":"public","x":1.0}"#).unwrap();
/// let mut result = RawObject::parse(list.as_raw_value()).unwrap();
/// conversion.result("tools/list", &mut result, &ResultMembers::default()).unwrap();
/// assert_eq!(result.finish().get(), r#"{"tools":[],"x":1.0}"#);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conversion {
    from: ProtocolVersion,
    to: ProtocolVersion,
}

/// A feature of a revision, see [`VersionFeatures`].
type Feature = fn(ProtocolVersion) -> bool;

/// A member with the feature that defines it.
type MemberRule = (&'static str, Feature);

impl Conversion {
    /// Creates the conversion of messages that one revision defines to another one.
    #[must_use]
    pub const fn new(from: ProtocolVersion, to: ProtocolVersion) -> Self {
        Self { from, to }
    }

    /// Returns the revision of the sender.
    #[must_use]
    pub const fn from(self) -> ProtocolVersion {
        self.from
    }

    /// Returns the revision of the receiver.
    #[must_use]
    pub const fn to(self) -> ProtocolVersion {
        self.to
    }

    /// Returns `true` if both revisions are the same.
    #[must_use]
    pub fn is_same_revision(self) -> bool {
        self.from == self.to
    }

    /// Converts the parameters of a client's request, without those of `HopMeta`.
    pub fn request(self, method: &str, params: &mut RawObject<'_>) {
        let rules: &[MemberRule] = match method {
            "completion/complete" => &[("context", ProtocolVersion::has_completion_context)],
            "tools/call" => &[("task", ProtocolVersion::has_core_tasks)],
            _ => &[],
        };
        self.remove_lost(params, rules);
        self.meta(params);
    }

    /// Converts the parameters of a notification. Its subscription id, which belongs to one connection, is removed also
    /// if both revisions are the same.
    pub fn notification(self, method: &str, params: &mut RawObject<'_>) {
        if method == "notifications/progress" {
            let rules: &[MemberRule] = &[("message", ProtocolVersion::progress_has_message)];
            self.remove_lost(params, rules);
        }
        remove_from_meta(params, |key| key == meta_key::SUBSCRIPTION_ID);
        self.meta(params);
    }

    /// Returns `true` if the sender's revision has the feature and the receiver's does not.
    fn loses(self, has_feature: Feature) -> bool {
        has_feature(self.from) && !has_feature(self.to)
    }

    /// Returns `true` if the receiver's revision has the feature and the sender's does not.
    fn gains(self, has_feature: Feature) -> bool {
        !has_feature(self.from) && has_feature(self.to)
    }

    /// Removes the members that the receiver's revision lost.
    fn remove_lost(self, object: &mut RawObject<'_>, rules: &[MemberRule]) {
        for (member, has_feature) in rules {
            if self.loses(*has_feature) {
                object.remove(member);
            }
        }
    }

    /// Removes the reserved keys of `_meta` that the receiver's revision lost.
    fn meta(self, object: &mut RawObject<'_>) {
        let is_lost = |key: &str| {
            let mut rules = META_FEATURES.iter();
            rules.any(|(lost, has_feature)| *lost == key && self.loses(*has_feature))
        };
        if META_FEATURES
            .iter()
            .any(|(_, has_feature)| self.loses(*has_feature))
        {
            remove_from_meta(object, is_lost);
        }
    }
}

/// Removes keys from `_meta`, and `_meta` itself if nothing else was in it.
fn remove_from_meta(object: &mut RawObject<'_>, is_removed: impl Fn(&str) -> bool) {
    let Some(meta) = object.object_mut("_meta") else {
        return;
    };
    let before = meta.len();
    meta.retain(|key| !is_removed(key));
    if before > 0 && meta.is_empty() {
        object.remove("_meta");
    }
}
