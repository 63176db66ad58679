//! Installs what `interop/peers` needs (the SDKs, the reference server and an authorization server): npm packages into
//! `node_modules`, Python packages into `.venv`. Then installs the releases.
//!
//! Each directory has a copy of its source manifest, and is installed again only if the manifest changed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::releases;
use crate::steps::{Outcome, cargo, note, output_of, run};

/// The authorization server is written for Node.js 22, and runs with the last releases before it.
const OLDEST_NODE: (u32, u32) = (20, 20);
/// The pinned packages need it.
const OLDEST_PYTHON: (u32, u32) = (3, 11);

/// Written last, so that its presence means a complete installation. The interop tests look for it.
const INSTALLED_MARK: &str = ".installed-from";

/// The programs that the peers need, in a supported version.
#[derive(Debug)]
pub(crate) struct Toolchain {
    node_version: String,
    npm: &'static str,
    python: &'static str,
    python_version: String,
}

impl Toolchain {
    /// Finds node, npm and Python. The error names all missing programs in one line.
    pub(crate) fn find() -> Outcome<Self> {
        let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
        let node = output_of("node", &["--version"]).filter(|text| at_least(text, OLDEST_NODE));
        let npm = output_of(npm, &["--version"]).map(|_| npm);
        let python = ["python3", "python"].into_iter().find_map(|program| {
            let text = output_of(program, &["--version"])?;
            at_least(&text, OLDEST_PYTHON).then_some((program, text))
        });
        match (node, npm, python) {
            (Some(node_version), Some(npm), Some((python, python_version))) => Ok(Self {
                node_version,
                npm,
                python,
                python_version,
            }),
            (node, npm, python) => {
                let missing: Vec<&str> = [
                    (node.is_none(), "node 20.20 or newer"),
                    (npm.is_none(), "npm"),
                    (python.is_none(), "python3 3.11 or newer"),
                ]
                .into_iter()
                .filter_map(|(absent, name)| absent.then_some(name))
                .collect();
                Err(format!(
                    "the interop tests need {}: install it",
                    missing.join(" and ")
                ))
            }
        }
    }

    /// Returns `true` if the machine's Node.js is at least this version.
    pub(crate) fn has_node(&self, oldest: (u32, u32)) -> bool {
        at_least(&self.node_version, oldest)
    }

    /// Returns the command of the machine's Python.
    fn python(&self) -> Command {
        Command::new(self.python)
    }

    /// Returns what an environment is installed from: the version of Python and the requirements.
    fn python_source(&self, requirements: &Path) -> Outcome<String> {
        Ok(format!("{}\n{}", self.python_version, read(requirements)?))
    }
}

/// Finds the toolchain and installs all peers if needed.
pub(crate) fn install(root: &Path) -> Outcome {
    let toolchain = Toolchain::find()?;
    install_packages(root, &toolchain)?;
    releases::build_rmcp(root, cargo)
}

/// Installs the npm and Python packages of all peers if needed.
pub(crate) fn install_packages(root: &Path, toolchain: &Toolchain) -> Outcome {
    let peers = directory(root);
    install_node_packages(&peers, toolchain, "the peers", &[])?;
    let python = install_python_packages(&peers, toolchain)?;
    // `uv` is one of the packages.
    let uv = python.with_file_name(format!("uv{}", std::env::consts::EXE_SUFFIX));
    releases::install(root, toolchain, &uv)
}

/// Returns the directory of the peers and their packages.
pub(crate) fn directory(root: &Path) -> PathBuf {
    root.join("interop").join("peers")
}

/// Installs the packages of the lock file in `directory` if needed. `owner` names the directory in messages.
pub(crate) fn install_node_packages(
    directory: &Path,
    toolchain: &Toolchain,
    owner: &str,
    flags: &[&str],
) -> Outcome {
    let source = format!(
        "{}\n{}",
        toolchain.node_version,
        read(&directory.join("package-lock.json"))?
    );
    let modules = directory.join("node_modules");
    if installed_from(&modules, &source) {
        note(&format!("the npm packages of {owner} are installed"));
        return Ok(());
    }
    remove_mark(&modules)?;
    run(Command::new(toolchain.npm)
        .current_dir(directory)
        .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
        .args(flags))?;
    write_mark(&modules, &source)
}

/// Installs the packages of `requirements.txt` if needed, and returns the Python of their environment.
pub(crate) fn install_python_packages(peers: &Path, toolchain: &Toolchain) -> Outcome<PathBuf> {
    let requirements = peers.join("requirements.txt");
    let source = toolchain.python_source(&requirements)?;
    let environment = peers.join(".venv");
    if installed_from(&environment, &source) {
        note("the Python packages of the peers are installed");
        return Ok(environment_python(&environment));
    }
    remove_mark(&environment)?;
    run(toolchain
        .python()
        .args(["-m", "venv", "--clear"])
        .arg(&environment))
    .map_err(|problem| {
        format!("{problem}\ninstall Python's venv module (on Debian: python3-venv)")
    })?;
    run(Command::new(environment_python(&environment))
        .args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--requirement",
        ])
        .arg(&requirements))?;
    write_mark(&environment, &source)?;
    Ok(environment_python(&environment))
}

/// Installs the packages of a requirements file into an environment if needed. `uv` installs Python packages in a fraction
/// of pip's time.
pub(crate) fn install_with_uv(
    environment: &Path,
    requirements: &Path,
    toolchain: &Toolchain,
    uv: &Path,
) -> Outcome {
    let source = toolchain.python_source(requirements)?;
    if installed_from(environment, &source) {
        note(&format!(
            "the packages of {} are installed",
            requirements.display()
        ));
        return Ok(());
    }
    remove_mark(environment)?;
    run(toolchain
        .python()
        .args(["-m", "venv", "--clear", "--without-pip"])
        .arg(environment))?;
    run(Command::new(uv)
        .args(["pip", "install", "--quiet", "--python"])
        .arg(environment_python(environment))
        .arg("--requirement")
        .arg(requirements))?;
    write_mark(environment, &source)
}

pub(crate) fn environment_python(environment: &Path) -> PathBuf {
    if cfg!(windows) {
        environment.join("Scripts").join("python.exe")
    } else {
        environment.join("bin").join("python")
    }
}

fn installed_from(directory: &Path, source: &str) -> bool {
    fs::read_to_string(directory.join(INSTALLED_MARK)).is_ok_and(|mark| mark == source)
}

fn remove_mark(directory: &Path) -> Outcome {
    let mark = directory.join(INSTALLED_MARK);
    if mark.exists() {
        fs::remove_file(&mark)
            .map_err(|error| format!("cannot remove {}: {error}", mark.display()))?;
    }
    Ok(())
}

fn write_mark(directory: &Path, source: &str) -> Outcome {
    let mark = directory.join(INSTALLED_MARK);
    fs::write(&mark, source).map_err(|error| format!("cannot write {}: {error}", mark.display()))
}

fn read(path: &Path) -> Outcome<String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

/// Returns `true` if `v20.20.2` or `Python 3.11.7` is new enough, and `false` if the text is not a version.
fn at_least(text: &str, oldest: (u32, u32)) -> bool {
    let digits = text.trim_start_matches(|character: char| !character.is_ascii_digit());
    let mut numbers = digits.split('.').map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= oldest,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        fn check(text: &str, oldest: (u32, u32), expected: bool) {
            assert_eq!(at_least(text, oldest), expected, "{text}");
        }
        check("v20.20.2", OLDEST_NODE, true);
        check("v20.9.0", OLDEST_NODE, false);
        check("v18.19.0", OLDEST_NODE, false);
        check("v100.0.0", OLDEST_NODE, true);
        check("Python 3.11.7", OLDEST_PYTHON, true);
        check("Python 3.9.18", OLDEST_PYTHON, false);
        check("Python 3.10.13", OLDEST_PYTHON, false);
        check("Python 3.14.0rc1", OLDEST_PYTHON, true);
        check("Python 2.7.18", OLDEST_PYTHON, false);
        check("", OLDEST_NODE, false);
        check("node", OLDEST_NODE, false);
    }
}
