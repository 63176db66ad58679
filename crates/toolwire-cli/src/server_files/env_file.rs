//! Reads the variables of an `envFile`.

use std::path::Path;

use crate::failure::Failure;

/// Returns the variables of a file in their order.
pub(super) fn read(path: &Path) -> Result<Vec<(String, String)>, Failure> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::usage(format!("its envFile {shown} cannot be read: {error}"))
            .with_advice("check the path; a relative one starts at the folder of the project")
    })?;
    parse(&text).map_err(|line| {
        Failure::usage(format!("line {line} of its envFile {shown} is invalid"))
            .with_advice("write each variable as NAME=value")
    })
}

/// Parses lines of the form `NAME=value`. Returns the number of the first invalid line as an error.
fn parse(text: &str) -> Result<Vec<(String, String)>, usize> {
    let mut variables = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = line.split_once('=').ok_or(number)?;
        let name = name.trim();
        if name.is_empty() || name.contains(char::is_whitespace) {
            return Err(number);
        }
        let value = value_of(value.trim()).ok_or(number)?;
        variables.push((name.to_owned(), value));
    }
    Ok(variables)
}

/// Returns the value without its quotes or its comment. Returns `None` if a quote is not closed.
fn value_of(text: &str) -> Option<String> {
    if let Some(quoted) = text.strip_prefix('\'') {
        return Some(quoted.split_once('\'')?.0.to_owned());
    }
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(" #").unwrap_or(text.len());
        return Some(text[..end].trim_end().to_owned());
    };
    let mut value = String::new();
    let mut characters = quoted.chars();
    loop {
        match characters.next()? {
            '"' => return Some(value),
            '\\' => value.push(match characters.next()? {
                'n' => '\n',
                't' => '\t',
                other => other,
            }),
            character => value.push(character),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_read() {
        fn check(text: &str, expected: &[(&str, &str)]) {
            let parsed = parse(text).expect(text);
            let parsed: Vec<_> = parsed
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect();
            assert_eq!(parsed, expected, "{text}");
        }
        check("# comment\n\nA=1\n", &[("A", "1")]);
        check("export A = x y # z\nB=", &[("A", "x y"), ("B", "")]);
        check(
            "A='x # y'\r\nB=\"a\\nb\\\"\" # c",
            &[("A", "x # y"), ("B", "a\nb\"")],
        );
        check("A=https://x/#y?a=b", &[("A", "https://x/#y?a=b")]);
    }

    #[test]
    fn invalid_lines_are_numbered() {
        for text in ["A=1\nno value", "A=1\n=2", "A=1\nB='x", "A=1\nB C=2"] {
            assert_eq!(parse(text), Err(2), "{text}");
        }
    }
}
