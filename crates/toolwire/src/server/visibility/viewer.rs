//! What one caller sees of a server.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::value::RawValue;

use crate::server::Server;
use crate::server::inspection;
use crate::server::mount::{CatalogEntry as _, Origin};
use crate::server::request::Exchange;
use crate::server::resource::TemplateEntry;
use crate::server::snapshot::Snapshot;
use crate::server::visibility::policies::CallerFacts;
use crate::server::visibility::{Caller, EntryKind, KnownArguments, PolicyEntry, Visibility};

/// Decides what one caller sees.
pub(crate) struct Viewer<'a> {
    /// `None` if every caller sees everything.
    /// In a box, because most servers have no filter, and a view is moved for each request.
    filter: Option<Box<ViewFilter<'a>>>,
}

/// What decides about the entries that a caller sees.
struct ViewFilter<'a> {
    snapshot: &'a Snapshot,
    caller: Caller<'a>,
    facts: CallerFacts,
    arguments: KnownArguments<'a>,
}

impl<'a> Viewer<'a> {
    /// Returns the view for a request of this method with these arguments.
    #[inline]
    pub(crate) fn of_call(mut self, method: &str, arguments: Option<&'a RawValue>) -> Self {
        if let Some(filter) = &mut self.filter
            && is_call(method)
        {
            filter.arguments = KnownArguments::Call(arguments);
        }
        self
    }

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
        self.sees_entry(PolicyEntry::new(name, origin))
    }

    /// Returns `true` if the caller sees an entry of the snapshot of this kind.
    #[inline]
    pub(crate) fn sees_kind(
        &self,
        name: &str,
        origin: Option<&Arc<Origin>>,
        kind: EntryKind<'_>,
    ) -> bool {
        self.sees_entry(PolicyEntry::new(name, origin).of_kind(kind))
    }

    /// Returns `true` if the caller sees a template, and may use it for a URI.
    pub(crate) fn sees_at(&self, uri: &str, template: &TemplateEntry) -> bool {
        let Some(filter) = &self.filter else {
            return true;
        };
        let used = template.used_for(uri, &filter.snapshot.uris);
        self.sees_entry(PolicyEntry::new(uri, template.origin()).of_template(&used))
    }

    #[inline]
    fn sees_entry(&self, entry: PolicyEntry<'_>) -> bool {
        match &self.filter {
            None => true,
            Some(filter) => filter.shows(entry),
        }
    }

    /// Returns the rule of a policy that denies an entry, in words.
    pub(crate) fn denying_rule(&self, entry: PolicyEntry<'_>) -> Option<String> {
        self.filter.as_ref()?.denying_rule(entry)
    }
}

impl ViewFilter<'_> {
    #[cold]
    fn shows(&self, entry: PolicyEntry<'_>) -> bool {
        let Some(reason) = self.hiding_reason(entry) else {
            return true;
        };
        inspection::hidden(entry.kind.name(), entry.name, &reason);
        false
    }

    /// Returns what hides an entry from the caller, in words. Returns `None` if the caller sees it.
    fn hiding_reason(&self, entry: PolicyEntry<'_>) -> Option<Cow<'static, str>> {
        let caller = &self.caller;
        let shown = self.snapshot.visibility.as_ref();
        let is_shown = shown.is_none_or(|rule| {
            // A template that is hidden cannot be used, whatever its URI is.
            let of_template = entry.template.map(|used| used.template.as_str());
            of_template.is_none_or(|template| rule.shows(caller, template))
                && rule.shows(caller, entry.name)
        });
        if !is_shown {
            return Some("the visibility rule of the server".into());
        }
        if let Some(origin) = entry.origin
            && !origin.is_visible_to(caller, entry.template)
        {
            return Some(format!("a filter of {}", origin.label).into());
        }
        let denying = self.denying_rule(entry)?;
        Some(format!("policy: {denying}").into())
    }

    fn denying_rule(&self, entry: PolicyEntry<'_>) -> Option<String> {
        let (caller, facts) = (&self.caller, &self.facts);
        self.snapshot
            .denying_rule(entry, caller, facts, self.arguments)
    }
}

/// Returns `true` if a method uses an entry, with the arguments of the request or without any.
fn is_call(method: &str) -> bool {
    matches!(
        method,
        "tools/call" | "prompts/get" | "resources/read" | "resources/subscribe"
    )
}

impl Snapshot {
    /// Returns what a caller sees.
    #[inline]
    pub(crate) fn viewer<'a>(&'a self, caller: impl FnOnce() -> Caller<'a>) -> Viewer<'a> {
        Viewer {
            filter: self.is_filtered.then(|| {
                Box::new(ViewFilter {
                    snapshot: self,
                    caller: caller(),
                    facts: CallerFacts::default(),
                    arguments: KnownArguments::Unknown,
                })
            }),
        }
    }
}

impl Exchange {
    /// Returns what the caller of the request sees.
    #[inline]
    pub(crate) fn viewer(&self) -> Viewer<'_> {
        if !self.snapshot().is_filtered {
            return Viewer::unfiltered();
        }
        let caller = || Caller::of_scope(self.context.scope());
        let viewer = self.snapshot().viewer(caller);
        viewer.of_call(self.route().name(), self.arguments())
    }
}

impl Server {
    /// Panics if the server forwards its requests, so that a rule about entries would have no effect.
    #[track_caller]
    pub(crate) fn expect_entries(&self, rule: &str) {
        assert!(
            !self.snapshot().forwards(),
            "{rule} has no effect on the server of a relay; mount the upstream server with `Upstream::source`, and set it \
             on the server that mounts it"
        );
    }

    /// Sets which tools, prompts, resources and templates a caller sees. The rule gets the name of a tool or prompt, the
    /// URI of a resource, or the text of a template. To use a template, the caller must see both the template and the
    /// URI.
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
    ///
    /// # Panics
    /// Panics if the server is that of a relay, which has no entries to decide about.
    #[must_use]
    #[track_caller]
    pub fn with_visibility(
        self,
        rule: impl Fn(&Caller<'_>, &str) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.expect_entries("a visibility rule");
        let rule = Visibility::new(rule);
        self.change(|snapshot| {
            snapshot.visibility = Some(rule);
            snapshot.is_filtered = true;
        });
        self
    }
}
