//! Views of tools in a host.

use toolwire_proto::apps::document::ViewDocument;
use toolwire_proto::apps::{check_uri, client_settings, view_uri};
use toolwire_types::Tool;
use toolwire_types::apps::EXTENSION_ID;

use crate::client::{Client, ClientBuilder};
use crate::error::Error;

impl ClientBuilder {
    /// Declares that the application shows views of tools (extension `io.modelcontextprotocol/ui`). Servers may then
    /// offer tools for views, and return less text. [`Client::view`] reads a view.
    pub fn with_views(self) -> Self {
        self.with_extension(EXTENSION_ID, client_settings())
    }
}

impl Client {
    /// Reads the view of a tool. Returns `None` if the tool has none.
    ///
    /// The document comes from the server and is untrusted. Show it only in a sandbox, with
    /// [`ViewDocument::content_security_policy`](crate::apps::host::ViewDocument::content_security_policy).
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), toolwire::Error> {
    /// # use serde_json::json;
    /// # use toolwire::{RawJson, RequestContext, Server, ToolHandler};
    /// use toolwire::apps::View;
    /// use toolwire::{Client, Tool};
    ///
    /// # let clock = Tool::new("clock", json!({"type": "object"}));
    /// # let clock = ToolHandler::raw(clock, |_: RequestContext, _: RawJson| async { "12:00" })
    /// #     .with_view(View::new("ui://clock/face", "<!doctype html><p>12:00"));
    /// # let server = Server::new("clock", "1.0.0").tool(clock);
    /// let client = Client::builder("desk", "1.0.0").with_views().in_process(&server).await?;
    /// let tools: Vec<Tool> = client.list_tools().await?;
    /// let view = client.view(&tools[0]).await?.expect("the clock has a view");
    /// assert_eq!(view.html(), "<!doctype html><p>12:00");
    /// assert!(view.content_security_policy().starts_with("default-src 'none'"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Returns an error if the URI does not start with `ui://`, if the server cannot read it, or if the contents are not
    /// a view: another MIME type, no HTML document, or more than 4 MiB.
    pub async fn view(&self, tool: &Tool) -> Result<Option<ViewDocument>, Error> {
        let Some(uri) = view_uri(tool) else {
            return Ok(None);
        };
        let invalid = |error| Error::protocol(format!("view of tool `{}`: {error}", tool.name));
        check_uri(&uri).map_err(invalid)?;
        let result = self.read_resource(&uri).await?;
        let document = ViewDocument::read(&uri, &result).map_err(invalid)?;
        if document.has_ui() {
            return Ok(Some(document));
        }
        // Some servers have the metadata in the list only. A view does not have to be in the list.
        let entries = self.list_resources().await.unwrap_or_default();
        let entry = entries.iter().find(|entry| entry.uri == uri);
        Ok(Some(match entry {
            Some(entry) => document.with_list_entry(entry),
            None => document,
        }))
    }
}
