//! The names that the crate of a new server can have.

use crate::failure::Failure;

/// The longest name of a crate.
const MAX_NAME: usize = 64;

/// Names that a crate cannot have, with the reason. `_` is written as `-`.
const UNUSABLE: [(&str, &[&str]); 5] = [
    (
        "the new crate depends on a crate with this name",
        &["serde-json", "tokio", "toolwire", "toolwire-auth"],
    ),
    (
        "a library of Rust has this name",
        &["alloc", "core", "proc-macro", "std", "test"],
    ),
    (
        "cargo has a directory with this name beside the program",
        &["build", "deps", "examples", "incremental"],
    ),
    (
        "Rust has a keyword with this name",
        &[
            "abstract", "as", "async", "await", "become", "box", "break", "const", "continue",
            "crate", "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen",
            "if", "impl", "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override",
            "priv", "pub", "ref", "return", "self", "static", "struct", "super", "trait", "true",
            "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while",
            "yield",
        ],
    ),
    (
        "Windows has a device with this name",
        &[
            "aux", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9", "con",
            "lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9", "nul", "prn",
        ],
    ),
];

/// Checks that a crate of this name can be built on every system.
///
/// # Errors
/// Returns an error with the reason if it cannot.
pub(super) fn check_crate_name(name: &str) -> Result<(), Failure> {
    let is_valid = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let starts_with_letter = name.starts_with(|c: char| c.is_ascii_alphabetic());
    if !starts_with_letter || name.len() > MAX_NAME || !name.chars().all(is_valid) {
        return Err(
            Failure::usage(format!("`{name}` is not a valid name of a crate")).with_advice(
                format!(
                    "use at most {MAX_NAME} ASCII letters, digits, `-` and `_`, and a letter first"
                ),
            ),
        );
    }
    // Files and crates with names that differ only in this are the same on some systems.
    let compared = name.to_ascii_lowercase().replace('_', "-");
    let unusable = UNUSABLE
        .iter()
        .find(|(_, names)| names.contains(&&*compared));
    match unusable {
        Some((reason, _)) => Err(Failure::usage(format!(
            "`{name}` cannot be the name of the crate: {reason}"
        ))
        .with_advice(format!("choose another name, such as {name}-server"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_names_are_rejected() {
        fn check(name: &str, is_valid: bool) {
            assert_eq!(check_crate_name(name).is_ok(), is_valid, "{name}");
        }
        check("weather", true);
        check("my-server_2", true);
        check(&"a".repeat(MAX_NAME), true);
        check(&"a".repeat(MAX_NAME + 1), false);
        check("", false);
        check("2go", false);
        check("../up", false);
        check("a b", false);
    }

    #[test]
    fn unusable_names_are_rejected_with_the_reason() {
        fn check(name: &str, reason: &str) {
            let failure = check_crate_name(name).expect_err("the name is unusable");
            assert!(failure.message().contains(reason), "{}", failure.text());
            let advice = failure.advice().expect("advice");
            assert!(advice.contains(&format!("{name}-server")), "{advice}");
            assert!(check_crate_name(&format!("{name}-server")).is_ok());
        }
        check("serde-json", "depends on");
        check("serde_json", "depends on");
        check("Toolwire", "depends on");
        check("test", "library");
        check("build", "directory");
        check("deps", "directory");
        check("match", "keyword");
        check("gen", "keyword");
        check("nul", "device");
    }
}
