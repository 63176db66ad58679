//! The options of a mount.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use toolwire_types::RawJson;

use crate::server::access::Access;
use crate::server::middleware::{Chain, Middleware, Policy};
use crate::server::mount::{HiddenArguments, Source, UriClaims};
use crate::server::visibility::{Caller, Visibility};

/// A source, and how a server offers its entries.
///
/// ```
/// use toolwire::{Caller, Mount, Server, tool};
///
/// /// Returns the forecast for a city.
/// #[tool]
/// async fn forecast(city: String, key: String) -> String {
///     format!("{city}: sunny ({key})")
/// }
///
/// /// Deletes all forecasts.
/// #[tool]
/// async fn delete_all() {}
///
/// let weather = Server::new("weather", "1.0.0").tool(forecast).tool(delete_all);
/// let mount = Mount::new("weather", weather)
///     .without_tools("delete_*")
///     .fix_argument("forecast", "key", "secret")
///     .with_filter(|caller: &Caller<'_>, _name: &str| caller.has_scope("weather"));
/// let server = Server::new("app", "1.0.0").mount_with(mount);
/// # drop(server);
/// ```
#[derive(Clone)]
#[doc(alias = "ToolTransform")]
pub struct Mount {
    /// The name in messages. `None` for a mount without a name.
    pub(crate) name: Option<String>,
    /// `None` if names do not change.
    pub(crate) prefix: Option<String>,
    pub(crate) source: Arc<dyn Source>,
    pub(crate) names: HashMap<String, String>,
    pub(crate) titles: HashMap<String, String>,
    pub(crate) arguments: HashMap<String, HiddenArguments>,
    pub(crate) included: Vec<String>,
    pub(crate) excluded: Vec<String>,
    pub(crate) rules: Vec<Visibility>,
    pub(crate) access: Access,
    pub(crate) middleware: Option<Chain>,
    pub(crate) policies: Vec<Policy>,
    /// The URIs that the mounts of the server claim.
    pub(crate) claims: Arc<UriClaims>,
}

impl Mount {
    /// Mounts a source under a name. The names of its tools and prompts get the name and `_` as a prefix. The URIs of
    /// resources do not change.
    #[must_use]
    pub fn new(name: impl Into<String>, source: impl Source) -> Self {
        let name = name.into();
        Self {
            prefix: Some(name.clone()),
            name: Some(name),
            ..Self::flat(source)
        }
    }

    /// Mounts a source without a prefix. Names of tools and prompts that hosts do not accept are shortened, as with one.
    #[must_use]
    pub fn flat(source: impl Source) -> Self {
        Self {
            name: None,
            prefix: None,
            source: Arc::new(source),
            names: HashMap::new(),
            titles: HashMap::new(),
            arguments: HashMap::new(),
            included: Vec::new(),
            excluded: Vec::new(),
            rules: Vec::new(),
            access: Access::default(),
            middleware: None,
            policies: Vec::new(),
            claims: Arc::default(),
        }
    }

    /// Sets the prefix of the names of tools and prompts. `_` follows it. Default: the name of the mount.
    #[must_use]
    pub fn with_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = Some(prefix.into());
        self
    }

    /// Offers tools and prompts under the names of the source, as [`flat`](Self::flat) does. The mount keeps its name, by
    /// which it can be removed.
    #[must_use]
    pub fn without_prefix(mut self) -> Self {
        self.prefix = None;
        self
    }

    /// Sets the name by which clients know a tool of the source. It gets no prefix.
    #[must_use]
    pub fn rename_tool(mut self, name: impl Into<String>, new_name: impl Into<String>) -> Self {
        self.names.insert(name.into(), new_name.into());
        self
    }

    /// Sets the title of a tool of the source.
    #[must_use]
    pub fn retitle_tool(mut self, name: impl Into<String>, title: impl Into<String>) -> Self {
        self.titles.insert(name.into(), title.into());
        self
    }

    /// Hides an argument of a tool. The tool never gets it.
    #[must_use]
    pub fn hide_argument(mut self, tool: impl Into<String>, argument: impl Into<String>) -> Self {
        let hidden = self.arguments.entry(tool.into()).or_default();
        hidden.values.insert(argument.into(), None);
        self
    }

    /// Hides an argument of a tool, and sets the value that the tool gets.
    #[must_use]
    pub fn fix_argument(
        mut self,
        tool: impl Into<String>,
        argument: impl Into<String>,
        value: impl Into<Value>,
    ) -> Self {
        let hidden = self.arguments.entry(tool.into()).or_default();
        let value = RawJson::from(value.into());
        hidden.values.insert(argument.into(), Some(value));
        self
    }

    /// Offers only the tools whose names in the source match a pattern, in which `*` stands for any text and `?` for one
    /// character. With several
    /// patterns, one has to match.
    #[must_use]
    pub fn with_tools(mut self, pattern: impl Into<String>) -> Self {
        self.included.push(pattern.into());
        self
    }

    /// Leaves out the tools whose names in the source match a pattern.
    #[must_use]
    pub fn without_tools(mut self, pattern: impl Into<String>) -> Self {
        self.excluded.push(pattern.into());
        self
    }

    /// Sets which callers see an entry. The rule gets the name of a tool or prompt in the source, the URI of a resource,
    /// or the text of a template. To use a template, the caller must see both the template and the URI. What is hidden
    /// gets the same responses as what does not exist.
    #[must_use]
    pub fn with_filter(
        mut self,
        rule: impl Fn(&Caller<'_>, &str) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.rules.push(Visibility::new(rule));
        self
    }

    /// Adds scopes that an access token must grant to use the entries over HTTP, besides their own.
    #[must_use]
    pub fn with_scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.access.add_scopes(scopes);
        self
    }

    /// Adds a middleware around the requests for entries of this mount. It runs inside the middleware of the server, and
    /// outside the middleware of a mounted server.
    #[must_use]
    pub fn with_middleware(mut self, middleware: impl Middleware) -> Self {
        match middleware.policy() {
            Some(policy) => self.policies.push(policy.clone()),
            None => {
                let chain = Chain::with(self.middleware.as_ref(), Arc::new(middleware));
                self.middleware = Some(chain);
            }
        }
        self
    }

    /// Returns the mount in messages.
    pub(crate) fn label(&self) -> String {
        match &self.name {
            Some(name) => format!("mount `{name}`"),
            None => "a mount without a name".to_owned(),
        }
    }
}

impl fmt::Debug for Mount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mount")
            .field("name", &self.name)
            .field("prefix", &self.prefix)
            .finish_non_exhaustive()
    }
}
