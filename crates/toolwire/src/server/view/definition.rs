//! The definition of a view, and the resource that serves it.

use std::sync::Arc;

use toolwire_proto::apps::{check_document, check_uri, policy};
use toolwire_types::apps::{Csp, META_KEY, MIME_TYPE, Permissions, ViewUi};
use toolwire_types::{Meta, RawJson, ResourceContents, TextResourceContents};

use crate::server::RequestContext;
use crate::server::registry::RegistrationError;
use crate::server::resource::ResourceHandler;
use crate::server::view::bridge::with_bridge;

/// A view: an HTML document that hosts show for the calls of a tool.
///
/// It is registered as a resource together with its tool, or with [`Server::view`](crate::Server::view). A text
/// converts into a reference to a view that is registered separately.
///
/// ```
/// use toolwire::apps::{Csp, View};
/// use toolwire::{Server, tool};
///
/// const FORECAST: &str = "<!doctype html><title>Forecast</title><p id=city></p>
///     <script>toolwire.connect({ onInput: (input) => { city.textContent = input.city } })</script>";
///
/// fn forecast_view() -> View {
///     View::new("ui://weather/forecast", FORECAST)
///         .with_bridge()
///         .with_csp(Csp::new().connect("https://api.example.com"))
/// }
///
/// /// Shows the weather of the next days.
/// #[tool(view = forecast_view())]
/// async fn forecast(city: String) -> String {
///     format!("It rains in {city}.")
/// }
///
/// /// Loads another week, for the view only.
/// #[tool(visible_to("app"))]
/// async fn week(offset: u32) -> Vec<String> {
///     vec![format!("week {offset}")]
/// }
///
/// let server = Server::new("weather", "1.0.0").tool(forecast).tool(week);
/// assert!(server.capabilities().extension("io.modelcontextprotocol/ui").is_some());
/// ```
#[derive(Debug, Clone, PartialEq)]
#[must_use = "a view has no effect until a tool or a server has it"]
pub struct View {
    pub(super) uri: String,
    title: Option<String>,
    description: Option<String>,
    /// `None` if the view is registered separately.
    pub(super) html: Option<Arc<str>>,
    has_bridge: bool,
    ui: ViewUi,
}

impl View {
    /// Creates a view from a whole HTML document. The URI starts with `ui://`.
    pub fn new(uri: impl Into<String>, html: impl Into<Arc<str>>) -> Self {
        let mut view = Self::from(uri.into());
        view.html = Some(html.into());
        view
    }

    /// Inserts [`BRIDGE`](crate::apps::BRIDGE) into the document, before its own scripts. It defines `toolwire`, the
    /// functions with which a script speaks with the host.
    pub fn with_bridge(mut self) -> Self {
        self.has_bridge = true;
        self
    }

    /// Sets the origins that the view may use besides its own. Default: none, so that the document has to contain all
    /// of its scripts, styles and images.
    pub fn with_csp(mut self, csp: Csp) -> Self {
        self.ui.csp = Some(csp);
        self
    }

    /// Sets the browser permissions that the view asks for, such as the camera.
    pub fn with_permissions(mut self, permissions: Permissions) -> Self {
        self.ui.permissions = Some(permissions);
        self
    }

    /// Sets the domain that the view asks to be served from. The host defines its format.
    pub fn with_domain(mut self, domain: impl Into<String>) -> Self {
        self.ui.domain = Some(domain.into());
        self
    }

    /// Sets whether the view prefers a border. Default: the host decides.
    pub fn with_border(mut self, prefers_border: bool) -> Self {
        self.ui.prefers_border = Some(prefers_border);
        self
    }

    /// Sets the title of the resource, a display name.
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets the description of the resource.
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Returns the URI of the view.
    #[must_use]
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// Returns the resource that serves the view, or `None` if the view is registered separately.
    ///
    /// Hosts look for the metadata on the list entry or on the contents, so both have it.
    pub(super) fn resource(&self) -> Result<Option<ResourceHandler>, RegistrationError> {
        let invalid = |problem| RegistrationError::new(format!("view `{}`: {problem}", self.uri));
        check_uri(&self.uri).map_err(invalid)?;
        let Some(html) = &self.html else {
            return Ok(None);
        };
        if let Some(csp) = &self.ui.csp {
            policy::check_csp(csp).map_err(invalid)?;
        }
        let document = if self.has_bridge {
            with_bridge(html)
        } else {
            html.as_ref().to_owned()
        };
        check_document(&document).map_err(invalid)?;
        let size = document.len() as u64;
        let mut contents = TextResourceContents::new(&self.uri, document).with_mime_type(MIME_TYPE);
        contents.meta = self.meta();
        let contents = Arc::new(contents);
        let reader = move |_: RequestContext, _: String| {
            let contents = Arc::clone(&contents);
            async move { ResourceContents::Text(contents.as_ref().clone()) }
        };
        let mut resource = ResourceHandler::new(&self.uri, self.name(), reader)
            .with_mime_type(MIME_TYPE)
            .with_size(size);
        if let Some(meta) = self.meta() {
            resource = resource.with_meta(meta);
        }
        if let Some(title) = &self.title {
            resource = resource.with_title(title);
        }
        if let Some(description) = &self.description {
            resource = resource.with_description(description);
        }
        Ok(Some(resource))
    }

    /// Returns the name of the resource: the URI without its scheme.
    fn name(&self) -> &str {
        self.uri.strip_prefix("ui://").unwrap_or(&self.uri)
    }

    fn meta(&self) -> Option<Meta> {
        if self.ui == ViewUi::default() {
            return None;
        }
        let ui = RawJson::from_serialize(&self.ui).ok()?;
        Some(Meta::new().with(META_KEY, ui))
    }
}

impl From<String> for View {
    fn from(uri: String) -> Self {
        Self {
            uri,
            title: None,
            description: None,
            html: None,
            has_bridge: false,
            ui: ViewUi::default(),
        }
    }
}

impl From<&str> for View {
    fn from(uri: &str) -> Self {
        Self::from(uri.to_owned())
    }
}
