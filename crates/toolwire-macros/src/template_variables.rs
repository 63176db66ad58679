//! Parses the variable names of a URI template (RFC 6570).

use syn::{Error, LitStr, Result};

/// Returns the variables of `template`, in the order of their first appearance.
pub(crate) fn variables(template: &LitStr) -> Result<Vec<String>> {
    names(&template.value()).map_err(|message| Error::new_spanned(template, message))
}

fn names(template: &str) -> std::result::Result<Vec<String>, String> {
    let mut names: Vec<String> = Vec::new();
    let mut rest = template;
    while let Some(start) = rest.find(['{', '}']) {
        let after = &rest[start + 1..];
        if rest.as_bytes()[start] == b'}' {
            return Err("the template closes a `}` that was not opened".to_owned());
        }
        let end = after
            .find(['{', '}'])
            .filter(|&end| after.as_bytes()[end] == b'}');
        let Some(end) = end else {
            return Err("the template opens a `{` that is not closed".to_owned());
        };
        let expression = &after[..end];
        let expression = expression
            .strip_prefix(['+', '#', '.', '/', ';', '?', '&'])
            .unwrap_or(expression);
        for specification in expression.split(',') {
            let name = specification.split(['*', ':']).next().unwrap_or_default();
            let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_.%".contains(&byte);
            if name.is_empty() || !name.bytes().all(is_name) {
                return Err(format!("`{{{}}}` does not name a variable", &after[..end]));
            }
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        rest = &after[end + 1..];
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(template: &str, expected: &str) {
        let outcome = names(template).map_or_else(|message| message, |names| names.join(" "));
        assert_eq!(outcome, expected, "{template}");
    }

    #[test]
    fn variables_are_listed_once_without_operators_and_modifiers() {
        check("notes://all", "");
        check("notes://{name}", "name");
        check("file://{+path}{?query,page*}{&query}", "path query page");
        check("a://{name:3}/{a.b}/{x%20y}", "name a.b x%20y");
    }

    #[test]
    fn malformed_templates_are_rejected() {
        check("a://{name", "the template opens a `{` that is not closed");
        check("a://{a{b}}", "the template opens a `{` that is not closed");
        check("a://name}", "the template closes a `}` that was not opened");
        check("a://{}", "`{}` does not name a variable");
        check("a://{?a,}", "`{?a,}` does not name a variable");
        check("a://{a b}", "`{a b}` does not name a variable");
    }
}
