//! The policy of a relay: which caller may use which tools, prompts and resources of which upstreams.
//!
//! The first rule that matches decides. If no rule matches, the request is permitted as long as there are only deny
//! rules, and denied as soon as there is an allow rule. A denied tool looks like an unknown one, in lists and in calls,
//! so the same policy decides both. The relay evaluates it before it contacts the upstream.

mod condition;
pub mod language;
#[cfg(test)]
mod tests;
pub mod uri;

use std::fmt;

use serde_json::value::RawValue;

pub use self::condition::{ArgumentCondition, ArgumentTest, Conditions, Hint};
use self::condition::{Knowledge, Strictness};
use crate::scopes::ScopeSet;

/// The maximum number of rules of a policy.
pub const MAX_RULES: usize = 1024;

/// The effect of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a rule has one of two effects")]
pub enum Effect {
    /// The request is permitted.
    Allow,
    /// The request is denied.
    Deny,
}

/// One rule of a policy.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyRule {
    effect: Effect,
    conditions: Conditions,
    exceptions: Option<Conditions>,
}

impl PolicyRule {
    /// Creates a rule that matches if all conditions hold.
    #[must_use]
    pub fn new(effect: Effect, conditions: Conditions) -> Self {
        Self {
            effect,
            conditions,
            exceptions: None,
        }
    }

    /// Adds exceptions: the rule does not match if all of them hold.
    #[must_use]
    pub fn unless(mut self, exceptions: Conditions) -> Self {
        self.exceptions = Some(exceptions);
        self
    }

    /// Returns `true` if the rule decides about a request.
    ///
    /// In a list, the arguments are not known. There a rule matches in favor of the caller, because some calls may be
    /// permitted.
    fn matches(&self, request: &PolicyRequest<'_>) -> bool {
        let (strictness, for_exceptions) = match self.effect {
            Effect::Allow => (Strictness::Allow, Strictness::Deny),
            Effect::Deny => (Strictness::Deny, Strictness::Allow),
        };
        let favorable = match self.effect {
            Effect::Allow => Knowledge::True,
            Effect::Deny => Knowledge::False,
        };
        let holds = self.conditions.hold(request, strictness);
        if holds.or(favorable) == Knowledge::False {
            return false;
        }
        self.exceptions.as_ref().is_none_or(|exceptions| {
            let unfavorable = favorable.not();
            exceptions.hold(request, for_exceptions).or(unfavorable) == Knowledge::False
        })
    }
}

/// What a caller wants to use.
#[derive(Debug, Clone, Copy)]
pub struct PolicyRequest<'a> {
    upstream: &'a str,
    exposed_name: &'a str,
    own_name: &'a str,
    /// The template of a resource, exposed and at the upstream.
    template: Option<(&'a str, &'a str)>,
    /// Whether the entry is a template in a list, so that any of its URIs are possible.
    is_template: bool,
    /// Set for a tool, with its annotations.
    tool: Option<Option<&'a RawValue>>,
    principal: Option<&'a str>,
    scopes: Option<&'a ScopeSet>,
    has_every_scope: bool,
    claims: Option<&'a RawValue>,
    arguments: Arguments<'a>,
}

/// The arguments of a request.
#[derive(Debug, Clone, Copy)]
enum Arguments<'a> {
    /// The request is a list, so that any arguments are possible.
    Unknown,
    Absent,
    Known(&'a RawValue),
}

impl<'a> PolicyRequest<'a> {
    /// Creates the entry of a list: a tool, prompt or resource of an upstream, with the name that the relay exposes, and
    /// its name at the upstream.
    #[must_use]
    pub fn entry(upstream: &'a str, exposed_name: &'a str, own_name: &'a str) -> Self {
        Self {
            upstream,
            exposed_name,
            own_name,
            template: None,
            is_template: false,
            tool: None,
            principal: None,
            scopes: None,
            has_every_scope: false,
            claims: None,
            arguments: Arguments::Unknown,
        }
    }

    /// Makes the entry of a list a template, whose text is the name. It is listed if a rule may permit one of its URIs.
    #[must_use]
    pub fn of_template(mut self) -> Self {
        self.is_template = true;
        self
    }

    /// Sets the template that the URI of a resource matches: the exposed text, and the text at the upstream. Deny rules
    /// match it like the URI, so that a denied template cannot be used.
    #[must_use]
    pub fn with_template(mut self, exposed: &'a str, own: &'a str) -> Self {
        self.template = Some((exposed, own));
        self
    }

    /// Makes the entry a tool with these annotations. For prompts and resources, no condition on a hint holds.
    #[must_use]
    pub fn with_annotations(mut self, annotations: Option<&'a RawValue>) -> Self {
        self.tool = Some(annotations);
        self
    }

    /// Sets the caller: its principal, its scopes, and the claims of its token as an object.
    #[must_use]
    pub fn with_caller(
        mut self,
        principal: Option<&'a str>,
        scopes: Option<&'a ScopeSet>,
        claims: Option<&'a RawValue>,
    ) -> Self {
        self.principal = principal;
        self.scopes = scopes;
        self.claims = claims;
        self
    }

    /// Gives the caller every scope, for transports that identify no callers.
    #[must_use]
    pub fn with_every_scope(mut self) -> Self {
        self.has_every_scope = true;
        self
    }

    /// Makes the request a call with these arguments.
    #[must_use]
    pub fn with_arguments(mut self, arguments: Option<&'a RawValue>) -> Self {
        self.arguments = arguments.map_or(Arguments::Absent, Arguments::Known);
        self
    }
}

/// The decision of a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decision {
    /// Whether the request is permitted.
    pub is_allowed: bool,
    /// The index of the rule that decided. `None` if no rule matched.
    pub rule: Option<usize>,
}

impl Decision {
    /// Returns the decision about what does not exist: no rule is needed to deny it.
    #[must_use]
    pub fn denied() -> Self {
        Self {
            is_allowed: false,
            rule: None,
        }
    }
}

/// The rules of a relay, in order.
///
/// ```
/// use toolwire_proto::relay::policy::{Conditions, Effect, Policy, PolicyRequest, PolicyRule};
///
/// let conditions = Conditions::new().with_tool("drop_*".parse().unwrap());
/// let policy = Policy::new(vec![PolicyRule::new(Effect::Deny, conditions)]).unwrap();
/// assert!(!policy.decide(&PolicyRequest::entry("db", "db_drop_table", "drop_table")).is_allowed);
/// assert!(policy.decide(&PolicyRequest::entry("db", "db_query", "query")).is_allowed);
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Policy {
    rules: Vec<PolicyRule>,
}

impl Policy {
    /// Creates a policy.
    ///
    /// # Errors
    /// Returns an error if there are more than [`MAX_RULES`] rules.
    pub fn new(rules: Vec<PolicyRule>) -> Result<Self, TooManyRules> {
        if rules.len() > MAX_RULES {
            return Err(TooManyRules(()));
        }
        Ok(Self { rules })
    }

    /// Decides about a request.
    #[must_use]
    pub fn decide(&self, request: &PolicyRequest<'_>) -> Decision {
        let rule = self.rules.iter().position(|rule| rule.matches(request));
        let is_allowed = match rule {
            Some(index) => self.rules[index].effect == Effect::Allow,
            None => !self.has_allow_rule(),
        };
        Decision { is_allowed, rule }
    }

    /// Returns `true` if different callers may see different lists, so that lists are private to a caller.
    #[must_use]
    pub fn depends_on_caller(&self) -> bool {
        self.rules.iter().any(|rule| {
            let exceptions = rule.exceptions.iter();
            exceptions
                .chain([&rule.conditions])
                .any(Conditions::depend_on_caller)
        })
    }

    fn has_allow_rule(&self) -> bool {
        self.rules.iter().any(|rule| rule.effect == Effect::Allow)
    }
}

/// A policy with more than [`MAX_RULES`] rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyRules(());

impl fmt::Display for TooManyRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a policy has at most {MAX_RULES} rules; use patterns such as `get_*` to combine them"
        )
    }
}

impl std::error::Error for TooManyRules {}
