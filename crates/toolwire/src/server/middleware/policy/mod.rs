//! Rules about which caller may use which tools, prompts and resources.

mod rule;

use std::fmt;
use std::sync::Arc;

use toolwire_proto::relay::policy::{Decision, Policy as Rules, PolicyRequest};
use toolwire_types::ErrorObject;

use crate::engine::BoxFuture;
use crate::server::middleware::{Middleware, Next, Outcome, Request};
use crate::server::registry::RegistrationError;

pub use rule::{PolicyConditions, PolicyHint, PolicyRule};

/// Permits or denies the use of tools, prompts and resources.
///
/// The first rule that matches decides. What no rule matches is permitted as long as there are only deny rules, and denied
/// as soon as there is an allow rule. What is denied does not exist for the caller: it is not listed, and a request for it
/// gets the response of an unknown name. A rule about arguments decides when the tool is called, and the tool is listed.
///
/// The rules are evaluated where an entry is looked up: after all middleware, whatever their order, and before the
/// handler. A policy of a mount sees the names of the source. [`Audit`](crate::middleware::Audit) writes the rule that
/// denied a request.
///
/// Pass the policy itself to `with_middleware`. If another middleware contains it, its rules cannot be evaluated, and each
/// request fails with −32603. The server of a relay has no entries of its own, so it accepts no policy: mount the upstream
/// server instead.
///
/// ```
/// use toolwire::Server;
/// use toolwire::middleware::{Policy, PolicyConditions, PolicyHint, PolicyRule};
///
/// let destructive = PolicyConditions::new().with_hint(PolicyHint::Destructive);
/// let admins = PolicyConditions::new().with_scope("admin");
/// let policy = Policy::new([
///     PolicyRule::deny(PolicyConditions::new().with_tool("drop_*")).with_name("never drop"),
///     PolicyRule::deny(destructive).unless(admins),
/// ])?;
/// let server = Server::new("demo", "1.0.0").with_middleware(policy);
/// # drop(server);
/// # Ok::<(), toolwire::RegistrationError>(())
/// ```
///
/// Rules can also be deserialized, for example from a configuration file:
///
/// ```
/// use toolwire::middleware::{Policy, PolicyRule};
///
/// let rules: Vec<PolicyRule> = serde_json::from_str(
///     r#"[{ "deny": { "tool": "*", "hint": "destructive" }, "unless": { "scope": "admin" } },
///         { "name": "public files", "allow": { "tool": "read_*", "argument": { "path": "file", "starts_with": "/public/" } } }]"#,
/// )?;
/// let policy = Policy::new(rules)?;
/// # drop(policy);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Policy(Arc<NamedRules>);

struct NamedRules {
    rules: Rules,
    names: Vec<Option<String>>,
}

impl Policy {
    /// Creates a policy from rules, in the order in which they are tried.
    ///
    /// # Errors
    /// Returns an error if a rule has not exactly one of `allow` and `deny`, if a pattern is empty or longer than 256
    /// bytes, if a scope is not one valid scope, and if there are more than 1024 rules.
    pub fn new(rules: impl IntoIterator<Item = PolicyRule>) -> Result<Self, RegistrationError> {
        let (mut names, mut parsed) = (Vec::new(), Vec::new());
        for rule in rules {
            let label = label(names.len(), rule.name.as_deref());
            parsed.push(rule.parse().map_err(|problem| {
                RegistrationError::new(format!("policy, {label}: {problem}"))
            })?);
            names.push(rule.name);
        }
        let rules = Rules::new(parsed)
            .map_err(|error| RegistrationError::new(format!("policy: {error}")))?;
        Ok(Self(Arc::new(NamedRules { rules, names })))
    }

    pub(crate) fn decide(&self, request: &PolicyRequest<'_>) -> Decision {
        self.0.rules.decide(request)
    }

    /// Returns the rule that decided, in words.
    pub(crate) fn describe(&self, decision: Decision) -> String {
        match decision.rule {
            Some(index) => label(index, self.0.names.get(index).and_then(Option::as_deref)),
            None => "no rule allows it".to_owned(),
        }
    }
}

/// Returns the name of a rule in messages. Rules are counted from 1.
fn label(index: usize, name: Option<&str>) -> String {
    match name {
        Some(name) => name.to_owned(),
        None => format!("rule {}", index + 1),
    }
}

impl Middleware for Policy {
    /// Rejects the request. A registered policy is not part of a chain, so another middleware contains this one, and its
    /// rules would not be evaluated.
    fn handle<'a>(&'a self, request: &'a mut Request, next: Next<'a>) -> BoxFuture<'a, Outcome> {
        drop(next);
        tracing::error!(
            method = request.method(),
            "a policy is inside another middleware; pass the policy itself to `with_middleware`"
        );
        let error = ErrorObject::internal("the policy of the server is not set up correctly");
        Box::pin(std::future::ready(error.into()))
    }

    fn policy(&self) -> Option<&Policy> {
        Some(self)
    }
}

impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Policy")
            .field("rules", &self.0.names.len())
            .finish_non_exhaustive()
    }
}
