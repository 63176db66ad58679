//! The layers of the `toolwire` crate: a module uses only itself and modules of the layers below.
//!
//! The rule reads `crate::` paths in shipped code. `super::` stays within a module in this project.

use super::source::{Source, line_at};
use super::{File, Finding, code};

const CRATE: &str = "crates/toolwire/src/";

/// Every module below `lib.rs` and its layer.
const LAYERS: [(&str, u8); 10] = [
    ("error", 1),
    ("sync", 1),
    ("engine", 2),
    ("store", 3),
    ("client", 4),
    ("server", 4),
    ("transport", 5),
    ("relay", 6),
    ("testing", 6),
    ("guide", TOP_LAYER),
];

/// `lib.rs`, its re-exports and its guides: the top layer.
const TOP_LAYER: u8 = 7;

pub(super) fn check(file: &File, source: &Source) -> Vec<Finding> {
    let Some(path) = file.path.strip_prefix(CRATE) else {
        return Vec::new();
    };
    if path == "lib.rs" || code::is_test(&file.path) {
        return Vec::new();
    }
    let module = path.split(['/', '.']).next().unwrap_or(path);
    let Some(layer) = layer_of(module) else {
        let rule = format!("module `{module}` has no layer: add it in xtask/src/tidy/layers.rs");
        return vec![file.finding(1, rule)];
    };
    names_after_crate(&source.shipped_code)
        .filter_map(|(line, name)| {
            let other = layer_of(name).unwrap_or(TOP_LAYER);
            let is_lower = other < layer || name == module || layer == TOP_LAYER;
            (!is_lower).then(|| {
                let rule = format!("`{module}` (layer {layer}) uses `crate::{name}` (layer {other}), which is not below it");
                file.finding(line, rule)
            })
        })
        .collect()
}

fn layer_of(module: &str) -> Option<u8> {
    let known = LAYERS.iter().find(|(name, _)| *name == module);
    known.map(|(_, layer)| *layer)
}

/// Returns the first name of every path that starts with `crate::`, including each path in `crate::{…}`.
fn names_after_crate(code: &str) -> impl Iterator<Item = (usize, &str)> {
    const ROOT: &str = "crate::";
    let starts = code.match_indices(ROOT).filter(|(at, _)| {
        let before = code[..*at].chars().next_back();
        // `$crate` in a macro belongs to the caller.
        !before
            .is_some_and(|character| character.is_alphanumeric() || matches!(character, '_' | '$'))
    });
    starts.flat_map(move |(at, _)| {
        let rest = &code[at + ROOT.len()..];
        let line = line_at(code, at);
        let names = match rest.strip_prefix('{') {
            Some(group) => group_names(group),
            None => vec![first_name(rest)],
        };
        names.into_iter().map(move |name| (line, name))
    })
}

fn first_name(path: &str) -> &str {
    let end = path
        .find(|character: char| !character.is_alphanumeric() && character != '_')
        .unwrap_or(path.len());
    &path[..end]
}

/// Returns the first names of a group: `a::{b, c}, d` up to the closing brace gives `a` and `d`.
fn group_names(group: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut depth = 0_usize;
    let mut expect_name = true;
    for (at, character) in group.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => expect_name = true,
            _ if expect_name && !character.is_whitespace() => {
                names.push(first_name(&group[at..]));
                expect_name = false;
            }
            _ => {}
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, text: &str, expected: &[usize]) {
        let file = File {
            path: format!("{CRATE}{path}"),
            text: text.to_owned(),
        };
        let findings = super::check(&file, &Source::new(text));
        let lines: Vec<usize> = findings.iter().map(|finding| finding.line).collect();
        assert_eq!(lines, expected, "{path}: {text}");
    }

    #[test]
    fn module_may_use_lower_layers_only() {
        check("engine/mod.rs", "use crate::transport::stdio;", &[1]);
        check(
            "engine/mod.rs",
            "use crate::server::Tool;\nuse crate::error::Error;",
            &[1],
        );
        check(
            "server/mod.rs",
            "use crate::client::Client;\nuse crate::server::tool;",
            &[1],
        );
        check("transport/stdio.rs", "use crate::engine::Exchange;", &[]);
        check(
            "transport/http/mod.rs",
            "\nlet a = crate::guide::tools();",
            &[2],
        );
        check("guide.rs", "use crate::Server; use crate::transport;", &[]);
        check("error.rs", "use crate::engine::Exchange;", &[1]);
        check("lib.rs", "use crate::transport::stdio;", &[]);
    }

    #[test]
    fn groups_give_their_first_names() {
        check(
            "engine/scope.rs",
            "use crate::{\n    engine::{self, transport},\n    error,\n};",
            &[],
        );
        check(
            "engine/scope.rs",
            "use crate::{engine::{a, b}, transport::c};",
            &[1],
        );
        check("engine/scope.rs", "use crate::{", &[]);
    }

    #[test]
    fn names_of_the_crate_root_are_above() {
        check("server/mod.rs", "use crate::Server;", &[1]);
        check(
            "server/mod.rs",
            "macro_rules! m { () => { $crate::Server } }",
            &[],
        );
    }

    #[test]
    fn tests_and_comments_may_use_any_layer() {
        check("engine/tests.rs", "use crate::transport::memory;", &[]);
        check("engine/mod.rs", "//! See [`crate::transport`].", &[]);
        check(
            "engine/mod.rs",
            "#[cfg(test)]\nmod tests {\n    use crate::transport::memory;\n}",
            &[],
        );
    }

    #[test]
    fn module_without_a_layer_is_found() {
        check("unknown.rs", "", &[1]);
    }
}
