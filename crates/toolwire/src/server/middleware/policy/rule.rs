//! The rules of a policy, as code and as configuration.

use serde::Deserialize;
use serde_json::Value;
use toolwire_proto::relay::glob::Glob;
use toolwire_proto::relay::policy::{
    ArgumentCondition, Conditions, Hint, PolicyRule as ParsedRule, language,
};

/// A rule of a [`Policy`](crate::middleware::Policy): what it allows or denies, and its exceptions.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct PolicyRule {
    pub(super) name: Option<String>,
    allow: Option<PolicyConditions>,
    deny: Option<PolicyConditions>,
    unless: Option<PolicyConditions>,
}

impl PolicyRule {
    /// Creates a rule that permits what meets the conditions.
    #[must_use]
    pub fn allow(conditions: PolicyConditions) -> Self {
        Self {
            name: None,
            allow: Some(conditions),
            deny: None,
            unless: None,
        }
    }

    /// Creates a rule that denies what meets the conditions.
    #[must_use]
    pub fn deny(conditions: PolicyConditions) -> Self {
        Self {
            name: None,
            allow: None,
            deny: Some(conditions),
            unless: None,
        }
    }

    /// Sets the exceptions: the rule does not match what meets all of these conditions.
    #[must_use]
    pub fn unless(mut self, exceptions: PolicyConditions) -> Self {
        self.unless = Some(exceptions);
        self
    }

    /// Sets the name of the rule in the audit log. Default: its position, such as `rule 1`.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    pub(super) fn parse(&self) -> Result<ParsedRule, String> {
        let (effect, conditions) = language::effect(self.allow.as_ref(), self.deny.as_ref())?;
        let rule = ParsedRule::new(effect, conditions.parse()?);
        Ok(match &self.unless {
            Some(exceptions) => rule.unless(exceptions.parse()?),
            None => rule,
        })
    }
}

/// The conditions of a rule, all of which must hold. Without conditions, a rule matches everything.
///
/// In patterns, `*` stands for any text and `?` for one character.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct PolicyConditions {
    upstream: Option<String>,
    tool: Option<String>,
    hint: Option<PolicyHint>,
    principal: Option<String>,
    scope: Option<String>,
    claim: Option<ClaimConfig>,
    argument: Option<ArgumentConfig>,
}

/// A hint in the annotations of a tool. A tool without the hint has the default of the specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
#[non_exhaustive]
pub enum PolicyHint {
    /// The tool changes nothing.
    ReadOnly,
    /// The tool may delete or overwrite. This is the default of tools that are not read-only.
    Destructive,
    /// Calling it again changes nothing more.
    Idempotent,
    /// The tool uses external systems. This is the default.
    OpenWorld,
}

impl TryFrom<String> for PolicyHint {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        Ok(match language::hint(&name)? {
            Hint::ReadOnly => Self::ReadOnly,
            Hint::Idempotent => Self::Idempotent,
            Hint::OpenWorld => Self::OpenWorld,
            Hint::Destructive => Self::Destructive,
            _ => return Err(format!("the hint `{name}` is not supported here")),
        })
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClaimConfig {
    name: String,
    value: String,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct ArgumentConfig {
    path: ArgumentPath,
    equals: Option<Value>,
    starts_with: Option<String>,
    matches: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
enum ArgumentPath {
    Text(String),
    Names(Vec<String>),
}

impl PolicyConditions {
    /// Creates conditions that always hold.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Requires the name of the mount that the entry comes from to match a pattern. Entries of the server itself have the
    /// empty name.
    #[must_use]
    pub fn with_upstream(mut self, pattern: impl Into<String>) -> Self {
        self.upstream = Some(pattern.into());
        self
    }

    /// Requires the name of the tool or prompt, or the URI of the resource, to match a pattern.
    ///
    /// A deny rule also matches the name that the source of a mount has for it. An allow rule does so only if it requires an
    /// upstream. Otherwise a source could choose names that are allowed for another one.
    #[must_use]
    pub fn with_tool(mut self, pattern: impl Into<String>) -> Self {
        self.tool = Some(pattern.into());
        self
    }

    /// Requires a tool with this hint. Prompts and resources do not meet the condition.
    #[must_use]
    pub fn with_hint(mut self, hint: PolicyHint) -> Self {
        self.hint = Some(hint);
        self
    }

    /// Requires the subject of the caller's token to match a pattern. If the server accepts tokens of several issuers, also
    /// require the claim `iss`.
    #[must_use]
    pub fn with_principal(mut self, pattern: impl Into<String>) -> Self {
        self.principal = Some(pattern.into());
        self
    }

    /// Requires a scope of the caller. On transports without tokens (stdio, in process), every caller has every scope.
    #[must_use]
    pub fn with_scope(mut self, scope: impl Into<String>) -> Self {
        self.scope = Some(scope.into());
        self
    }

    /// Requires a claim of the caller's token, or an element of a list in it, to match a pattern.
    #[must_use]
    pub fn with_claim(mut self, name: impl Into<String>, pattern: impl Into<String>) -> Self {
        self.claim = Some(ClaimConfig {
            name: name.into(),
            value: pattern.into(),
        });
        self
    }

    /// Requires an argument of the call to have a value. The path has the names of members, from the arguments inwards.
    #[must_use]
    pub fn with_argument<N: Into<String>>(
        mut self,
        path: impl IntoIterator<Item = N>,
        value: impl Into<Value>,
    ) -> Self {
        let argument = ArgumentConfig::at(path);
        self.argument = Some(ArgumentConfig {
            equals: Some(value.into()),
            ..argument
        });
        self
    }

    /// Requires an argument of the call to be text that starts with this one. Text with a segment `..` meets the condition
    /// of a deny rule, and not that of an allow rule.
    #[must_use]
    pub fn with_argument_start<N: Into<String>>(
        mut self,
        path: impl IntoIterator<Item = N>,
        start: impl Into<String>,
    ) -> Self {
        let argument = ArgumentConfig::at(path);
        self.argument = Some(ArgumentConfig {
            starts_with: Some(start.into()),
            ..argument
        });
        self
    }

    fn parse(&self) -> Result<Conditions, String> {
        let mut conditions = Conditions::new();
        if let Some(upstream) = &self.upstream {
            conditions = conditions.with_upstream(glob("upstream", upstream)?);
        }
        if let Some(tool) = &self.tool {
            conditions = conditions.with_tool(glob("tool", tool)?);
        }
        if let Some(hint) = self.hint {
            conditions = conditions.with_hint(match hint {
                PolicyHint::ReadOnly => Hint::ReadOnly,
                PolicyHint::Destructive => Hint::Destructive,
                PolicyHint::Idempotent => Hint::Idempotent,
                PolicyHint::OpenWorld => Hint::OpenWorld,
            });
        }
        if let Some(principal) = &self.principal {
            conditions = conditions.with_principal(glob("principal", principal)?);
        }
        if let Some(scope) = &self.scope {
            let scope = language::scope(scope).map_err(|problem| format!("`scope`: {problem}"))?;
            conditions = conditions.with_scope(scope);
        }
        if let Some(claim) = &self.claim {
            let value = glob("claim", &claim.value)?;
            conditions = conditions.with_claim(&claim.name, value);
        }
        if let Some(argument) = &self.argument {
            conditions = conditions.with_argument(argument.parse()?);
        }
        Ok(conditions)
    }
}

impl ArgumentConfig {
    fn at<N: Into<String>>(path: impl IntoIterator<Item = N>) -> Self {
        Self {
            path: ArgumentPath::Names(path.into_iter().map(Into::into).collect()),
            equals: None,
            starts_with: None,
            matches: None,
        }
    }

    fn parse(&self) -> Result<ArgumentCondition, String> {
        let pattern = self.matches.as_ref();
        let pattern = pattern
            .map(|pattern| glob("argument", pattern))
            .transpose()?;
        let test = language::argument_test(self.equals.clone(), self.starts_with.clone(), pattern)?;
        Ok(match &self.path {
            ArgumentPath::Text(text) => ArgumentCondition::new(language::argument_path(text), test),
            ArgumentPath::Names(names) => ArgumentCondition::new(names, test),
        })
    }
}

fn glob(member: &str, pattern: &str) -> Result<Glob, String> {
    pattern
        .parse()
        .map_err(|error| format!("`{member}`: {error}"))
}
