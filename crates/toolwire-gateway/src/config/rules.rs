//! `[[rule]]`: who may use what.

use toolwire_proto::relay::policy::{
    ArgumentCondition, ArgumentTest, Conditions, Effect, Hint, MAX_RULES, Policy, PolicyRule,
};

use crate::config::ConfigError;
use crate::config::section::Field;

/// Reads all rules, in their order.
pub(super) fn read(field: Field<'_>) -> Result<Policy, ConfigError> {
    let too_many = field.error(format_args!("has more than {MAX_RULES} elements"));
    let rules = field.list(MAX_RULES)?;
    let rules: Result<Vec<PolicyRule>, ConfigError> = rules.into_iter().map(read_rule).collect();
    Policy::new(rules?).map_err(|_| too_many)
}

fn read_rule(field: Field<'_>) -> Result<PolicyRule, ConfigError> {
    let only_one = field
        .error("needs exactly one of `allow` and `deny`")
        .with_advice("write deny = { tool = \"delete_*\" }");
    let mut section = field.section()?;
    let rule = match (section.take("allow"), section.take("deny")) {
        (Some(allow), None) => PolicyRule::new(Effect::Allow, read_conditions(allow)?),
        (None, Some(deny)) => PolicyRule::new(Effect::Deny, read_conditions(deny)?),
        _ => return Err(only_one),
    };
    let rule = match section.take("unless") {
        Some(unless) => rule.unless(read_conditions(unless)?),
        None => rule,
    };
    section.finish()?;
    Ok(rule)
}

fn read_conditions(field: Field<'_>) -> Result<Conditions, ConfigError> {
    let mut section = field.section()?;
    let mut conditions = Conditions::new();
    if let Some(upstream) = section.take("upstream") {
        conditions = conditions.with_upstream(upstream.pattern()?);
    }
    if let Some(tool) = section.take("tool") {
        conditions = conditions.with_tool(tool.pattern()?);
    }
    if let Some(hint) = section.take("hint") {
        let hints = [
            ("read-only", Hint::ReadOnly),
            ("destructive", Hint::Destructive),
            ("idempotent", Hint::Idempotent),
            ("open-world", Hint::OpenWorld),
        ];
        conditions = conditions.with_hint(hint.one_of(&hints)?);
    }
    if let Some(principal) = section.take("principal") {
        conditions = conditions.with_principal(principal.pattern()?);
    }
    if let Some(scope) = section.take("scope") {
        conditions = conditions.with_scope(scope.text()?);
    }
    if let Some(claim) = section.take("claim") {
        let missing = claim.error("needs `name` and `value`");
        let mut claim = claim.section()?;
        let (Some(name), Some(value)) = (claim.take("name"), claim.take("value")) else {
            return Err(missing);
        };
        conditions = conditions.with_claim(name.text()?, value.pattern()?);
        claim.finish()?;
    }
    if let Some(argument) = section.take("argument") {
        conditions = conditions.with_argument(read_argument(argument)?);
    }
    section.finish()?;
    Ok(conditions)
}

fn read_argument(field: Field<'_>) -> Result<ArgumentCondition, ConfigError> {
    let incomplete = field
        .error("needs `path`, and one of `equals`, `starts_with` and `matches`")
        .with_advice("write argument = { path = \"file.path\", starts_with = \"/public/\" }");
    let mut section = field.section()?;
    let path = section.take("path");
    let equals = section.take("equals");
    let starts_with = section.take("starts_with");
    let matches = section.take("matches");
    let test = match (equals, starts_with, matches) {
        (Some(value), None, None) => ArgumentTest::Equals(value.json()?),
        (None, Some(start), None) => ArgumentTest::StartsWith(start.text()?),
        (None, None, Some(pattern)) => ArgumentTest::Matches(pattern.pattern()?.into()),
        _ => return Err(incomplete),
    };
    let Some(path) = path else {
        return Err(incomplete);
    };
    let path = path.text()?;
    section.finish()?;
    Ok(ArgumentCondition::new(path.split('.'), test))
}
