//! Views of tools, of servers, and in the context of a request.

use toolwire_proto::apps::shows_views;

use crate::server::register::unwrap_or_panic;
use crate::server::registry::RegistrationError;
use crate::server::tool::ToolHandler;
use crate::server::view::entry;
use crate::server::view::{ToolViewEntry, View};
use crate::server::{RequestContext, Server};

impl ToolHandler {
    /// Shows a view for the calls of this tool, in hosts that show views. Other clients get the content of the result,
    /// so it has to be meaningful without the view.
    ///
    /// A [`View`] is registered together with the tool. Several tools may have the same view. A text is the URI of a
    /// view that is registered with [`Server::view`], or of a resource of your own. It is looked up when the server
    /// starts.
    ///
    /// ```
    /// use serde_json::json;
    /// use toolwire::apps::View;
    /// use toolwire::{RawJson, RequestContext, Server, Tool, ToolHandler};
    ///
    /// let view = View::new("ui://clock/face", "<!doctype html><p>12:00");
    /// let clock = Tool::new("clock", json!({"type": "object"}));
    /// let clock = ToolHandler::raw(clock, |_: RequestContext, _: RawJson| async { "12:00" }).with_view(view);
    /// let server = Server::new("clock", "1.0.0").tool(clock);
    /// # drop(server);
    /// ```
    #[must_use]
    pub fn with_view(mut self, view: impl Into<View>) -> Self {
        let entry = self.view.get_or_insert_with(ToolViewEntry::new);
        entry.view = Some(view.into());
        self
    }

    /// Sets which callers see the tool: `model`, `app` (views of this server) or both. Default: both.
    ///
    /// All clients list the tool. Hosts that show views hide the tool from other callers.
    #[must_use]
    pub fn visible_to<S: Into<String>>(mut self, callers: impl IntoIterator<Item = S>) -> Self {
        let entry = self.view.get_or_insert_with(ToolViewEntry::new);
        entry.visibility = Some(callers.into_iter().map(Into::into).collect());
        self
    }
}

impl Server {
    /// Registers a view, for tools that name it by its URI.
    ///
    /// # Panics
    /// Panics if the URI does not start with `ui://` or is already registered, if the document is not a whole HTML
    /// document of at most 4 MiB, if a file cannot be read or bundled, and if an origin is invalid.
    #[must_use]
    #[track_caller]
    pub fn view(self, view: View) -> Self {
        unwrap_or_panic(self.add_view(view));
        self
    }

    /// Adds a view to a running server and notifies clients. The calling thread reads the files of the view.
    ///
    /// # Errors
    /// Returns an error for the reasons for which [`view`](Self::view) panics.
    pub fn add_view(&self, view: View) -> Result<(), RegistrationError> {
        // The files are read before the server is locked, because requests wait for the lock.
        let Some(resource) = entry::prepared(&view)? else {
            return Err(RegistrationError::new(format!(
                "view `{}` has no document; create it with `View::new`, `View::file` or `View::bundled`",
                view.uri
            )));
        };
        self.change(|snapshot| entry::register(&view, resource, snapshot))?;
        self.resources_changed();
        Ok(())
    }
}

impl RequestContext {
    /// Returns `true` if the client shows views. Use it to return data for the view only if there is one, or to offer
    /// another text without it.
    #[must_use]
    pub fn supports_views(&self) -> bool {
        shows_views(self.client_capabilities())
    }
}
