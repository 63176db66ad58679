//! The exposed URIs of mounts, for code that decides about resources by their URIs.

use std::sync::Arc;

use crate::server::Server;
use crate::server::mount::UriClaims;

/// The URIs under which a server exposes the resources of its mounts: [`Server::mounted_uris`].
///
/// It follows the server without keeping it alive. The server routes requests by the same table.
#[derive(Debug, Clone)]
pub struct MountedUris(Arc<UriClaims>);

impl MountedUris {
    /// Returns the URI under which the server exposes a resource of a mount. It is the URI of the source, or has the prefix
    /// of the mount if an earlier mount claims it. `None` if no mount has the name.
    ///
    /// The resource need not be listed, because a template may match its URI.
    #[must_use]
    pub fn uri(&self, mount: &str, uri: &str) -> Option<String> {
        let (exposed, mount) = self.0.of_mount(mount)?;
        Some(exposed.exposed(mount, uri).into_owned())
    }

    /// Returns the template under which the server exposes a resource template of a mount. `None` if no mount has the name.
    #[must_use]
    pub fn template(&self, mount: &str, template: &str) -> Option<String> {
        let (exposed, mount) = self.0.of_mount(mount)?;
        Some(exposed.exposed_template(mount, template).into_owned())
    }
}

impl Server {
    /// Returns the URIs under which this server exposes the resources of its mounts, now and after later changes.
    ///
    /// ```
    /// use toolwire::{Catalog, ErrorObject, Mount, RawJson, RequestContext, Server, Source};
    ///
    /// struct Notes;
    ///
    /// impl Source for Notes {
    ///     fn catalog(&self) -> Catalog {
    ///         let note = RawJson::from(serde_json::json!({ "uri": "notes:a", "name": "a" }));
    ///         let read = async |_: RequestContext, _: RawJson| Err(ErrorObject::internal("not read here"));
    ///         let mut catalog = Catalog::new();
    ///         catalog.add_raw_resource(note, read).expect("the resource is valid");
    ///         catalog
    ///     }
    /// }
    ///
    /// let server = Server::new("app", "1.0.0").mount("one", Notes).mount("other", Notes);
    /// let uris = server.mounted_uris();
    /// assert_eq!(uris.uri("one", "notes:a").as_deref(), Some("notes:a"));
    /// assert_eq!(uris.uri("other", "notes:a").as_deref(), Some("other+notes:a"));
    /// assert_eq!(uris.uri("unknown", "notes:a"), None);
    /// ```
    #[must_use]
    pub fn mounted_uris(&self) -> MountedUris {
        MountedUris(Arc::clone(&self.shared.mounts.claims))
    }
}
