//! What one caller sees of a server.

use std::sync::Arc;

use crate::server::Server;
use crate::server::mount::Origin;
use crate::server::request::Exchange;
use crate::server::snapshot::Snapshot;
use crate::server::visibility::{Caller, Visibility};

/// Decides what one caller sees.
pub(crate) struct Viewer<'a> {
    /// `None` if every caller sees everything.
    filter: Option<(&'a Snapshot, Caller<'a>)>,
}

impl Viewer<'_> {
    /// Returns the view of a caller that sees everything.
    pub(crate) fn unfiltered() -> Self {
        Self { filter: None }
    }

    /// Returns `true` if the caller does not see everything.
    pub(crate) fn is_filtered(&self) -> bool {
        self.filter.is_some()
    }

    /// Returns `true` if the caller sees an entry of the snapshot.
    #[inline]
    pub(crate) fn sees(&self, name: &str, origin: Option<&Arc<Origin>>) -> bool {
        match &self.filter {
            None => true,
            Some((snapshot, caller)) => {
                let shown = snapshot.visibility.as_ref();
                shown.is_none_or(|rule| rule.shows(caller, name))
                    && origin.is_none_or(|origin| origin.is_visible_to(caller))
            }
        }
    }
}

impl Snapshot {
    /// Returns what a caller sees.
    #[inline]
    pub(crate) fn viewer<'a>(&'a self, caller: impl FnOnce() -> Caller<'a>) -> Viewer<'a> {
        Viewer {
            filter: self.is_filtered.then(|| (self, caller())),
        }
    }
}

impl Exchange {
    /// Returns what the caller of the request sees.
    #[inline]
    pub(crate) fn viewer(&self) -> Viewer<'_> {
        let caller = || Caller::of_scope(self.context.scope());
        self.snapshot().viewer(caller)
    }
}

impl Server {
    /// Sets which tools, prompts, resources and templates a caller sees. The rule gets the name of a tool or prompt, the
    /// URI of a resource, or the text of a template.
    ///
    /// What is hidden from a caller gets the same responses as what does not exist. Lists are then specific to the
    /// caller and are not shared.
    ///
    /// ```
    /// use toolwire::{Caller, Server};
    ///
    /// let server = Server::new("demo", "1.0.0")
    ///     .with_visibility(|caller: &Caller<'_>, name: &str| !name.starts_with("admin_") || caller.has_scope("admin"));
    /// # drop(server);
    /// ```
    #[must_use]
    pub fn with_visibility(
        self,
        rule: impl Fn(&Caller<'_>, &str) -> bool + Send + Sync + 'static,
    ) -> Self {
        let rule = Visibility::new(rule);
        self.change(|snapshot| {
            snapshot.visibility = Some(rule);
            snapshot.is_filtered = true;
        });
        self
    }
}
