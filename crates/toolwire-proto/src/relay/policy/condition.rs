//! The conditions of a rule.

use serde_json::Value;
use serde_json::value::RawValue;

use crate::param_members::RawMember;
use crate::raw_object::{RawArray, RawObject};
use crate::relay::glob::Glob;
use crate::relay::policy::uri::{UriPattern, may_start, starts_surely};
use crate::relay::policy::{Arguments, PolicyRequest};

/// Whether a condition holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Knowledge {
    True,
    False,
    /// It depends on arguments that are not known.
    Unknown,
}

impl Knowledge {
    /// Returns the default if nothing is known.
    pub(super) fn or(self, default: Self) -> Self {
        match self {
            Self::Unknown => default,
            known => known,
        }
    }

    pub(super) fn not(self) -> Self {
        match self {
            Self::True => Self::False,
            Self::False => Self::True,
            Self::Unknown => Self::Unknown,
        }
    }

    /// Returns whether both conditions hold.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::False, _) | (_, Self::False) => Self::False,
            (Self::True, Self::True) => Self::True,
            _ => Self::Unknown,
        }
    }
}

impl From<bool> for Knowledge {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

/// The side on which a doubtful condition errs: a rule that allows matches less, a rule that denies matches more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strictness {
    Allow,
    Deny,
}

impl Strictness {
    fn matches(self, pattern: &UriPattern, text: &str) -> bool {
        match self {
            Self::Allow => pattern.matches_surely(text),
            Self::Deny => pattern.may_match(text),
        }
    }

    fn starts(self, text: &str, start: &str) -> bool {
        match self {
            Self::Allow => starts_surely(text, start),
            Self::Deny => may_start(text, start),
        }
    }
}

/// A hint in the annotations of a tool. A tool without the hint has the default of the specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hint {
    /// The tool changes nothing. Default: no.
    ReadOnly,
    /// The tool may delete or overwrite. Default: yes, unless it is read-only.
    Destructive,
    /// Calling it again changes nothing more. Default: no.
    Idempotent,
    /// The tool uses external systems. Default: yes.
    OpenWorld,
}

impl Hint {
    /// Returns `true` if the hint applies to a tool with these annotations.
    ///
    /// Spec 2025-11-25, schema, `ToolAnnotations`.
    #[must_use]
    pub fn applies(self, annotations: Option<&RawValue>) -> bool {
        let annotations = annotations.and_then(RawObject::parse);
        let flag = |name: &str, default: bool| {
            let value = annotations.as_ref().and_then(|object| object.get(name));
            match value.map(RawMember::get) {
                Some("true") => true,
                Some("false") => false,
                _ => default,
            }
        };
        match self {
            Self::ReadOnly => flag("readOnlyHint", false),
            Self::Destructive => !flag("readOnlyHint", false) && flag("destructiveHint", true),
            Self::Idempotent => flag("idempotentHint", false),
            Self::OpenWorld => flag("openWorldHint", true),
        }
    }
}

/// The conditions of a rule, all of which must hold. No conditions always hold.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conditions {
    upstream: Option<Glob>,
    tool: Option<UriPattern>,
    hint: Option<Hint>,
    principal: Option<Glob>,
    scope: Option<String>,
    claim: Option<(String, Glob)>,
    argument: Option<ArgumentCondition>,
}

impl Conditions {
    /// Creates conditions that always hold.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Requires a name of the upstream.
    #[must_use]
    pub fn with_upstream(mut self, upstream: Glob) -> Self {
        self.upstream = Some(upstream);
        self
    }

    /// Requires a name of the tool or prompt, or a URI of the resource. URIs are compared as [`uri`](crate::relay::policy::uri)
    /// describes.
    ///
    /// A deny rule matches the exposed name and the upstream's own name. An allow rule matches the own name only if it
    /// also requires an upstream: otherwise an upstream could choose names that are allowed for another one.
    #[must_use]
    pub fn with_tool(mut self, tool: Glob) -> Self {
        self.tool = Some(UriPattern::new(tool));
        self
    }

    /// Requires a tool with this hint. Prompts and resources have no hints.
    #[must_use]
    pub fn with_hint(mut self, hint: Hint) -> Self {
        self.hint = Some(hint);
        self
    }

    /// Requires a principal. Anonymous callers have none.
    #[must_use]
    pub fn with_principal(mut self, principal: Glob) -> Self {
        self.principal = Some(principal);
        self
    }

    /// Requires a scope of the caller.
    #[must_use]
    pub fn with_scope(mut self, scope: impl Into<String>) -> Self {
        self.scope = Some(scope.into());
        self
    }

    /// Requires a claim in the caller's token: a string, number or boolean, or a list with one of them.
    #[must_use]
    pub fn with_claim(mut self, name: impl Into<String>, value: Glob) -> Self {
        self.claim = Some((name.into(), value));
        self
    }

    /// Requires an argument of the call.
    #[must_use]
    pub fn with_argument(mut self, argument: ArgumentCondition) -> Self {
        self.argument = Some(argument);
        self
    }

    pub(super) fn hold(&self, request: &PolicyRequest<'_>, strictness: Strictness) -> Knowledge {
        let is_met =
            self.upstream_holds(request) && self.caller_holds(request) && self.hint_holds(request);
        if !is_met {
            return Knowledge::False;
        }
        let tool = self.name_holds(request, strictness);
        let argument = match (&self.argument, request.arguments) {
            (None, _) => Knowledge::True,
            (Some(_), Arguments::Unknown) => Knowledge::Unknown,
            (Some(_), Arguments::Absent) => Knowledge::False,
            (Some(argument), Arguments::Known(arguments)) => {
                Knowledge::from(argument.holds(arguments, strictness))
            }
        };
        tool.and(argument)
    }

    /// Returns whether the name matches. The URIs of a template are not known.
    fn name_holds(&self, request: &PolicyRequest<'_>, strictness: Strictness) -> Knowledge {
        let holds = self.tool_holds(request, strictness);
        let may_hold = |tool: &UriPattern| {
            tool.may_match_template(request.exposed_name)
                || tool.may_match_template(request.own_name)
        };
        if !holds && request.is_template && self.tool.as_ref().is_some_and(may_hold) {
            return Knowledge::Unknown;
        }
        Knowledge::from(holds)
    }

    pub(super) fn depend_on_caller(&self) -> bool {
        self.principal.is_some() || self.scope.is_some() || self.claim.is_some()
    }

    fn upstream_holds(&self, request: &PolicyRequest<'_>) -> bool {
        let upstream = self.upstream.as_ref();
        upstream.is_none_or(|upstream| upstream.matches(request.upstream))
    }

    fn tool_holds(&self, request: &PolicyRequest<'_>, strictness: Strictness) -> bool {
        let reads_own_name = strictness == Strictness::Deny || self.upstream.is_some();
        self.tool.as_ref().is_none_or(|tool| {
            strictness.matches(tool, request.exposed_name)
                || (reads_own_name && strictness.matches(tool, request.own_name))
                || (strictness == Strictness::Deny
                    && request.template.is_some_and(|(exposed, own)| {
                        tool.may_match(exposed) || tool.may_match(own)
                    }))
        })
    }

    fn hint_holds(&self, request: &PolicyRequest<'_>) -> bool {
        self.hint
            .is_none_or(|hint| request.tool.is_some_and(|tool| hint.applies(tool)))
    }

    fn caller_holds(&self, request: &PolicyRequest<'_>) -> bool {
        let principal = self.principal.as_ref().is_none_or(|expected| {
            let principal = request.principal;
            principal.is_some_and(|principal| expected.matches(principal))
        });
        let scope = self.scope.as_ref().is_none_or(|scope| {
            let scopes = request.scopes;
            request.has_every_scope || scopes.is_some_and(|scopes| scopes.contains(scope))
        });
        let claim = self.claim.as_ref().is_none_or(|(name, expected)| {
            let claims = request.claims.and_then(RawObject::parse);
            let claim = claims.as_ref().and_then(|claims| claims.get(name));
            claim.is_some_and(|claim| claim_matches(claim.raw(), expected))
        });
        principal && scope && claim
    }
}

fn claim_matches(claim: &RawValue, expected: &Glob) -> bool {
    match RawArray::parse(claim) {
        Some(list) => list.iter().any(|element| {
            !element.get().starts_with('[') && claim_matches(element.raw(), expected)
        }),
        None => {
            let member = RawMember::checked(claim.get());
            match member.text() {
                Some(text) => expected.matches(&text),
                None => !member.is_object() && expected.matches(member.get()),
            }
        }
    }
}

/// A condition on one argument of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct ArgumentCondition {
    path: Vec<String>,
    test: ArgumentTest,
}

/// The comparison of an argument. An argument of another type, or a missing one, fails each of them.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ArgumentTest {
    /// The argument is this value. Numbers are compared by value.
    Equals(Value),
    /// The argument is text that starts with this one. Paths and URIs are compared as
    /// [`uri`](crate::relay::policy::uri) describes: text with a segment `..` passes no allow rule.
    StartsWith(String),
    /// The argument is text that matches this pattern. Paths and URIs are compared like those of `StartsWith`.
    Matches(UriPattern),
}

impl ArgumentCondition {
    /// Creates a condition. The path has the names of members, from the arguments inwards: `["file", "path"]`.
    #[must_use]
    pub fn new<N: Into<String>>(path: impl IntoIterator<Item = N>, test: ArgumentTest) -> Self {
        Self {
            path: path.into_iter().map(Into::into).collect(),
            test,
        }
    }

    fn holds(&self, arguments: &RawValue, strictness: Strictness) -> bool {
        let mut value = RawMember::checked(arguments.get());
        for name in &self.path {
            let Some(inner) = member(value, name) else {
                return false;
            };
            value = inner;
        }
        match &self.test {
            ArgumentTest::Equals(expected) => serde_json::from_str::<Value>(value.get())
                .is_ok_and(|actual| is_equal(&actual, expected)),
            ArgumentTest::StartsWith(start) => value
                .text()
                .is_some_and(|text| strictness.starts(&text, start)),
            ArgumentTest::Matches(pattern) => value
                .text()
                .is_some_and(|text| strictness.matches(pattern, &text)),
        }
    }
}

/// Returns the member of an object.
fn member<'a>(object: RawMember<'a>, name: &str) -> Option<RawMember<'a>> {
    let mut members = crate::strict_json::walk::object_members(object.get())?;
    let (_, value) = members.find(|(member, _)| member.means(name))?;
    Some(RawMember::checked(value))
}

fn is_equal(actual: &Value, expected: &Value) -> bool {
    match (actual.as_f64(), expected.as_f64()) {
        (Some(one), Some(other)) => one == other,
        _ => actual == expected,
    }
}
