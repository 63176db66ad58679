//! The definition of a view, and the resource that serves it.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use toolwire_proto::apps::{InvalidView, check_document, check_uri, policy};
use toolwire_types::apps::{Csp, META_KEY, MIME_TYPE, Permissions, ViewUi};
use toolwire_types::{ErrorObject, Meta, RawJson, ResourceContents, TextResourceContents};

use crate::server::RequestContext;
use crate::server::registry::RegistrationError;
use crate::server::resource::ResourceHandler;
use crate::server::view::bridge::with_bridge;
use crate::server::view::source::{SourceError, ViewSource};

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
    pub(super) source: Option<ViewSource>,
    has_bridge: bool,
    reloads: bool,
    ui: ViewUi,
}

impl View {
    /// Creates a view from a whole HTML document. The URI starts with `ui://`.
    pub fn new(uri: impl Into<String>, html: impl Into<Arc<str>>) -> Self {
        Self::of(uri.into(), ViewSource::Text(html.into()))
    }

    /// Creates a view from a file with a whole HTML document, for example `dist/index.html`. The file is read when the
    /// view is registered.
    pub fn file(uri: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        Self::of(uri.into(), ViewSource::File(path.into()))
    }

    /// Creates a view from an HTML document and its files, which become one document when the view is registered. The path
    /// is that of the document, or of a directory with an `index.html`.
    ///
    /// Scripts, style sheets, images, sounds and fonts become part of the document. All of them have to be files below
    /// the directory of the document. [`apps::bundle`](crate::apps::bundle) returns the result.
    ///
    /// ```no_run
    /// use toolwire::Server;
    /// use toolwire::apps::View;
    ///
    /// let view = View::bundled("ui://weather/forecast", "views/forecast").with_bridge();
    /// let server = Server::new("weather", "1.0.0").view(view);
    /// # drop(server);
    /// ```
    pub fn bundled(uri: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        Self::of(uri.into(), ViewSource::Bundle(path.into()))
    }

    fn of(uri: String, source: ViewSource) -> Self {
        let mut view = Self::from(uri);
        view.source = Some(source);
        view
    }

    /// Reads the files of [`file`](Self::file) or [`bundled`](Self::bundled) again each time that a host reads the view, so
    /// that changes appear without a restart. For development.
    ///
    /// If the files cannot be used, the host gets an error that names the tag, and the log also names the path.
    pub fn with_reload(mut self) -> Self {
        self.reloads = true;
        self
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
        let invalid = |problem: String| RegistrationError::new(self.problem(&problem));
        check_uri(&self.uri).map_err(|error| invalid(error.to_string()))?;
        let Some(source) = &self.source else {
            return Ok(None);
        };
        if let Some(csp) = &self.ui.csp {
            policy::check_csp(csp).map_err(|error| invalid(error.to_string()))?;
        }
        let document = self
            .document(source)
            .map_err(|error| invalid(error.to_string()))?;
        let size = document.len() as u64;
        let mut resource = if self.reloads {
            let (view, source) = (Arc::new(self.clone()), Arc::new(source.clone()));
            ResourceHandler::new(
                &self.uri,
                self.name(),
                move |_: RequestContext, _: String| {
                    read_again(Arc::clone(&view), Arc::clone(&source))
                },
            )
        } else {
            let contents = Arc::new(self.contents(document));
            let reader = move |_: RequestContext, _: String| {
                let contents = Arc::clone(&contents);
                async move { ResourceContents::Text(contents.as_ref().clone()) }
            };
            ResourceHandler::new(&self.uri, self.name(), reader).with_size(size)
        };
        resource = resource.with_mime_type(MIME_TYPE);
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

    /// Reads and checks the document.
    fn document(&self, source: &ViewSource) -> Result<String, DocumentError> {
        let html = source.read().map_err(DocumentError::Source)?;
        let document = if self.has_bridge {
            with_bridge(&html)
        } else {
            html.into_owned()
        };
        check_document(&document).map_err(DocumentError::Invalid)?;
        Ok(document)
    }

    fn contents(&self, document: String) -> TextResourceContents {
        let mut contents = TextResourceContents::new(&self.uri, document).with_mime_type(MIME_TYPE);
        contents.meta = self.meta();
        contents
    }

    fn problem(&self, problem: &str) -> String {
        format!("view `{}`: {problem}", self.uri)
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

/// The reason why a view has no document.
#[derive(Debug)]
enum DocumentError {
    Source(SourceError),
    Invalid(InvalidView),
}

impl DocumentError {
    /// Returns the reason without paths of the server's machine.
    fn for_client(&self) -> String {
        match self {
            Self::Source(error) => error.problem.clone(),
            Self::Invalid(error) => error.to_string(),
        }
    }
}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(error) => error.fmt(f),
            Self::Invalid(error) => error.fmt(f),
        }
    }
}

/// Reads the document of a view that may have changed.
async fn read_again(
    view: Arc<View>,
    source: Arc<ViewSource>,
) -> Result<ResourceContents, ErrorObject> {
    let reading = tokio::task::spawn_blocking(move || {
        let document = view.document(&source).map_err(|error| {
            tracing::warn!(view = view.uri, %error, "the files of a view cannot be used");
            ErrorObject::internal(view.problem(&error.for_client()))
        })?;
        Ok(ResourceContents::Text(view.contents(document)))
    });
    match reading.await {
        Ok(outcome) => outcome,
        Err(error) => Err(ErrorObject::internal(error.to_string())),
    }
}

impl From<String> for View {
    fn from(uri: String) -> Self {
        Self {
            uri,
            title: None,
            description: None,
            source: None,
            has_bridge: false,
            reloads: false,
            ui: ViewUi::default(),
        }
    }
}

impl From<&str> for View {
    fn from(uri: &str) -> Self {
        Self::from(uri.to_owned())
    }
}
