//! `cargo run` as two steps: a build, and the program that it made.
//!
//! `cargo run` itself would build again for each process, and would fail while the sources are broken.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::failure::Failure;
use crate::target::ChildProcess;

/// The last option of each build: messages for programs on standard output, and the diagnostics as text on standard error.
const MESSAGE_FORMAT: &str = "--message-format=json-render-diagnostics";

/// The build of a `cargo run`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CargoBuild {
    /// The words of the build command.
    pub(super) command: Vec<OsString>,
    /// The arguments of the built program.
    pub(super) program_arguments: Vec<OsString>,
}

/// A program that a build made.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BuiltProgram {
    name: String,
    pub(super) path: PathBuf,
}

impl CargoBuild {
    /// Returns the build of a command. Returns `None` if the command is not `cargo run`.
    pub(super) fn of(child: &ChildProcess) -> Option<Self> {
        if Path::new(&child.program).file_stem() != Some(OsStr::new("cargo")) {
            return None;
        }
        // A toolchain and options of cargo may come first.
        let is_option = |word: &OsString| {
            let word = word.as_encoded_bytes();
            word.starts_with(b"+") || word.starts_with(b"-")
        };
        let position = child.arguments.iter().position(|word| !is_option(word))?;
        if !["run", "r"]
            .iter()
            .any(|run| child.arguments[position] == *run)
        {
            return None;
        }
        let end = child.arguments.iter().position(|word| word == "--");
        let (before, program_arguments) = match end {
            Some(end) => (&child.arguments[..end], child.arguments[end + 1..].to_vec()),
            None => (&child.arguments[..], Vec::new()),
        };
        let mut command = vec![child.program.clone()];
        command.extend_from_slice(before);
        command[position + 1] = "build".into();
        command.push(MESSAGE_FORMAT.into());
        Some(Self {
            command,
            program_arguments,
        })
    }
}

/// Returns the program that a message of cargo announces.
pub(super) fn built_program(message: &str) -> Option<BuiltProgram> {
    #[derive(Deserialize)]
    struct Message {
        reason: String,
        target: Option<BuildTarget>,
        executable: Option<PathBuf>,
    }
    #[derive(Deserialize)]
    struct BuildTarget {
        name: String,
        kind: Vec<String>,
    }
    let message: Message = serde_json::from_str(message).ok()?;
    if message.reason != "compiler-artifact" {
        return None;
    }
    let target = message.target?;
    let is_program = |kind: &String| kind == "bin" || kind == "example";
    Some(BuiltProgram {
        path: message
            .executable
            .filter(|_| target.kind.iter().any(is_program))?,
        name: target.name,
    })
}

/// Returns the program to run: the only one, or that of `default-run`.
///
/// # Errors
/// Returns an error if the choice is not clear.
pub(super) fn selected(
    programs: &[BuiltProgram],
    default_run: Option<&str>,
) -> Result<PathBuf, String> {
    let default = programs
        .iter()
        .find(|built| Some(&*built.name) == default_run);
    match (programs, default) {
        ([only], _) | (_, Some(only)) => Ok(only.path.clone()),
        ([], None) => {
            Err("the build made no program; give a crate with a program, or --bin NAME".to_owned())
        }
        (several, None) => {
            let names: Vec<&str> = several.iter().map(|built| &*built.name).collect();
            let names = names.join(", ");
            Err(format!(
                "the build made several programs ({names}); select one: cargo run --bin NAME"
            ))
        }
    }
}

/// What `toolwire dev` needs from a `Cargo.toml`.
#[derive(Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Package {
    pub(super) name: Option<String>,
    pub(super) default_run: Option<String>,
    /// The version, unless the workspace defines it.
    #[serde(default, deserialize_with = "text")]
    pub(super) version: Option<String>,
    #[serde(default)]
    metadata: toml::Table,
}

impl Package {
    /// Reads the `Cargo.toml` of a directory. Without a valid one, nothing is known: cargo itself reports its errors.
    pub(super) fn read(directory: &Path) -> Self {
        let text = std::fs::read_to_string(directory.join("Cargo.toml"));
        Self::parse(&text.unwrap_or_default())
    }

    /// Returns the arguments with which `toolwire dev` starts the program: `dev-arguments` in the table
    /// `package.metadata.toolwire`.
    ///
    /// # Errors
    /// Returns an error if it is not a list of strings.
    pub(super) fn dev_arguments(&self) -> Result<Vec<OsString>, Failure> {
        let settings = self.metadata.get("toolwire");
        let Some(arguments) = settings.and_then(|settings| settings.get("dev-arguments")) else {
            return Ok(Vec::new());
        };
        let arguments = arguments.as_array().and_then(|arguments| {
            let arguments = arguments.iter().map(toml::Value::as_str);
            arguments.map(|text| text.map(OsString::from)).collect()
        });
        arguments.ok_or_else(|| {
            Failure::usage("dev-arguments in Cargo.toml is not a list of strings")
                .with_advice("write a list: dev-arguments = [\"--stdio\"]")
        })
    }

    fn parse(text: &str) -> Self {
        #[derive(Deserialize)]
        struct Manifest {
            package: Package,
        }
        toml::from_str(text).map_or_else(|_| Self::default(), |manifest: Manifest| manifest.package)
    }
}

/// Returns the value if it is a text.
fn text<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Option<String>, D::Error> {
    let value = toml::Value::deserialize(value)?;
    Ok(value.as_str().map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn child(words: &str) -> ChildProcess {
        let mut words = words.split(' ').map(OsString::from);
        let mut child = ChildProcess::new(words.next().expect("a program"));
        child.arguments = words.collect();
        child
    }

    #[test]
    fn cargo_run_becomes_a_build() {
        let check = |words: &str, command: &str, program_arguments: &str| {
            let build = CargoBuild::of(&child(words)).expect("a build");
            let command = format!("{command} {MESSAGE_FORMAT}");
            assert_eq!(build.command.join(OsStr::new(" ")), *command);
            assert_eq!(
                build.program_arguments.join(OsStr::new(" ")),
                *program_arguments
            );
        };
        check("cargo run", "cargo build", "");
        check("cargo r --release", "cargo build --release", "");
        check(
            "cargo +nightly -q run --bin a -- run -- x",
            "cargo +nightly -q build --bin a",
            "run -- x",
        );
        for other in ["cargo test", "cargo", "npm run", "cargo watch run"] {
            assert_eq!(CargoBuild::of(&child(other)), None, "{other}");
        }
    }

    #[test]
    fn program_is_selected_if_the_choice_is_clear() {
        let program = |name: &str| {
            let message = format!(
                r#"{{"reason":"compiler-artifact","target":{{"name":"{name}","kind":["bin"]}},"executable":"/t/{name}"}}"#
            );
            built_program(&message).expect("a program")
        };
        let (a, b) = (program("a"), program("b"));
        let select = |programs: &[BuiltProgram], default: Option<&str>| selected(programs, default);
        assert_eq!(select(std::slice::from_ref(&a), None), Ok("/t/a".into()));
        assert_eq!(
            select(&[a.clone(), b.clone()], Some("b")),
            Ok("/t/b".into())
        );
        let error = select(&[a, b], None).expect_err("the choice is not clear");
        assert!(error.contains("(a, b)"), "{error}");
        assert!(select(&[], None).is_err());
    }

    #[test]
    fn other_messages_announce_no_program() {
        for message in [
            "Compiling x",
            r#"{"reason":"build-finished","success":true}"#,
            r#"{"reason":"compiler-artifact","target":{"name":"l","kind":["lib"]},"executable":null}"#,
            r#"{"reason":"compiler-artifact","target":{"name":"b","kind":["custom-build"]},"executable":"/t/b"}"#,
        ] {
            assert_eq!(built_program(message), None, "{message}");
        }
    }

    #[test]
    fn package_is_read_as_far_as_it_is_known() {
        let text =
            "[package]\nname = \"a\"\nversion = \"1.2.3\"\ndefault-run = \"b\"\nedition = \"2024\"";
        let package = Package::parse(text);
        assert_eq!(package.name.as_deref(), Some("a"));
        assert_eq!(package.version.as_deref(), Some("1.2.3"));
        assert_eq!(package.default_run.as_deref(), Some("b"));
        let inherited = Package::parse("[package]\nname = \"a\"\nversion.workspace = true");
        assert_eq!(inherited.name.as_deref(), Some("a"));
        assert_eq!(inherited.version, None);
        assert_eq!(Package::parse("[workspace]"), Package::default());
    }

    #[test]
    fn arguments_for_development_are_a_list_of_strings() {
        let check = |settings: &str, expected: Option<&[&str]>| {
            let text = format!("[package]\nname = \"a\"\n{settings}");
            let arguments = Package::parse(&text).dev_arguments().ok();
            let expected =
                expected.map(|words| words.iter().map(OsString::from).collect::<Vec<_>>());
            assert_eq!(arguments, expected, "{settings}");
        };
        check("", Some(&[]));
        check("[package.metadata.other]", Some(&[]));
        check("[package.metadata.toolwire]", Some(&[]));
        let table = "[package.metadata.toolwire]\ndev-arguments = ";
        check(
            &format!("{table}[\"--stdio\", \"-v\"]"),
            Some(&["--stdio", "-v"]),
        );
        check(&format!("{table}\"--stdio\""), None);
        check(&format!("{table}[1]"), None);
    }
}
