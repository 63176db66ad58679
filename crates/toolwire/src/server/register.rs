//! Registration of handlers, before and while the server runs.
//!
//! The generic methods only convert their argument. The remaining work is compiled once, not once per handler.

use std::future::Future;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use toolwire_proto::methods;
use toolwire_types::CompletionReference;

use crate::server::completion::{CompletionRequest, CompletionValues, DefaultCompleter};
use crate::server::connected_client::ConnectedClient;
use crate::server::method::MethodEntry;
use crate::server::mount::{CatalogEntry, conflict, sort};
use crate::server::notification::NotificationEntry;
use crate::server::optional_methods::{COMPLETION, PROMPTS, RESOURCES};
use crate::server::prompt::{IntoPrompt, PromptHandler};
use crate::server::registry::{NameMap, RegistrationError};
use crate::server::resource::{
    IntoResource, IntoResourceTemplate, ResourceHandler, ResourceTemplateHandler,
};
use crate::server::tool::{IntoTool, ToolHandler};
use crate::server::tool_error::IntoToolError;
use crate::server::{RequestContext, Server};

/// A value whose methods are handlers. `#[server]` on an impl block implements this.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no handlers",
    note = "put `#[toolwire::server]` on its impl block, and `#[tool]`, `#[prompt]` or `#[resource]` on methods"
)]
pub trait HandlerSet {
    /// Registers all handlers on a server.
    fn register(self, server: Server) -> Server;
}

/// Panics on an error, because it is a bug in the program that should stop it at startup.
#[track_caller]
pub(crate) fn unwrap_or_panic(outcome: Result<(), RegistrationError>) {
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

impl Server {
    /// Registers a tool.
    ///
    /// # Panics
    /// Panics if its name is already registered or invalid, or if its schema does not compile.
    #[must_use]
    #[track_caller]
    #[doc(alias = "register_tool", alias = "registerTool")]
    pub fn tool(self, tool: impl IntoTool) -> Self {
        unwrap_or_panic(self.add_tool(tool));
        self
    }

    /// Registers a prompt.
    ///
    /// # Panics
    /// Panics if its name is already registered.
    #[must_use]
    #[track_caller]
    #[doc(alias = "register_prompt")]
    pub fn prompt(self, prompt: impl IntoPrompt) -> Self {
        unwrap_or_panic(self.add_prompt(prompt));
        self
    }

    /// Registers a resource.
    ///
    /// # Panics
    /// Panics if its URI is already registered or has no scheme.
    #[must_use]
    #[track_caller]
    #[doc(alias = "register_resource")]
    pub fn resource(self, resource: impl IntoResource) -> Self {
        unwrap_or_panic(self.add_resource(resource));
        self
    }

    /// Registers a resource template.
    ///
    /// # Panics
    /// Panics if it is already registered, is not a valid RFC 6570 template, or cannot be matched unambiguously.
    #[must_use]
    #[track_caller]
    pub fn resource_template(self, template: impl IntoResourceTemplate) -> Self {
        unwrap_or_panic(self.add_resource_template(template));
        self
    }

    /// Registers all handlers of a value with `#[server]`.
    ///
    /// # Panics
    /// Panics under the conditions of the methods above.
    #[must_use]
    #[track_caller]
    pub fn handlers(self, handlers: impl HandlerSet) -> Self {
        handlers.register(self)
    }

    /// Registers a method that the protocol does not define. It is served in every version. Methods of an extension
    /// belong to its [`Extension`](crate::Extension) instead.
    ///
    /// A key in the `_meta` of its result is removed if it is malformed or has a prefix that is reserved for the
    /// protocol, as in the results of tools.
    ///
    /// # Panics
    /// Panics if the protocol defines the method, or if it is registered twice.
    #[must_use]
    #[track_caller]
    #[doc(alias = "set_request_handler")]
    pub fn method<P, R, E, F, Fut>(self, name: impl Into<String>, handler: F) -> Self
    where
        P: DeserializeOwned,
        R: Serialize,
        E: IntoToolError,
        F: Fn(RequestContext, P) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, E>> + Send + 'static,
    {
        let name = name.into();
        unwrap_or_panic(if methods::find(&name).is_some() {
            Err(RegistrationError::new(format!(
                "method `{name}` is defined by the protocol; choose another name"
            )))
        } else {
            let entry = Arc::new(MethodEntry::new(handler));
            self.change(|snapshot| insert(&mut snapshot.methods, "method", name, entry))
        });
        self
    }

    /// Registers a handler of a notification that clients send: `notifications/roots/list_changed`,
    /// `notifications/progress` for a request of the server, or one that the protocol does not define.
    ///
    /// The handlers of one client run one after the other, in the order of arrival. If they are slower than the client
    /// sends, notifications are dropped. Parameters that are not a `P` are logged and ignored. Without a session or a
    /// connection (2026-07-28 over HTTP), the [`ConnectedClient`] cannot send.
    ///
    /// ```
    /// use toolwire::{RawJson, Server};
    ///
    /// let server = Server::new("demo", "1.0.0").on_notification(
    ///     "notifications/roots/list_changed",
    ///     |client, _params: RawJson| async move {
    ///         match client.list_roots().await {
    ///             Ok(result) => println!("{} roots", result.roots.len()),
    ///             Err(error) => eprintln!("{error}"),
    ///         }
    ///     },
    /// );
    /// # drop(server);
    /// ```
    ///
    /// # Panics
    /// Panics if a handler for it is already registered, or if the protocol defines the name and clients do not send it
    /// to handlers: `notifications/initialized` and `notifications/cancelled` are processed by the server itself.
    #[must_use]
    #[track_caller]
    pub fn on_notification<P, F, Fut>(self, name: impl Into<String>, handler: F) -> Self
    where
        P: DeserializeOwned,
        F: Fn(ConnectedClient, P) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let name = name.into();
        unwrap_or_panic(check_notification_name(&name).and_then(|()| {
            let entry = Arc::new(NotificationEntry::new(name.clone(), handler));
            self.change(|snapshot| {
                insert(
                    &mut snapshot.notifications,
                    "notification handler",
                    name,
                    entry,
                )
            })
        }));
        self
    }

    /// Sets the completer for all prompt arguments and template variables without a completer of their own.
    ///
    /// It receives the prompt or template, and the text that the user typed so far. It runs only for arguments and
    /// variables that the prompt or template declares.
    ///
    /// ```
    /// use toolwire::types::CompletionReference;
    /// use toolwire::{CompletionRequest, CompletionValues, RequestContext, Server};
    ///
    /// let complete = |_: RequestContext, reference: CompletionReference, request: CompletionRequest| async move {
    ///     match (reference, request.argument.as_str()) {
    ///         (CompletionReference::Prompt(_), "language") => {
    ///             CompletionValues::prefix_match(&request.value, ["English", "French", "German"])
    ///         }
    ///         _ => CompletionValues::default(),
    ///     }
    /// };
    /// let server = Server::new("demo", "1.0.0").with_completion(complete);
    /// assert!(server.capabilities().completions.is_some());
    /// ```
    #[must_use]
    pub fn with_completion<F, Fut>(self, completer: F) -> Self
    where
        F: Fn(RequestContext, CompletionReference, CompletionRequest) -> Fut
            + Send
            + Sync
            + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: Into<CompletionValues>,
    {
        self.set_completer(DefaultCompleter::new(completer));
        self
    }

    fn set_completer(&self, completer: DefaultCompleter) {
        self.change(|snapshot| {
            snapshot.install(&COMPLETION);
            snapshot.completer = Some(completer);
        });
    }

    /// Adds a tool to a running server and notifies clients.
    ///
    /// # Errors
    /// Returns an error if its name is already registered or invalid, or if its schema does not compile.
    pub fn add_tool(&self, tool: impl IntoTool) -> Result<(), RegistrationError> {
        self.register_tool(tool.into_tool())
    }

    fn register_tool(&self, tool: ToolHandler) -> Result<(), RegistrationError> {
        let entry = Arc::new(tool.with_view_metadata()?.prepare()?);
        let name = entry.descriptor.name.clone();
        // The files of a view are read before the server is locked, because requests wait for the lock.
        let view = self.snapshot().prepare_view(&entry)?;
        let has_new_resource = self.change(|snapshot| {
            check_free("tool", &snapshot.tools, &name)?;
            let has_new_resource = snapshot.install_view(&entry, view)?;
            snapshot.tools.insert(name, entry);
            sort(&mut snapshot.tools);
            Ok(has_new_resource)
        })?;
        if has_new_resource {
            self.resources_changed();
        }
        self.tools_changed();
        Ok(())
    }

    /// Removes a tool from a running server and notifies clients. Running calls continue. Returns `true` if the tool
    /// existed. The tools of a mount stay.
    pub fn remove_tool(&self, name: &str) -> bool {
        let removed = self.change(|snapshot| {
            let removed = remove_own(&mut snapshot.tools, name);
            snapshot.emptied.tools |= removed;
            removed
        });
        if removed {
            self.tools_changed();
            self.restore_hidden_entries();
        }
        removed
    }

    /// Adds a prompt to a running server and notifies clients.
    ///
    /// # Errors
    /// Returns an error if its name is already registered.
    pub fn add_prompt(&self, prompt: impl IntoPrompt) -> Result<(), RegistrationError> {
        self.register_prompt(prompt.into_prompt())
    }

    fn register_prompt(&self, prompt: PromptHandler) -> Result<(), RegistrationError> {
        let entry = Arc::new(prompt.prepare()?);
        let name = entry.descriptor.name.clone();
        self.change(|snapshot| {
            snapshot.install(&PROMPTS);
            snapshot.install(&COMPLETION);
            insert_entry(&mut snapshot.prompts, "prompt", name, entry)
        })?;
        self.prompts_changed();
        Ok(())
    }

    /// Removes a prompt from a running server and notifies clients. Returns `true` if the prompt existed.
    pub fn remove_prompt(&self, name: &str) -> bool {
        let removed = self.change(|snapshot| {
            let removed = remove_own(&mut snapshot.prompts, name);
            snapshot.emptied.prompts |= removed;
            removed
        });
        if removed {
            self.prompts_changed();
            self.restore_hidden_entries();
        }
        removed
    }

    /// Adds a resource to a running server and notifies clients.
    ///
    /// # Errors
    /// Returns an error if its URI is already registered or has no scheme.
    pub fn add_resource(&self, resource: impl IntoResource) -> Result<(), RegistrationError> {
        self.register_resource(resource.into_resource())
    }

    fn register_resource(&self, resource: ResourceHandler) -> Result<(), RegistrationError> {
        let entry = Arc::new(resource.prepare()?);
        let uri = entry.descriptor.uri.clone();
        self.change(|snapshot| {
            snapshot.install(&RESOURCES);
            snapshot.install(&COMPLETION);
            insert_entry(&mut snapshot.resources, "resource", uri, entry)
        })?;
        self.resources_changed();
        Ok(())
    }

    /// Removes a resource from a running server and notifies clients. Returns `true` if the resource existed.
    pub fn remove_resource(&self, uri: &str) -> bool {
        let removed = self.change(|snapshot| {
            let removed = remove_own(&mut snapshot.resources, uri);
            snapshot.emptied.resources |= removed;
            removed
        });
        if removed {
            self.resources_changed();
            self.restore_hidden_entries();
        }
        removed
    }

    /// Adds a resource template to a running server and notifies clients.
    ///
    /// # Errors
    /// Returns an error if it is already registered, is not a valid RFC 6570 template, or cannot be matched unambiguously.
    pub fn add_resource_template(
        &self,
        template: impl IntoResourceTemplate,
    ) -> Result<(), RegistrationError> {
        self.register_resource_template(template.into_resource_template())
    }

    fn register_resource_template(
        &self,
        template: ResourceTemplateHandler,
    ) -> Result<(), RegistrationError> {
        let entry = Arc::new(template.prepare()?);
        let template = entry.descriptor.uri_template.clone();
        self.change(|snapshot| {
            snapshot.install(&RESOURCES);
            snapshot.install(&COMPLETION);
            insert_entry(
                &mut snapshot.templates,
                "resource template",
                template,
                entry,
            )
        })?;
        self.resources_changed();
        Ok(())
    }

    /// Removes a resource template from a running server and notifies clients. Returns `true` if the template existed.
    pub fn remove_resource_template(&self, template: &str) -> bool {
        let removed = self.change(|snapshot| {
            let removed = remove_own(&mut snapshot.templates, template);
            snapshot.emptied.resources |= removed;
            removed
        });
        if removed {
            self.resources_changed();
            self.restore_hidden_entries();
        }
        removed
    }
}

/// Rejects the names of protocol messages that are not passed to handlers.
fn check_notification_name(name: &str) -> Result<(), RegistrationError> {
    if !methods::may_have_notification_handler(name) {
        return Err(RegistrationError::new(format!(
            "`{name}` is not a notification that clients send to handlers; choose another name"
        )));
    }
    Ok(())
}

/// Inserts an entry before those of mounts.
fn insert_entry<T: CatalogEntry>(
    entries: &mut NameMap<Arc<T>>,
    kind: &str,
    name: String,
    entry: Arc<T>,
) -> Result<(), RegistrationError> {
    check_free(kind, entries, &name)?;
    entries.insert(name, entry);
    sort(entries);
    Ok(())
}

/// Rejects a name that is taken.
fn check_free<T: CatalogEntry>(
    kind: &str,
    entries: &NameMap<Arc<T>>,
    name: &str,
) -> Result<(), RegistrationError> {
    match entries.get(name) {
        None => Ok(()),
        Some(taken) if taken.origin().is_some() => Err(conflict(kind, name, taken.origin(), None)),
        Some(_) => Err(RegistrationError::duplicate(kind, name)),
    }
}

/// Removes an entry of the server itself. Returns `true` if it existed.
fn remove_own<T: CatalogEntry>(entries: &mut NameMap<Arc<T>>, name: &str) -> bool {
    let is_own = |entry: &Arc<T>| entry.origin().is_none();
    entries.get(name).is_some_and(is_own) && entries.shift_remove(name).is_some()
}

fn insert<T>(
    entries: &mut NameMap<T>,
    kind: &str,
    name: String,
    entry: T,
) -> Result<(), RegistrationError> {
    if entries.contains_key(&name) {
        return Err(RegistrationError::duplicate(kind, &name));
    }
    entries.insert(name, entry);
    Ok(())
}
