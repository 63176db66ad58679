//! Requires imports from the crate root, so that they are the same in every file.

use super::super::source::{Source, numbered};
use super::super::{File, Finding};

/// Finds `super::` in shipped code.
pub(super) fn check(file: &File, source: &Source) -> Vec<Finding> {
    numbered(&source.shipped_code)
        .filter(|(_, code)| code.contains("super::"))
        .map(|(line, _)| file.finding(line, "`super::`: write the path from `crate::`"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_paths_are_found() {
        let text = "use super::a;\nuse crate::b;\n#[cfg(test)]\nmod tests { use super::*; }";
        let file = File {
            path: "crates/a/src/x.rs".to_owned(),
            text: text.to_owned(),
        };
        let found = check(&file, &Source::new(text));
        let lines: Vec<usize> = found.iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [1]);
    }
}
