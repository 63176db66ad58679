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
    pub(crate) exposed_name: String,
    pub(crate) own_name: String,
}

/// The entry that a policy decides about.
#[derive(Clone, Copy)]
pub(crate) struct PolicyEntry<'a> {
    /// The name or URI that the caller uses.
    pub(crate) name: &'a str,
    /// The template that the URI matches.
    pub(crate) template: Option<&'a str>,
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

    pub(crate) fn of_kind(self, kind: EntryKind<'a>) -> Self {
        Self { kind, ..self }
    }
}

/// The kind of an entry. Rules about hints apply to tools only.
#[derive(Debug, Clone, Copy)]
pub(crate) enum EntryKind<'a> {
    Tool(Option<&'a ToolAnnotations>),
    /// A prompt, a resource or a template.
    Other,
}

/// The arguments of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum KnownArguments<'a> {
    /// The request is not a call, so any arguments are possible.
    Unknown,
    Call(Option<&'a RawValue>),
}

/// What policies need to know about a caller, read at first use.
#[derive(Debug, Default)]
pub(super) struct CallerFacts(OnceLock<(ScopeSet, RawJson)>);

impl CallerFacts {
    fn read(&self, caller: &Caller<'_>) -> &(ScopeSet, RawJson) {
        self.0.get_or_init(|| {
            let token = caller.token();
            let scopes = ScopeSet::parse(&token.scopes.join(" ")).unwrap_or_default();
            let claims = RawJson::from_serialize(&token.claims).unwrap_or_default();
            (scopes, claims)
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
            EntryKind::Other => None,
        };
        let (scopes, claims) = facts.read(caller);
        let principal = caller.token().subject.as_deref();
        let principal = principal.filter(|_| caller.token().valid);
        let deny = |policy: &Policy, request: PolicyRequest<'_>| {
            let mut request =
                request.with_caller(principal, Some(scopes), Some(claims.as_raw_value()));
            if let EntryKind::Tool(_) = entry.kind {
                let annotations = annotations.as_ref().map(RawJson::as_raw_value);
                request = request.with_annotations(annotations);
            }
            if !caller.uses_tokens() {
                request = request.with_every_scope();
            }
            if let KnownArguments::Call(arguments) = arguments {
                request = request.with_arguments(arguments);
            }
            let decision = policy.decide(&request);
            (!decision.is_allowed).then(|| policy.describe(decision))
        };
        let (upstream, own_name) = match entry.origin {
            Some(origin) => (&*origin.source, origin.local_name.as_str()),
            None => ("", entry.name),
        };
        let own_name = entry.template.unwrap_or(own_name);
        let mut own = self.policies.iter();
        let denied = own
            .find_map(|policy| deny(policy, PolicyRequest::entry(upstream, entry.name, own_name)));
        denied.or_else(|| {
            of_levels.iter().find_map(|level| {
                let (exposed, own) = match entry.template {
                    Some(template) => (entry.name, template),
                    None => (&*level.exposed_name, &*level.own_name),
                };
                let request = PolicyRequest::entry(&level.upstream, exposed, own);
                deny(&level.policy, request)
            })
        })
    }
}
