//! Replaces `${NAME}` in the texts of a configuration by environment variables.

/// Why a text cannot be expanded. It has the name of the variable, and no value.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct VariableProblem {
    pub(super) message: String,
    pub(super) advice: String,
}

/// Returns the text with the values of its variables. `$${` stands for `${`.
pub(super) fn expand(
    text: &str,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<String, VariableProblem> {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, from) = rest.split_at(at);
        if let Some(before) = before.strip_suffix('$') {
            expanded.push_str(before);
            expanded.push_str("${");
            rest = &from[2..];
            continue;
        }
        expanded.push_str(before);
        let Some((name, after)) = from[2..].split_once('}') else {
            return Err(VariableProblem {
                message: "a `}` after `${`".to_owned(),
                advice: "write ${NAME}, or $${ for the characters themselves".to_owned(),
            });
        };
        let value = environment(name).ok_or_else(|| VariableProblem {
            message: format!("the environment variable {name}, which is not set"),
            advice: format!("set {name} before the gateway starts"),
        })?;
        expanded.push_str(&value);
        rest = after;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_replaced() {
        let environment = |name: &str| (name == "KEY").then(|| "${KEY}".to_owned());
        let check = |text: &str, expected: &str| {
            assert_eq!(expand(text, &environment).unwrap(), expected, "{text}");
        };
        check("plain $5 {x}", "plain $5 {x}");
        check("a${KEY}b", "a${KEY}b");
        check("$${KEY}", "${KEY}");
        check("$$${KEY}", "$${KEY}");
    }

    #[test]
    fn missing_variable_is_named() {
        let problem = expand("x${NO_KEY}", &|_| None).unwrap_err();
        assert!(problem.message.contains("NO_KEY"), "{problem:?}");
        assert!(expand("${KEY", &|_| None).is_err());
    }
}
