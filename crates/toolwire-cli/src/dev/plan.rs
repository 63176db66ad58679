//! What to build, start and watch, by the command line and the directory.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::commands::{find_program, no_more_words};
use crate::connection_arguments::Server;
use crate::dev::build::BuildPlan;
use crate::dev::cargo::{CargoBuild, Package};
use crate::dev_arguments::Dev;
use crate::failure::{Exit, Failure};
use crate::screen::Screen;
use crate::shell_words::split_words;
use crate::target::{self, Target};

/// What is watched in the directory of a command without `--watch`.
const WATCHED: [&str; 2] = ["src", "Cargo.toml"];

/// What to build, start and watch.
#[derive(Debug)]
pub(super) struct DevPlan {
    pub(super) build: BuildPlan,
    /// The server. The build may replace its program.
    pub(super) target: Target,
    pub(super) watched: Vec<PathBuf>,
    /// Where the build runs.
    pub(super) directory: PathBuf,
    /// The name and version that clients see.
    pub(super) name: String,
    pub(super) version: String,
}

impl DevPlan {
    /// Returns the plan for the current directory.
    ///
    /// # Errors
    /// Returns an error if there is nothing to start or to watch, and if a program does not exist.
    pub(super) async fn new(arguments: &Dev, screen: &Screen) -> Result<Self, Failure> {
        let server = with_default_command(&arguments.server, Path::new(""))?;
        let (target, words) = target::find(&server, screen).await?;
        no_more_words(words)?;
        let directory = match &target {
            Target::Child(child) => child.directory.clone(),
            Target::Http(_) => None,
        };
        let directory = directory.unwrap_or_else(|| PathBuf::from("."));
        let build = build_plan(arguments.build.as_deref(), &target)?;
        check_program(&build, &target, &directory)?;
        let package = Package::read(&directory);
        Ok(Self {
            watched: watched(&arguments.watch, &target, &directory)?,
            name: package.name.unwrap_or_else(|| "toolwire-dev".to_owned()),
            version: package.version.unwrap_or_else(|| "0.0.0".to_owned()),
            build,
            target,
            directory,
        })
    }
}

/// Returns the server of the command line. Without one, it is `cargo run` in a directory with a crate, with the arguments
/// that its `Cargo.toml` has for development.
fn with_default_command(server: &Server, directory: &Path) -> Result<Server, Failure> {
    let mut server = server.clone();
    if !server.words.is_empty() || !server.command.is_empty() {
        return Ok(server);
    }
    if !directory.join("Cargo.toml").is_file() {
        return Err(Failure::usage("there is no Cargo.toml in this directory")
            .with_advice("give the command that starts the server: toolwire dev -- COMMAND"));
    }
    server.command = ["cargo", "run", "--"].map(OsString::from).to_vec();
    server
        .command
        .extend(Package::read(directory).dev_arguments()?);
    Ok(server)
}

fn build_plan(command: Option<&str>, target: &Target) -> Result<BuildPlan, Failure> {
    let Some(command) = command else {
        return Ok(match target {
            Target::Child(child) => CargoBuild::of(child).map_or(BuildPlan::None, BuildPlan::Cargo),
            Target::Http(_) => BuildPlan::None,
        });
    };
    let words = split_words(command).filter(|words| !words.is_empty());
    let words = words.ok_or_else(|| {
        Failure::usage("--build is empty, or a quotation mark is not closed")
            .with_advice("give a command without a shell: --build 'npm run build'")
    })?;
    Ok(BuildPlan::Command(
        words.into_iter().map(OsString::from).collect(),
    ))
}

/// Checks that the program that runs first exists.
fn check_program(build: &BuildPlan, target: &Target, directory: &Path) -> Result<(), Failure> {
    let first = match (build.command(), target) {
        (Some(command), _) => command.first(),
        (None, Target::Child(child)) => Some(&child.program),
        (None, Target::Http(_)) => None,
    };
    let Some(program) = first else {
        return Ok(());
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    match find_program(program, Some(directory), &path) {
        Ok(_) => Ok(()),
        Err(problem) => Err(Failure::new(Exit::NoConnection, problem)
            .with_advice("install it, or give its whole path")),
    }
}

/// Returns the files and directories to watch.
fn watched(given: &[PathBuf], target: &Target, directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    if let Some(missing) = given.iter().find(|path| !path.exists()) {
        let missing = missing.display();
        return Err(Failure::usage(format!("--watch {missing} does not exist"))
            .with_advice("give a file or a directory that exists"));
    }
    let mut watched = given.to_vec();
    if let Target::Child(_) = target {
        let default = WATCHED.iter().map(|name| directory.join(name));
        watched.extend(default.filter(|path| path.exists()));
        if watched.is_empty() {
            return Err(Failure::usage("there is nothing to watch")
                .with_advice("give the files of the server: --watch PATH"));
        }
    }
    Ok(watched)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::{ChildProcess, Endpoint};

    #[test]
    fn something_must_be_watched_unless_the_server_has_an_address() {
        let command = Target::Child(ChildProcess::new("server"));
        let address = Target::Http(Endpoint::new("http://localhost/mcp"));
        let empty = Path::new("no-such-directory");
        let crate_directory = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert!(watched(&[], &command, empty).is_err());
        assert_eq!(watched(&[], &address, empty).unwrap().len(), 0);
        assert_eq!(watched(&[], &command, crate_directory).unwrap().len(), 2);
        let given = [crate_directory.to_path_buf()];
        assert_eq!(watched(&given, &command, empty).unwrap(), given);
        let failure = watched(&["nowhere".into()], &command, empty).expect_err("a failure");
        assert!(failure.message().contains("nowhere"), "{failure:?}");
    }

    #[test]
    fn build_command_replaces_that_of_cargo() {
        let mut child = ChildProcess::new("cargo");
        child.arguments = vec!["run".into()];
        let target = Target::Child(child);
        let cargo = build_plan(None, &target).expect("a plan");
        assert!(matches!(cargo, BuildPlan::Cargo(_)), "{cargo:?}");
        let other = build_plan(Some("make 'a b'"), &target).expect("a plan");
        assert_eq!(other, BuildPlan::Command(vec!["make".into(), "a b".into()]));
        for invalid in ["", " ", "make 'a"] {
            assert!(build_plan(Some(invalid), &target).is_err(), "{invalid}");
        }
    }
}
