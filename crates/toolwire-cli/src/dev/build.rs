//! Runs a build.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::dev::build_output::{BuildOutput, plain_line};
use crate::dev::build_process::BuildProcess;
use crate::dev::cargo::{BuiltProgram, CargoBuild, Package, built_program, selected};
use crate::dev::lines::read_lines;
use crate::shell_words::command_line;
use crate::sync::lock;

/// How long the output is read after the build has ended. A process that it left in the background may keep it open.
const OUTPUT_TIME: Duration = Duration::from_secs(1);

/// What happens before the server starts.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum BuildPlan {
    /// Nothing.
    None,
    /// A command, whose exit code decides.
    Command(Vec<OsString>),
    /// A build with cargo, which names the program to start.
    Cargo(CargoBuild),
}

/// Why a build failed.
#[derive(Debug)]
pub(super) struct FailedBuild {
    pub(super) reason: String,
    pub(super) output: String,
}

impl BuildPlan {
    /// Returns the words of the command, if there is one.
    pub(super) fn command(&self) -> Option<&[OsString]> {
        match self {
            Self::None => None,
            Self::Command(command) => Some(command),
            Self::Cargo(cargo) => Some(&cargo.command),
        }
    }

    /// Returns the command as the user would type it.
    pub(super) fn label(&self) -> Option<String> {
        let words = match self {
            // The last option is for this program.
            Self::Cargo(cargo) => cargo.command.split_last()?.1,
            _ => self.command()?,
        };
        let words = words.iter().map(|word| word.to_string_lossy());
        let words: Vec<_> = words.collect();
        Some(command_line(words.iter().map(AsRef::as_ref)))
    }

    /// Runs the build in a directory, and passes on each line of its output as plain text. Returns the program to start,
    /// if the build names one. If the future is dropped, the build is killed with all of its processes.
    ///
    /// # Errors
    /// Returns an error if the build fails.
    pub(super) async fn run(
        &self,
        directory: &std::path::Path,
        on_line: impl Fn(&str),
    ) -> Result<Option<PathBuf>, FailedBuild> {
        let Some((program, arguments)) = self.command().and_then(<[OsString]>::split_first) else {
            return Ok(None);
        };
        let output = Mutex::new(BuildOutput::default());
        let add_line = |line: &str| {
            let line = plain_line(line);
            on_line(&line);
            let mut output = lock(&output);
            output.push(&line);
        };
        let mut programs = Vec::new();
        let status = async {
            let mut process = BuildProcess::start(program, arguments, directory)?;
            let (stdout, stderr) = process.take_output();
            let read_stdout = async {
                if let Some(stdout) = stdout {
                    read_lines(stdout, |line| {
                        self.read_message(line, &mut programs, add_line);
                    })
                    .await;
                }
            };
            let read_stderr = async {
                if let Some(stderr) = stderr {
                    read_lines(stderr, &add_line).await;
                }
            };
            let reading = async {
                tokio::join!(read_stdout, read_stderr);
            };
            let mut reading = std::pin::pin!(reading);
            let ended = tokio::select! {
                status = process.wait() => Some(status),
                () = &mut reading => None,
            };
            match ended {
                Some(status) => {
                    let _ = tokio::time::timeout(OUTPUT_TIME, reading).await;
                    status
                }
                None => process.wait().await,
            }
        };
        let outcome = match status.await {
            Ok(status) if status.success() => self.program(&programs, directory),
            Ok(status) => Err(format!("the build failed ({status})")),
            Err(error) => Err(format!("the build cannot be started: {error}")),
        };
        let output = output.into_inner().unwrap_or_else(PoisonError::into_inner);
        outcome.map_err(|reason| FailedBuild {
            reason,
            output: output.finish(),
        })
    }

    /// Reads a line of standard output.
    fn read_message(&self, line: &str, programs: &mut Vec<BuiltProgram>, on_line: impl Fn(&str)) {
        match self {
            Self::Cargo(_) if line.starts_with('{') => programs.extend(built_program(line)),
            _ => on_line(line),
        }
    }

    fn program(
        &self,
        programs: &[BuiltProgram],
        directory: &std::path::Path,
    ) -> Result<Option<PathBuf>, String> {
        let Self::Cargo(_) = self else {
            return Ok(None);
        };
        let package = Package::read(directory);
        selected(programs, package.default_run.as_deref()).map(Some)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    async fn run(script: &str) -> Result<Option<PathBuf>, FailedBuild> {
        let command = ["sh", "-c", script].map(OsString::from);
        let build = BuildPlan::Command(command.to_vec());
        build.run(std::path::Path::new("/"), |_| {}).await
    }

    #[tokio::test]
    async fn exit_code_decides() {
        assert_eq!(run("echo fine").await.expect("success"), None);
        let failed = run("echo '\u{1b}[31mno\u{1b}[0m'; echo why >&2; exit 3").await;
        let failed = failed.expect_err("a failure");
        assert!(
            failed.reason.contains("exit status: 3"),
            "{}",
            failed.reason
        );
        let mut lines: Vec<&str> = failed.output.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["no", "why"]);
    }

    #[tokio::test]
    async fn background_process_does_not_delay_the_end() {
        let running = run("sleep 30 & echo fine");
        let built = tokio::time::timeout(Duration::from_secs(20), running).await;
        assert_eq!(built.expect("the build ends").expect("success"), None);
    }

    #[tokio::test]
    async fn missing_program_is_a_failed_build() {
        let build = BuildPlan::Command(vec!["/no/such/program".into()]);
        let failed = build.run(std::path::Path::new("/"), |_| {}).await;
        let failed = failed.expect_err("a failure");
        assert!(
            failed.reason.contains("cannot be started"),
            "{}",
            failed.reason
        );
        let nothing = BuildPlan::None.run(std::path::Path::new("/"), |_| {}).await;
        assert_eq!(nothing.expect("success"), None);
    }
}
