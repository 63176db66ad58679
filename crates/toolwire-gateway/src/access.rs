//! The policy of the gateway: which caller may use which entry of which upstream.

use std::sync::{Arc, Mutex};

use serde_json::value::RawValue;
use toolwire::{RawJson, ScopeSet, TokenInfo};
use toolwire_proto::relay::policy::{Decision, Policy, PolicyRequest};

use crate::sync::lock;

/// An entry of an upstream, as rules see it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RuledEntry<'a> {
    pub(crate) upstream: &'a str,
    /// The name that the gateway exposes at its main address.
    pub(crate) exposed_name: &'a str,
    /// The name at the upstream.
    pub(crate) own_name: &'a str,
    pub(crate) kind: RuledKind<'a>,
}

/// What rules know about the kind of an entry.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RuledKind<'a> {
    /// A tool with these annotations.
    Tool(Option<&'a RawValue>),
    /// A template, whose text is the name.
    Template,
    /// A prompt or a resource.
    Other,
}

/// The kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryKind {
    Tool,
    Prompt,
    Resource,
    Template,
}

/// The use of an entry.
#[derive(Debug, Clone, Copy)]
pub(crate) enum EntryUse<'a> {
    /// It is listed.
    List,
    /// It is called with these arguments.
    Call(Option<&'a RawValue>),
}

/// The policy, which changes with the configuration.
#[derive(Debug)]
pub(crate) struct AccessRules {
    policy: Mutex<Arc<Policy>>,
    /// The caller of the last decision: a list has many entries, and one caller.
    last_caller: Mutex<Arc<CallerFacts>>,
    /// How often a caller was converted.
    #[cfg(test)]
    conversions: std::sync::atomic::AtomicUsize,
}

/// What rules know about a caller.
#[derive(Debug, Default)]
struct CallerFacts {
    token: TokenInfo,
    /// Scopes and claims, if the token was verified.
    verified: Option<(ScopeSet, Option<RawJson>)>,
}

impl CallerFacts {
    /// Converts a token. What it says counts only if it was verified.
    fn of(token: &TokenInfo) -> Self {
        let verified = token.valid.then(|| {
            let scopes = ScopeSet::from_trusted(token.scopes.iter().cloned());
            (scopes, RawJson::from_serialize(&token.claims).ok())
        });
        Self {
            token: token.clone(),
            verified,
        }
    }
}

impl AccessRules {
    pub(crate) fn new(policy: Policy) -> Self {
        Self {
            policy: Mutex::new(Arc::new(policy)),
            last_caller: Mutex::default(),
            #[cfg(test)]
            conversions: std::sync::atomic::AtomicUsize::default(),
        }
    }

    /// Replaces the policy. Returns `true` if it is another one.
    pub(crate) fn replace(&self, policy: &Policy) -> bool {
        let mut current = lock(&self.policy);
        let is_changed = **current != *policy;
        if is_changed {
            *current = Arc::new(policy.clone());
        }
        is_changed
    }

    /// Decides whether a caller may use an entry.
    pub(crate) fn decide(
        &self,
        entry: &RuledEntry<'_>,
        token: &TokenInfo,
        entry_use: EntryUse<'_>,
    ) -> Decision {
        let policy = Arc::clone(&lock(&self.policy));
        let request = PolicyRequest::entry(entry.upstream, entry.exposed_name, entry.own_name);
        let request = match (entry.kind, entry_use) {
            (RuledKind::Tool(annotations), _) => request.with_annotations(annotations),
            (RuledKind::Template, EntryUse::List) => request.of_template(),
            _ => request,
        };
        let request = match entry_use {
            EntryUse::List => request,
            EntryUse::Call(arguments) => request.with_arguments(arguments),
        };
        if !policy.depends_on_caller() {
            return policy.decide(&request);
        }
        let facts = self.caller(token);
        let Some((scopes, claims)) = &facts.verified else {
            return policy.decide(&request.with_caller(None, None, None));
        };
        // A client id is not a subject: it could be equal to that of a user.
        let principal = token.subject.as_deref();
        let claims = claims.as_ref().map(RawJson::as_raw_value);
        policy.decide(&request.with_caller(principal, Some(scopes), claims))
    }

    /// Returns what rules know about a caller. It is converted once for all entries of a list.
    fn caller(&self, token: &TokenInfo) -> Arc<CallerFacts> {
        let mut last = lock(&self.last_caller);
        if last.token != *token {
            #[cfg(test)]
            (self.conversions).fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            *last = Arc::new(CallerFacts::of(token));
        }
        Arc::clone(&last)
    }
}

#[cfg(test)]
mod tests {
    use toolwire_proto::relay::policy::{Conditions, Effect, PolicyRule};

    use super::*;

    #[test]
    fn caller_of_a_list_is_converted_once() {
        let conditions = Conditions::new().with_scope("admin");
        let rule = PolicyRule::new(Effect::Allow, conditions);
        let rules = AccessRules::new(Policy::new(vec![rule]).unwrap());
        let ann = TokenInfo::verified()
            .with_subject("ann")
            .with_scopes(["admin"]);
        let bob = TokenInfo::verified().with_subject("bob");
        for (token, is_allowed, conversions) in [(&ann, true, 1), (&bob, false, 2)] {
            for own_name in ["a", "b", "c"] {
                let entry = RuledEntry {
                    upstream: "db",
                    exposed_name: own_name,
                    own_name,
                    kind: RuledKind::Tool(None),
                };
                let decision = rules.decide(&entry, token, EntryUse::List);
                assert_eq!(decision.is_allowed, is_allowed);
            }
            let counted = rules.conversions.load(std::sync::atomic::Ordering::Relaxed);
            assert_eq!(counted, conversions);
        }
    }

    #[test]
    fn scopes_and_claims_of_a_token_that_was_not_verified_do_not_count() {
        let entry = RuledEntry {
            upstream: "db",
            exposed_name: "db_query",
            own_name: "query",
            kind: RuledKind::Tool(None),
        };
        let team = "ops".parse().unwrap();
        for conditions in [
            Conditions::new().with_scope("admin"),
            Conditions::new().with_claim("team", team),
        ] {
            let rule = PolicyRule::new(Effect::Allow, conditions);
            let rules = AccessRules::new(Policy::new(vec![rule]).unwrap());
            let mut token = TokenInfo::verified()
                .with_scopes(["admin"])
                .with_claim("team", "ops");
            assert!(rules.decide(&entry, &token, EntryUse::List).is_allowed);
            token.valid = false;
            assert!(!rules.decide(&entry, &token, EntryUse::List).is_allowed);
        }
    }
}
