//! Where a mounted entry comes from.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::engine::BoxFuture;
use crate::server::completion::DefaultCompleter;
use crate::server::middleware::{Chain, Middleware, Next, Outcome, Request};
use crate::server::mount::HiddenArguments;
use crate::server::raw_entry::RawHandler;
use crate::server::visibility::{
    Caller, EntryKind, LevelName, PolicyOfLevel, UsedTemplate, Visibility,
};

/// The origin of an entry that a mount added.
pub(crate) struct Origin {
    /// The number of the mount on its server. Mounts are numbered in their order.
    pub(crate) mount: usize,
    /// The numbers of the mounts between the server and the source of the entry, the outermost first.
    pub(crate) path: Vec<usize>,
    /// The position of the entry in the catalog of its source.
    pub(crate) position: usize,
    /// The mount in messages: `mount "weather"`.
    pub(crate) label: Arc<str>,
    /// The name of the mount. Empty for a mount without a name.
    pub(crate) source: Arc<str>,
    /// The name of the entry in its source.
    pub(crate) local_name: String,
    /// Whether the entry has its name before those of earlier mounts.
    pub(crate) is_preferred: bool,
    /// The policies of the mount and of the levels inside it.
    pub(crate) policies: Vec<PolicyOfLevel>,
    /// The rules of all levels, with the name of the entry on each level.
    pub(crate) rules: Vec<(Visibility, LevelName)>,
    /// The arguments of a tool that the mount and the mounts inside it fix, the outermost first.
    pub(crate) fixed: Vec<Option<HiddenArguments>>,
    /// The middleware of the mount and of the mounted server.
    pub(crate) chain: Option<Chain>,
    /// The completer of the mounted server, and the name or template by which it knows the entry.
    pub(crate) completer: Option<(DefaultCompleter, String)>,
    /// The raw completer of the source, and the name or template by which it knows the entry.
    pub(crate) raw_completer: Option<(RawHandler, String)>,
}

impl Origin {
    /// Returns `true` if a rule or a policy may hide the entry from some callers.
    pub(crate) fn is_restricted(&self) -> bool {
        !self.rules.is_empty() || !self.policies.is_empty()
    }

    /// Returns `true` if the rules of all levels show the entry, and the URI on their level for which it is used.
    pub(crate) fn is_visible_to(
        &self,
        caller: &Caller<'_>,
        template: Option<&UsedTemplate>,
    ) -> bool {
        self.rules.iter().all(|(rule, level)| {
            let uri = template.map(|template| template.uri(level.depth));
            rule.shows(caller, &level.name) && uri.is_none_or(|uri| rule.shows(caller, uri))
        })
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Origin")
            .field("mount", &self.label)
            .finish_non_exhaustive()
    }
}

/// An entry of a list of the server.
pub(crate) trait CatalogEntry {
    /// Returns the origin of the entry. `None` if the server itself registered it.
    fn origin(&self) -> Option<&Arc<Origin>>;

    /// Returns the kind of the entry.
    fn kind(&self) -> EntryKind<'_> {
        EntryKind::Other
    }

    /// Returns `true` if lists show the other entry in the same way.
    fn is_listed_as(&self, other: &Self) -> bool;
}

/// The border of a mounted server: the middleware behind it sees the name that the mounted server has for the entry.
pub(crate) struct Border {
    pub(crate) local_name: Arc<str>,
}

impl Middleware for Border {
    fn handle<'a>(&'a self, request: &'a mut Request, next: Next<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let outer = request.replace_shown_name(Some(Arc::clone(&self.local_name)));
            let outcome = next.run(request).await;
            request.replace_shown_name(outer);
            outcome
        })
    }

    fn name(&self) -> Cow<'_, str> {
        "mounted server".into()
    }
}
