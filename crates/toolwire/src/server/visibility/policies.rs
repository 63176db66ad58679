//! What policies permit a caller.

use std::sync::{Arc, OnceLock};

use serde_json::value::RawValue;
use toolwire_proto::relay::policy::PolicyRequest;
use toolwire_proto::scopes::ScopeSet;
use toolwire_types::{RawJson, ToolAnnotations};

use crate::server::middleware::Policy;
use crate::server::mount::Origin;
use crate::server::snapshot::Snapshot;
use crate::server::visibility::Caller;

/// A policy of a mount or of a mounted server, with the names that it has for an entry.
#[derive(Debug, Clone)]
pub(crate) struct PolicyOfLevel {
    pub(crate) policy: Policy,
    pub(crate) upstream: Arc<str>,
    pub(crate) exposed_name: LevelName,
    pub(crate) own_name: LevelName,
}

/// The name of an entry on one level of mounts.
#[derive(Debug, Clone)]
pub(crate) struct LevelName {
    /// The name of a tool or prompt, the URI of a resource, or the text of a template.
    pub(crate) name: String,
    /// The number of mounts between the server and this level.
    pub(crate) depth: usize,
}

impl LevelName {
    /// Returns the name as a server has it that mounts the level.
    pub(crate) fn inside(&self) -> Self {
        Self {
            name: self.name.clone(),
            depth: self.depth + 1,
        }
    }

    /// Returns the URI on this level if a template is used, or the name.
    fn used<'n>(&'n self, template: Option<&'n UsedTemplate>) -> &'n str {
        template.map_or(&self.name, |template| template.uri(self.depth))
    }
}

/// A template that is used for a URI.
#[derive(Debug)]
pub(crate) struct UsedTemplate {
    pub(crate) template: String,
    /// The URI on each level of mounts, the outermost first.
    pub(crate) uris: Vec<String>,
}

impl UsedTemplate {
    /// Returns the URI behind this number of mounts.
    pub(crate) fn uri(&self, depth: usize) -> &str {
        let uri = self.uris.get(depth).or(self.uris.last());
        uri.map_or("", String::as_str)
    }
}

/// The entry that a policy decides about.
#[derive(Clone, Copy)]
pub(crate) struct PolicyEntry<'a> {
    /// The name or URI that the caller uses.
    pub(crate) name: &'a str,
    /// The template that is used for the URI.
    pub(crate) template: Option<&'a UsedTemplate>,
    pub(crate) origin: Option<&'a Arc<Origin>>,
    pub(crate) kind: EntryKind<'a>,
}

impl<'a> PolicyEntry<'a> {
    pub(crate) fn new(name: &'a str, origin: Option<&'a Arc<Origin>>) -> Self {
        Self {
            name,
            template: None,
            origin,
            kind: EntryKind::Other,
        }
    }

    pub(crate) fn of_template(self, used: &'a UsedTemplate) -> Self {
        Self {
            template: Some(used),
            ..self
        }
    }

    pub(crate) fn of_kind(self, kind: EntryKind<'a>) -> Self {
        Self { kind, ..self }
    }
}

/// The kind of an entry. Rules about hints apply to tools only.
#[derive(Debug, Clone, Copy)]
pub(crate) enum EntryKind<'a> {
    Tool(Option<&'a ToolAnnotations>),
    /// A template. In a list, a rule may apply to some of its URIs only.
    Template,
    /// A prompt or a resource.
    Other,
}

impl EntryKind<'_> {
    /// Returns the name of the kind, if it is known.
    pub(crate) fn name(self) -> Option<&'static str> {
        match self {
            Self::Tool(_) => Some("tool"),
            Self::Template => Some("template"),
            Self::Other => None,
        }
    }
}

/// The arguments of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum KnownArguments<'a> {
    /// The request is not a call, so any arguments are possible.
    Unknown,
    Call(Option<&'a RawValue>),
}

/// The arguments of a call on each level of mounts.
struct LevelArguments<'a> {
    sent: KnownArguments<'a>,
    /// The arguments behind each mount. Empty if no mount fixes arguments.
    completed: Vec<RawJson>,
}

impl<'a> LevelArguments<'a> {
    fn new(sent: KnownArguments<'a>, origin: Option<&Arc<Origin>>) -> Self {
        let fixed = origin.map(|origin| origin.fixed.as_slice());
        let fixed = fixed.unwrap_or_default();
        let mut completed = Vec::new();
        if let KnownArguments::Call(arguments) = sent
            && fixed.iter().any(Option::is_some)
        {
            let mut current = arguments.map_or_else(RawJson::empty_object, RawJson::from);
            for fixed in fixed {
                if let Some(fixed) = fixed {
                    current = fixed.complete(current.as_raw_value());
                }
                completed.push(current.clone());
            }
        }
        Self { sent, completed }
    }

    /// Returns the arguments behind this number of mounts.
    fn at(&self, depth: usize) -> KnownArguments<'_> {
        let completed = match depth.checked_sub(1) {
            Some(index) => self.completed.get(index).or(self.completed.last()),
            None => None,
        };
        match completed {
            Some(completed) => KnownArguments::Call(Some(completed.as_raw_value())),
            None => self.sent,
        }
    }
}

/// What policies need to know about a caller, read at first use.
#[derive(Debug, Default)]
pub(super) struct CallerFacts(OnceLock<(ScopeSet, RawJson)>);

impl CallerFacts {
    fn read(&self, caller: &Caller<'_>) -> &(ScopeSet, RawJson) {
        self.0.get_or_init(|| {
            let token = caller.token();
            // A malformed scope must not remove the others: a rule that denies one of them would not match.
            let scopes = token.scopes.iter().filter(|_| token.valid);
            let scopes = ScopeSet::from_trusted(scopes.cloned());
            let claims = Some(&token.claims).filter(|_| token.valid);
            let claims = claims.and_then(|claims| RawJson::from_serialize(claims).ok());
            (scopes, claims.unwrap_or_default())
        })
    }
}

impl Snapshot {
    /// Returns the rule that denies an entry, in words. Returns `None` if all policies permit it.
    #[cold]
    pub(super) fn denying_rule(
        &self,
        entry: PolicyEntry<'_>,
        caller: &Caller<'_>,
        facts: &CallerFacts,
        arguments: KnownArguments<'_>,
    ) -> Option<String> {
        let of_levels = entry.origin.map(|origin| origin.policies.as_slice());
        let of_levels = of_levels.unwrap_or_default();
        if self.policies.is_empty() && of_levels.is_empty() {
            return None;
        }
        let annotations = match entry.kind {
            EntryKind::Tool(annotations) => {
                annotations.and_then(|all| RawJson::from_serialize(all).ok())
            }
            EntryKind::Template | EntryKind::Other => None,
        };
        let (scopes, claims) = facts.read(caller);
        let principal = caller.token().subject.as_deref();
        let principal = principal.filter(|_| caller.token().valid);
        let arguments = LevelArguments::new(arguments, entry.origin);
        let deny = |policy: &Policy, request: PolicyRequest<'_>, depth: usize| {
            let mut request =
                request.with_caller(principal, Some(scopes), Some(claims.as_raw_value()));
            if let EntryKind::Tool(_) = entry.kind {
                let annotations = annotations.as_ref().map(RawJson::as_raw_value);
                request = request.with_annotations(annotations);
            }
            if let EntryKind::Template = entry.kind {
                request = request.of_template();
            }
            if !caller.uses_tokens() {
                request = request.with_every_scope();
            }
            if let KnownArguments::Call(arguments) = arguments.at(depth) {
                request = request.with_arguments(arguments);
            }
            let decision = policy.decide(&request);
            (!decision.is_allowed).then(|| policy.describe(decision))
        };
        let (upstream, local_name) = match entry.origin {
            Some(origin) => (&*origin.source, origin.local_name.as_str()),
            None => ("", entry.template.map_or(entry.name, |used| &used.template)),
        };
        let request = match entry.template {
            Some(used) => PolicyRequest::entry(upstream, entry.name, used.uri(1))
                .with_template(&used.template, local_name),
            None => PolicyRequest::entry(upstream, entry.name, local_name),
        };
        let denied = self
            .policies
            .iter()
            .find_map(|policy| deny(policy, request, 0));
        denied.or_else(|| {
            of_levels.iter().find_map(|level| {
                let (exposed, own) = (&level.exposed_name, &level.own_name);
                let request = PolicyRequest::entry(
                    &level.upstream,
                    exposed.used(entry.template),
                    own.used(entry.template),
                );
                let request = match entry.template {
                    Some(_) => request.with_template(&exposed.name, &own.name),
                    None => request,
                };
                deny(&level.policy, request, exposed.depth)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::TokenInfo;

    #[test]
    fn malformed_scope_does_not_remove_the_others() {
        let token = TokenInfo::verified().with_scopes(["guest", "not\"valid", "last"]);
        let facts = CallerFacts::default();
        let (scopes, _) = facts.read(&Caller::new(&token, true, None));
        assert!(scopes.contains("guest") && scopes.contains("last"));
    }

    #[test]
    fn claims_of_a_token_that_was_not_verified_are_not_read() {
        let mut token = TokenInfo::verified().with_claim("team", serde_json::json!("ops"));
        for expected in [r#"{"team":"ops"}"#, "null"] {
            let facts = CallerFacts::default();
            let (_, claims) = facts.read(&Caller::new(&token, true, None));
            assert_eq!(claims.get(), expected);
            token.valid = false;
        }
    }
}
