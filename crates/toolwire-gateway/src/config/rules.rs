//! `[[rule]]`: who may use what.

use toolwire_proto::relay::policy::{
    ArgumentCondition, Conditions, MAX_RULES, Policy, PolicyRule, language,
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
    let Ok((effect, conditions)) = language::effect(section.take("allow"), section.take("deny"))
    else {
        return Err(only_one);
    };
    let rule = PolicyRule::new(effect, read_conditions(conditions)?);
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
        let known = language::hint(&hint.text()?);
        let known = known.or_else(|_| hint.one_of(&language::HINTS))?;
        conditions = conditions.with_hint(known);
    }
    if let Some(principal) = section.take("principal") {
        conditions = conditions.with_principal(principal.pattern()?);
    }
    if let Some(scope) = section.take("scope") {
        let text = scope.text()?;
        let checked = language::scope(&text);
        let checked =
            checked.map_err(|problem| scope.error(format_args!("is invalid: {problem}")))?;
        conditions = conditions.with_scope(checked);
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
    let test = language::argument_test(
        equals.as_ref().map(Field::json).transpose()?,
        starts_with.as_ref().map(Field::text).transpose()?,
        matches.as_ref().map(Field::pattern).transpose()?,
    );
    let (Ok(test), Some(path)) = (test, path) else {
        return Err(incomplete);
    };
    let path = path.text()?;
    section.finish()?;
    Ok(ArgumentCondition::new(language::argument_path(&path), test))
}
