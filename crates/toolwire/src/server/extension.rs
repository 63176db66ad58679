//! Extensions of the protocol: their declaration, their methods and notifications, and what they need of the server.

use std::future::Future;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use toolwire_proto::{extensions, methods};
use toolwire_types::{ErrorObject, ProtocolVersion, RawJson, ServerCapabilities};

use crate::error::Error;
use crate::server::connected_client::ConnectedClient;
use crate::server::extension_entry::ExtensionEntry;
use crate::server::method::MethodEntry;
use crate::server::notification::NotificationEntry;
use crate::server::register::unwrap_or_panic;
use crate::server::registry::RegistrationError;
use crate::server::snapshot::Snapshot;
use crate::server::tool_error::IntoToolError;
use crate::server::{RequestContext, Server};

/// An extension of the protocol, which a server offers with [`Server::extension`].
///
/// It is declared from 2025-11-25 on, under an id with a prefix that you own. Its methods and notifications exist in the
/// same revisions. Handlers read the client's settings of the extension from
/// [`RequestContext::client_capabilities`].
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), toolwire::Error> {
/// use serde_json::{Value, json};
/// use toolwire::{Client, ErrorObject, Extension, RequestContext, Server};
///
/// let spelling = Extension::new("com.example/spelling")
///     .with_settings(json!({"languages": ["en", "de"]}))
///     .method("com.example/spelling/check", |_: RequestContext, params: Value| async move {
///         let word = params["word"].as_str().unwrap_or_default();
///         Ok::<_, ErrorObject>(json!({"correct": !word.contains("teh")}))
///     });
/// let server = Server::new("speller", "1.0.0").extension(spelling);
///
/// let client = Client::in_process(&server).await?;
/// let details = client.server().expect("the server was probed");
/// assert!(details.capabilities.extension("com.example/spelling").is_some());
/// let result = client.request("com.example/spelling/check", json!({"word": "teh"})).await?;
/// assert!(result.get().contains("\"correct\":false"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[must_use = "an extension has no effect until a server offers it"]
pub struct Extension {
    id: String,
    settings: RawJson,
    since: ProtocolVersion,
    requires_client: bool,
    needs: Vec<ServerCapabilities>,
    methods: Vec<(String, MethodEntry)>,
    notifications: Vec<(String, NotificationEntry)>,
}

impl Extension {
    /// Creates an extension without settings. The id is a prefix and a name: `com.example/feature`.
    pub fn new(id: impl Into<String>) -> Self {
        let id = id.into();
        Self {
            since: extensions::first_revision(&id),
            id,
            settings: RawJson::empty_object(),
            requires_client: false,
            needs: Vec::new(),
            methods: Vec::new(),
            notifications: Vec::new(),
        }
    }

    /// Sets the settings that the server declares, a JSON object. Default: `{}`.
    pub fn with_settings(mut self, settings: impl Into<RawJson>) -> Self {
        self.settings = settings.into();
        self
    }

    /// Sets the first revision of the extension. Default: 2025-11-25, or the first revision that defines an extension of
    /// the specification.
    pub fn since(mut self, version: ProtocolVersion) -> Self {
        self.since = version;
        self
    }

    /// Rejects requests of the extension's methods if the client did not declare the extension. The error is −32021,
    /// and −32600 in 2025-11-25.
    pub fn requires_client(mut self) -> Self {
        self.requires_client = true;
        self
    }

    /// Adds capabilities that the server must offer besides the extension. They are checked when the server starts.
    ///
    /// ```
    /// use toolwire::Extension;
    /// use toolwire::types::{ResourcesCapability, ServerCapabilities};
    ///
    /// let live = ServerCapabilities::new().with_resources(ResourcesCapability::new().with_subscribe());
    /// let extension = Extension::new("com.example/dashboards").needs(live);
    /// # drop(extension);
    /// ```
    pub fn needs(mut self, capabilities: ServerCapabilities) -> Self {
        self.needs.push(capabilities);
        self
    }

    /// Adds another extension that the server must offer. It is checked when the server starts.
    pub fn needs_extension(self, id: impl Into<String>) -> Self {
        self.needs(ServerCapabilities::default().with_extension(id, RawJson::empty_object()))
    }

    /// Adds a method of the extension. The handler has the form of [`Server::method`].
    pub fn method<P, R, E, F, Fut>(mut self, name: impl Into<String>, handler: F) -> Self
    where
        P: DeserializeOwned,
        R: Serialize,
        E: IntoToolError,
        F: Fn(RequestContext, P) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, E>> + Send + 'static,
    {
        self.methods.push((name.into(), MethodEntry::new(handler)));
        self
    }

    /// Adds the handler of a notification that clients send. It has the form of [`Server::on_notification`].
    pub fn notification<P, F, Fut>(mut self, name: impl Into<String>, handler: F) -> Self
    where
        P: DeserializeOwned,
        F: Fn(ConnectedClient, P) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let name = name.into();
        let entry = NotificationEntry::new(name.clone(), handler);
        self.notifications.push((name, entry));
        self
    }
}

impl Server {
    /// Offers an extension: declares it, and serves its methods and notifications.
    ///
    /// The requirements of [`Extension::needs`] are checked when the server starts, so that the order of registration
    /// does not matter. `serve_stdio`, `serve_http` and their siblings return an error for a requirement that is not met.
    ///
    /// # Panics
    /// Panics if the extension is registered twice, if its id is not a prefix and a name, if its settings are not a JSON
    /// object, and if its first revision cannot declare it. Also panics if a method or notification is defined by the
    /// protocol or registered before.
    #[must_use]
    #[track_caller]
    pub fn extension(self, extension: Extension) -> Self {
        unwrap_or_panic(self.register_extension(extension));
        self
    }

    /// Declares an extension without methods; see [`extension`](Self::extension).
    ///
    /// # Panics
    /// Panics if the extension is registered twice, if the id is not a prefix and a name (`com.example/feature`), and if
    /// the settings are not a JSON object.
    #[must_use]
    #[track_caller]
    pub fn with_extension(self, id: impl Into<String>, settings: impl Into<RawJson>) -> Self {
        self.extension(Extension::new(id).with_settings(settings))
    }

    fn register_extension(&self, extension: Extension) -> Result<(), RegistrationError> {
        let invalid =
            |error: extensions::InvalidDeclaration| RegistrationError::new(error.to_string());
        extensions::check_declaration(&extension.id, &extension.settings).map_err(invalid)?;
        extensions::check_since(&extension.id, extension.since).map_err(invalid)?;
        self.change(|snapshot| {
            snapshot.check_names(&extension)?;
            snapshot.add_extension(extension);
            Ok(())
        })
    }

    /// Checks the requirements of the registered extensions and tools, before the server starts.
    pub(crate) fn check_start(&self) -> Result<(), Error> {
        let snapshot = self.snapshot();
        if let Some(tool) = snapshot.tool_without_tasks() {
            return Err(Error::setup(format!(
                "tool `{tool}` runs only as a task, and this server has no tasks; add them with `Server::with_tasks`"
            )));
        }
        if let Some((tool, view)) = snapshot.tool_without_view() {
            return Err(Error::setup(format!(
                "tool `{tool}` has the view `{view}`, which this server does not have; add it with `Server::view`"
            )));
        }
        for extension in snapshot.extensions.values() {
            for needed in &extension.needs {
                let missing = extensions::missing_from_server(needed, snapshot.capabilities());
                if let Some(missing) = missing.first() {
                    return Err(Error::setup(format!(
                        "extension `{}` needs the {missing}, which this server does not offer; \
                         add it or remove the extension",
                        extension.id
                    )));
                }
            }
        }
        Ok(())
    }
}

impl Snapshot {
    /// Rejects an extension whose id, methods or notifications are taken.
    fn check_names(&self, extension: &Extension) -> Result<(), RegistrationError> {
        let id = &extension.id;
        if self.extensions.contains_key(id) {
            return Err(RegistrationError::duplicate("extension", id));
        }
        let check = |kind: &str, name: &str, earlier: &[&str], owner: Option<&str>| {
            let reason = if methods::find(name).is_some() {
                "is defined by the protocol".to_owned()
            } else if let Some(owner) = owner {
                format!("is already registered by {owner}")
            } else if earlier.contains(&name) {
                "is registered twice".to_owned()
            } else {
                return Ok(());
            };
            Err(RegistrationError::new(format!(
                "extension `{id}`: {kind} `{name}` {reason}; choose another name"
            )))
        };
        let names: Vec<&str> = extension.methods.iter().map(|(name, _)| &**name).collect();
        for (at, name) in names.iter().enumerate() {
            let owner = self
                .methods
                .get(*name)
                .map(|entry| owner(entry.extension()));
            check("method", name, &names[..at], owner.as_deref())?;
        }
        let notifications = extension.notifications.iter();
        let names: Vec<&str> = notifications.map(|(name, _)| &**name).collect();
        for (at, name) in names.iter().enumerate() {
            let entry = self.notifications.get(*name);
            let owner = entry.map(|entry| owner(entry.extension()));
            check("notification", name, &names[..at], owner.as_deref())?;
        }
        Ok(())
    }

    /// Adds an extension whose names are free.
    fn add_extension(&mut self, extension: Extension) {
        let entry = Arc::new(ExtensionEntry {
            id: extension.id.clone(),
            settings: extension.settings,
            since: extension.since,
            requires_client: extension.requires_client,
            needs: extension.needs,
        });
        for (name, method) in extension.methods {
            let method = method.of_extension(Arc::clone(&entry));
            self.methods.insert(name, Arc::new(method));
        }
        for (name, notification) in extension.notifications {
            let notification = notification.of_extension(Arc::clone(&entry));
            self.notifications.insert(name, Arc::new(notification));
        }
        self.extensions.insert(extension.id, entry);
    }

    /// Returns the capabilities for clients of one revision: without the extensions that do not exist in it.
    pub(crate) fn capabilities_in(&self, version: ProtocolVersion) -> ServerCapabilities {
        let mut capabilities = self.capabilities().clone();
        if let Some(declared) = &mut capabilities.extensions {
            let is_in_force = |id: &str| {
                let entry = self.extensions.get(id);
                entry.is_none_or(|entry| entry.is_in_force(version))
            };
            declared.retain(|id, _| is_in_force(id));
        }
        capabilities
    }

    /// Returns the error for a request of a method that the protocol does not define, if its extension rejects it.
    #[cold]
    pub(crate) fn extension_rejection(
        &self,
        method: &str,
        context: &RequestContext,
    ) -> Option<ErrorObject> {
        let extension = self.methods.get(method)?.extension()?;
        extension.rejection(method, context.version(), || context.client_capabilities())
    }
}

/// Returns what registered a method or notification.
fn owner(extension: Option<&ExtensionEntry>) -> String {
    match extension {
        Some(extension) => format!("extension `{}`", extension.id),
        None => "the server itself".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![expect(deprecated, reason = "deprecated features are tested, too")]

    use serde_json::{Value, json};

    use super::*;

    fn with_method(id: &str, name: &str) -> Extension {
        let handler = |_: RequestContext, params: Value| async { Ok::<_, ErrorObject>(params) };
        Extension::new(id).method(name, handler)
    }

    fn with_notification(id: &str, name: &str) -> Extension {
        Extension::new(id).notification(name, |_, _: Value| async {})
    }

    /// Registers the extensions in this order and returns the error of the last one, or an empty text.
    fn error_of(extensions: impl IntoIterator<Item = Extension>) -> String {
        let server = Server::new("s", "1").method("com.example/own", |_, params: Value| async {
            Ok::<_, ErrorObject>(params)
        });
        let mut outcome = Ok(());
        for extension in extensions {
            outcome.expect("only the last one fails");
            outcome = server.register_extension(extension);
        }
        outcome
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    }

    #[test]
    fn extension_requires_a_prefix_a_name_and_an_object() {
        let check = |id: &str, settings: Value, accepted: bool| {
            let error = error_of([Extension::new(id).with_settings(settings)]);
            assert_eq!(error.is_empty(), accepted, "{id}: {error}");
            assert!(accepted || error.contains(id), "{id}: {error}");
        };
        check("com.example/feature", json!({}), true);
        check("com.example/feature", json!({"level": 2}), true);
        check("com.example/feature", json!(true), false);
        check("feature", json!({}), false);
        check("com.example/", json!({}), false);
        check("9.example/feature", json!({}), false);
    }

    #[test]
    fn taken_names_are_rejected_with_their_owner() {
        let check = |extensions: Vec<Extension>, expected: &str| {
            assert_eq!(error_of(extensions), expected);
        };
        check(
            vec![Extension::new("a.b/c"), Extension::new("a.b/c")],
            "extension `a.b/c` is registered twice; remove the first or rename one",
        );
        check(
            vec![with_method("a.b/c", "tasks/get")],
            "extension `a.b/c`: method `tasks/get` is defined by the protocol; choose another name",
        );
        check(
            vec![with_method("a.b/c", "com.example/own")],
            "extension `a.b/c`: method `com.example/own` is already registered by the server itself; \
             choose another name",
        );
        check(
            vec![with_method("a.b/c", "x/y"), with_method("a.b/d", "x/y")],
            "extension `a.b/d`: method `x/y` is already registered by extension `a.b/c`; choose another name",
        );
        let twice = with_method("a.b/c", "x/y").method("x/y", |_, params: Value| async {
            Ok::<_, ErrorObject>(params)
        });
        check(
            vec![twice],
            "extension `a.b/c`: method `x/y` is registered twice; choose another name",
        );
        check(
            vec![with_notification(
                "a.b/c",
                "notifications/roots/list_changed",
            )],
            "extension `a.b/c`: notification `notifications/roots/list_changed` is defined by the protocol; \
             choose another name",
        );
        check(
            vec![
                with_notification("a.b/c", "n"),
                with_notification("a.b/d", "n"),
            ],
            "extension `a.b/d`: notification `n` is already registered by extension `a.b/c`; choose another name",
        );
    }

    #[test]
    fn rejected_extension_changes_nothing() {
        let server = Server::new("s", "1");
        let invalid = with_method("a.b/c", "x/y").method("ping", |_, params: Value| async {
            Ok::<_, ErrorObject>(params)
        });
        server.register_extension(invalid).unwrap_err();
        assert_eq!(server.capabilities(), ServerCapabilities::default());
        server
            .register_extension(with_method("a.b/d", "x/y"))
            .unwrap();
    }

    #[test]
    fn extensions_are_declared_in_the_order_of_registration() {
        let ids = ["z.z/z", "a.a/a", "m.m/m"];
        let server = ids.iter().fold(Server::new("s", "1"), |server, id| {
            server.extension(Extension::new(*id))
        });
        let declared = server.capabilities().extensions.expect("three extensions");
        assert!(declared.keys().eq(ids));
    }

    #[test]
    fn unmet_requirement_is_reported_with_its_extension() {
        let needy = || {
            Extension::new("a.b/c")
                .needs(ServerCapabilities::default().with_logging())
                .needs_extension("a.b/base")
        };
        let check = |server: Server, expected: &str| {
            let outcome = server.check_start();
            let message = outcome.err().map(|error| error.to_string());
            assert_eq!(message.unwrap_or_default(), expected);
        };
        let server = || Server::new("s", "1").extension(needy());
        check(
            server(),
            "extension `a.b/c` needs the capability `logging`, which this server does not offer; \
             add it or remove the extension",
        );
        check(
            server().with_logging(),
            "extension `a.b/c` needs the extension `a.b/base`, which this server does not offer; \
             add it or remove the extension",
        );
        check(
            server()
                .with_logging()
                .with_extension("a.b/base", json!({})),
            "",
        );
    }
}
