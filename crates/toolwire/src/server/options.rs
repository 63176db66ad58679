//! The switches of a server.

use std::time::Duration;

use toolwire_proto::cache::CacheHint;
use toolwire_proto::features::SupportedVersions;
use toolwire_proto::meta_keys::is_valid_extension_id;
use toolwire_types::{Icon, ProtocolVersion, RawJson};

use crate::server::Server;

impl Server {
    /// A name for people.
    #[must_use]
    pub fn with_title(self, title: impl Into<String>) -> Self {
        self.change(|snapshot| snapshot.info.title = Some(title.into()));
        self
    }

    /// Adds an icon of the server.
    #[must_use]
    pub fn with_icon(self, icon: Icon) -> Self {
        self.change(|snapshot| snapshot.info.icons.get_or_insert_default().push(icon));
        self
    }

    /// How a model should use the server.
    #[must_use]
    pub fn with_instructions(self, instructions: impl Into<String>) -> Self {
        self.change(|snapshot| snapshot.instructions = Some(instructions.into()));
        self
    }

    /// Serves only these protocol versions. The default is every released one.
    #[must_use]
    pub fn with_versions(self, versions: impl IntoIterator<Item = ProtocolVersion>) -> Self {
        self.change(|snapshot| snapshot.supported = SupportedVersions::from_iter(versions));
        self
    }

    /// Sends log messages to clients that want them ([`RequestContext::log`](crate::RequestContext::log)).
    ///
    /// The protocol deprecates this as of 2026-07-28.
    #[must_use]
    pub fn with_logging(self) -> Self {
        self.change(|snapshot| snapshot.options.logging = true);
        self
    }

    /// Lets clients subscribe to resources; [`resource_updated`](Self::resource_updated) then reaches them.
    #[must_use]
    pub fn with_resource_subscriptions(self) -> Self {
        self.change(|snapshot| snapshot.options.resource_subscriptions = true);
        self
    }

    /// Sends lists in pages of this size. The default, 0, sends everything at once.
    #[must_use]
    pub fn with_page_size(self, entries: usize) -> Self {
        self.change(|snapshot| snapshot.options.page_size = entries);
        self
    }

    /// Leaves out of lists what the caller's access token does not grant ([`ToolHandler::requires_scopes`] and its
    /// siblings). By default everybody sees everything, so that clients can ask for the scopes they lack.
    ///
    /// [`ToolHandler::requires_scopes`]: crate::ToolHandler::requires_scopes
    #[must_use]
    pub fn with_scope_filtered_lists(self) -> Self {
        self.change(|snapshot| snapshot.options.hide_unusable = true);
        self
    }

    /// How long, and by whom, lists and the discovery result may be kept (2026-07-28). The default is not at all.
    #[must_use]
    pub fn with_list_cache(self, hint: CacheHint) -> Self {
        self.change(|snapshot| snapshot.options.list_hint = hint);
        self
    }

    /// Checks structured content against the tool's output schema before it is sent.
    #[cfg(feature = "schema-validation")]
    #[must_use]
    pub fn with_output_validation(self) -> Self {
        self.change(|snapshot| snapshot.options.validate_output = true);
        self
    }

    /// Refuses legacy requests other than `ping` until the client has sent `notifications/initialized`.
    #[must_use]
    pub fn with_strict_initialization(self) -> Self {
        self.change(|snapshot| snapshot.options.require_initialized = true);
        self
    }

    /// Leaves the server's identity out of the `_meta` of results (2026-07-28).
    #[must_use]
    pub fn without_server_info(self) -> Self {
        self.change(|snapshot| snapshot.options.send_server_info = false);
        self
    }

    /// How long to wait for a client's answer when a handler asks it something. The default is ten minutes.
    #[must_use]
    pub fn with_client_response_timeout(self, timeout: Duration) -> Self {
        self.change(|snapshot| snapshot.options.client_answer_timeout = timeout);
        self
    }

    /// Advertises an extension with its settings (2026-07-28).
    ///
    /// # Panics
    /// When the id is not a prefix and a name (`com.example/feature`), or the settings are no object.
    #[must_use]
    #[track_caller]
    pub fn with_extension(self, id: impl Into<String>, settings: impl Into<RawJson>) -> Self {
        let (id, settings) = (id.into(), settings.into());
        // Spec 2026-07-28, basic/versioning: the grammar of `_meta` keys, with a mandatory prefix.
        assert!(
            is_valid_extension_id(&id),
            "extension id {id:?}: use a prefix and a name, as in `com.example/feature`"
        );
        assert!(
            settings.is_object(),
            "extension {id:?}: the settings must be a JSON object"
        );
        self.change(|snapshot| snapshot.extensions.insert(id, settings));
        self
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn advertise(id: &str, settings: Value) -> std::thread::Result<Server> {
        std::panic::catch_unwind(|| Server::new("s", "1").with_extension(id, settings))
    }

    #[test]
    fn an_extension_has_a_prefix_a_name_and_an_object_of_settings() {
        let check = |id: &str, settings: Value, accepted: bool| {
            assert_eq!(advertise(id, settings).is_ok(), accepted, "{id}");
        };
        check("com.example/feature", json!({}), true);
        check("com.example/feature", json!({"level": 2}), true);
        check("com.example/feature", json!(true), false);
        check("feature", json!({}), false);
        check("com.example/", json!({}), false);
        check("9.example/feature", json!({}), false);
    }
}
