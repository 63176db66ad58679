//! Shows the lines that an edit changes.

use std::fmt::Write;

use crate::hosts::Host;
use crate::hosts::hidden_values::HiddenValues;
use crate::hosts::hidden_yaml::HiddenYaml;
use crate::hosts::table::Format;

/// Returns the changed lines of a file, with the number of the first one. An edit changes one place, or several that
/// are shown together. Values with secret names are hidden, because the lines may contain entries of other servers.
pub(crate) fn changed_lines(host: &Host, before: &str, after: &str) -> String {
    let (old, new): (Vec<_>, Vec<_>) = (before.lines().collect(), after.lines().collect());
    let same = old.iter().zip(&new).take_while(|(old, new)| old == new);
    let start = same.count();
    let (old, new) = (&old[start..], &new[start..]);
    let same = old.iter().rev().zip(new.iter().rev());
    let end = same.take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[..old.len() - end], &new[..new.len() - end]);
    let mut text = format!("@@ line {} @@\n", start + 1);
    for (sign, lines) in [('-', old), ('+', new)] {
        let mut line_without_secrets = hider(host.format);
        // The name of the first value may be in a line before it.
        for line in before.lines().take(start) {
            line_without_secrets(line);
        }
        for line in lines {
            let line = line_without_secrets(line);
            // A string is always writable.
            let _ = writeln!(text, "{sign}{line}");
        }
    }
    text
}

/// Returns the function that hides the secrets in lines that follow each other.
fn hider(format: Format) -> Box<dyn FnMut(&str) -> String> {
    match format {
        Format::Json | Format::Toml => {
            let mut hidden = HiddenValues::default();
            Box::new(move |line| hidden.line(line))
        }
        Format::Yaml => {
            let mut hidden = HiddenYaml::default();
            Box::new(move |line| hidden.line(line))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changed_lines_are_shown() {
        fn check(before: &str, after: &str, expected: &str) {
            let host = Host::with_id("cursor").expect("the host exists");
            assert_eq!(changed_lines(host, before, after), expected);
        }
        check("a\nb\nd\n", "a\nb\nc\nd\n", "@@ line 3 @@\n+c\n");
        check("a\nb\n", "a\n", "@@ line 2 @@\n-b\n");
        check("", "a\n", "@@ line 1 @@\n+a\n");
        check("a\r\nb\r\n", "a\r\nc\r\n", "@@ line 2 @@\n-b\n+c\n");
        check("a\na\n", "a\n", "@@ line 2 @@\n-a\n");
        check(
            "\"--api-key\",\n\"old\"\n",
            "\"--api-key\",\n\"new\"\n",
            "@@ line 2 @@\n-\"***\"\n+\"***\"\n",
        );
        let other = r#"{"other": {"env": {"API_KEY": "hunter2"}}"#;
        let expected = r#"@@ line 1 @@
-{"other": {"env": {"API_KEY": "***"}}}
+{"other": {"env": {"API_KEY": "***"}}, "demo": {}}
"#;
        check(
            &format!("{other}}}"),
            &format!("{other}, \"demo\": {{}}}}"),
            expected,
        );
        let goose = Host::with_id("goose").expect("the host exists");
        let before = "extensions:\n  a:\n    envs:\n      API_KEY: hunter2\n";
        let shown = changed_lines(goose, before, "extensions:\n");
        let expected = "@@ line 2 @@\n-  a:\n-    envs:\n-      API_KEY: ***\n";
        assert_eq!(shown, expected);
    }
}
