//! Finds files of one folder that import each other in a cycle: none can be understood without the others.

use std::collections::{BTreeMap, BTreeSet};

use super::super::source::Source;
use super::super::{File, Finding};

/// The folders that are checked, below `crates/`, and the maximum number of files in a cycle.
const FOLDERS: [(&str, usize); 16] = [
    ("toolwire/src/client/", 3),
    ("toolwire/src/engine/", 0),
    ("toolwire/src/relay/", 5),
    ("toolwire/src/server/", 8),
    ("toolwire/src/store/", 2),
    ("toolwire/src/testing/", 0),
    ("toolwire/src/transport/", 4),
    ("toolwire/src/transport/duplex/", 3),
    ("toolwire/src/transport/http/", 0),
    ("toolwire-auth/src/", 3),
    ("toolwire-cli/src/", 6),
    ("toolwire-gateway/src/", 2),
    ("toolwire-otel/src/", 4),
    ("toolwire-proto/src/", 3),
    ("toolwire-redis/src/", 0),
    ("toolwire-types/src/", 6),
];

/// Finds the files that form a cycle with too many others of their folder.
pub(super) fn check(files: &[(&File, Source)]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (folder, at_most) in FOLDERS {
        let prefix = format!("crates/{folder}");
        let of_folder: Vec<_> = files
            .iter()
            .filter(|(file, _)| file.path.starts_with(&prefix))
            .collect();
        let modules: BTreeMap<Vec<String>, usize> = of_folder
            .iter()
            .enumerate()
            .filter_map(|(index, (file, _))| Some((module_of(&file.path)?, index)))
            .collect();
        let edges: Vec<BTreeSet<usize>> = of_folder
            .iter()
            .enumerate()
            .map(|(own, (_, source))| {
                let imported = paths(&source.shipped_code).into_iter();
                let imported = imported.filter_map(|path| resolve(&modules, &path));
                imported.filter(|other| *other != own).collect()
            })
            .collect();
        let cycles = cycles(&edges).into_iter();
        for cycle in cycles.filter(|cycle| cycle.len() > at_most) {
            let names: Vec<&str> = cycle
                .iter()
                .map(|index| {
                    of_folder[*index]
                        .0
                        .path
                        .rsplit('/')
                        .next()
                        .unwrap_or_default()
                })
                .collect();
            for index in &cycle {
                let rule = format!("in a cycle of {} files: {}", names.len(), names.join(", "));
                findings.push(of_folder[*index].0.finding(1, rule));
            }
        }
    }
    findings
}

/// Returns the module of a file: `crates/toolwire/src/a/mod.rs` and `…/a.rs` are the module `a`.
fn module_of(path: &str) -> Option<Vec<String>> {
    let (_, below) = path.split_once("/src/")?;
    let below = below.strip_suffix(".rs")?;
    let below = below.strip_suffix("/mod").unwrap_or(below);
    Some(below.split('/').map(str::to_owned).collect())
}

/// Returns the file that a path refers to: the longest prefix that is a module.
fn resolve(modules: &BTreeMap<Vec<String>, usize>, path: &[String]) -> Option<usize> {
    (1..=path.len())
        .rev()
        .find_map(|length| modules.get(&path[..length]).copied())
}

/// Returns every path after `crate::`, with groups expanded.
fn paths(code: &str) -> Vec<Vec<String>> {
    const ROOT: &str = "crate::";
    let mut paths = Vec::new();
    for (at, _) in code.match_indices(ROOT) {
        let is_root =
            !code[..at].ends_with(|before: char| before.is_alphanumeric() || "_$".contains(before));
        if is_root {
            let mut rest = &code[at + ROOT.len()..];
            read_path(&mut rest, &mut Vec::new(), &mut paths);
        }
    }
    paths
}

/// Parses `a::b`, `a::{b, c::d}` or `a::*`, and adds each path.
fn read_path(rest: &mut &str, prefix: &mut Vec<String>, paths: &mut Vec<Vec<String>>) {
    let depth = prefix.len();
    loop {
        if let Some(group) = rest.strip_prefix('{') {
            *rest = group;
            loop {
                *rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
                if rest.is_empty() || rest.starts_with('}') {
                    break;
                }
                let before = rest.len();
                read_path(rest, prefix, paths);
                if rest.len() == before {
                    break;
                }
            }
            *rest = rest.strip_prefix('}').unwrap_or(rest);
            break;
        }
        let end = rest
            .find(|character: char| !character.is_alphanumeric() && character != '_')
            .unwrap_or(rest.len());
        if end > 0 {
            prefix.push(rest[..end].to_owned());
        }
        *rest = rest[end..].strip_prefix('*').unwrap_or(&rest[end..]);
        match rest.strip_prefix("::") {
            Some(after) => *rest = after,
            None => {
                paths.push(prefix.clone());
                // Skips `a as b` in a group.
                let skipped = rest.find([',', '}', ';']).unwrap_or(rest.len());
                if rest[..skipped].trim_start().starts_with("as ") {
                    *rest = &rest[skipped..];
                }
                break;
            }
        }
    }
    prefix.truncate(depth);
}

/// Returns the groups of nodes that reach each other.
fn cycles(edges: &[BTreeSet<usize>]) -> Vec<Vec<usize>> {
    let reached: Vec<BTreeSet<usize>> = (0..edges.len()).map(|start| reach(edges, start)).collect();
    let mut cycles: Vec<Vec<usize>> = Vec::new();
    for (node, own) in reached.iter().enumerate() {
        let in_one = cycles.iter().any(|cycle| cycle.contains(&node));
        if own.contains(&node) && !in_one {
            let cycle = own
                .iter()
                .copied()
                .filter(|other| reached[*other].contains(&node));
            cycles.push(cycle.collect());
        }
    }
    cycles
}

fn reach(edges: &[BTreeSet<usize>], start: usize) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<usize> = edges[start].iter().copied().collect();
    while let Some(node) = open.pop() {
        if reached.insert(node) {
            open.extend(&edges[node]);
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_expanded() {
        let check = |code: &str, expected: &[&str]| {
            let found: Vec<String> = paths(code).iter().map(|path| path.join("::")).collect();
            assert_eq!(found, expected, "{code}");
        };
        check("use crate::a::b;", &["a::b"]);
        check(
            "use crate::a::{b, c::{d, self}, e as f};",
            &["a::b", "a::c::d", "a::c::self", "a::e"],
        );
        check("let x = crate::a::b::new(1);", &["a::b::new"]);
        check("use crate::a::*;", &["a"]);
        check("$crate::a; my_crate::b;", &[]);
    }

    #[test]
    fn files_in_a_cycle_are_found() {
        let file = |name: &str, text: &str| File {
            path: format!("crates/toolwire/src/engine/{name}"),
            text: text.to_owned(),
        };
        let files = [
            file("mod.rs", "mod a; mod b; mod c;"),
            file("a.rs", "use crate::engine::b::B;"),
            file("b.rs", "use crate::engine::{c::C};"),
            file("c.rs", "use crate::engine::a::A;"),
            file("d.rs", "use crate::engine::a::A;"),
        ];
        let sources: Vec<_> = files
            .iter()
            .map(|file| (file, Source::new(&file.text)))
            .collect();
        let found: Vec<String> = check(&sources)
            .into_iter()
            .map(|finding| finding.path)
            .collect();
        let expected =
            ["a.rs", "b.rs", "c.rs"].map(|name| format!("crates/toolwire/src/engine/{name}"));
        assert_eq!(found, expected);
    }
}
