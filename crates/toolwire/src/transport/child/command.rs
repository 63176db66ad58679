//! What is started: a program, its arguments and its surroundings.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

/// Hears the lines a server writes to its error output.
pub(super) type StderrListener = Arc<dyn Fn(&str) + Send + Sync>;

/// How a server is started as a child process. It can be started again, so keep it to replace a server that died.
///
/// There is no shell: every argument reaches the program as it is.
///
/// ```no_run
/// # async fn example() -> Result<(), toolwire::Error> {
/// use toolwire::{Client, ServerCommand};
///
/// let command = ServerCommand::new("npx")
///     .args(["-y", "@modelcontextprotocol/server-everything"])
///     .env("LOG_LEVEL", "debug")
///     .on_stderr(|line| eprintln!("server: {line}"));
/// let client = Client::spawn(command).await?;
/// client.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "a command does nothing until a client starts it"]
pub struct ServerCommand {
    program: OsString,
    arguments: Vec<OsString>,
    /// Variables that are set, and those that are taken away.
    environment: Vec<(OsString, Option<OsString>)>,
    clears_environment: bool,
    directory: Option<PathBuf>,
    pub(super) stderr: StderrOption,
}

/// Where the server's error output goes.
#[derive(Clone)]
pub(super) enum StderrOption {
    Captured(Option<StderrListener>),
    Inherited,
}

impl ServerCommand {
    /// A program, found in `PATH` unless it is named with a directory.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            arguments: Vec::new(),
            environment: Vec::new(),
            clears_environment: false,
            directory: None,
            stderr: StderrOption::Captured(None),
        }
    }

    /// Adds one argument.
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// Adds several arguments.
    pub fn args(mut self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        let arguments = arguments.into_iter();
        self.arguments
            .extend(arguments.map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// Sets an environment variable; this is how a server gets its credentials.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        let value = value.as_ref().to_owned();
        self.environment
            .push((name.as_ref().to_owned(), Some(value)));
        self
    }

    /// Keeps a variable of this process from the server.
    pub fn env_remove(mut self, name: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.as_ref().to_owned(), None));
        self
    }

    /// Keeps all variables of this process from the server, and forgets those set so far. `PATH` is one of them.
    pub fn env_clear(mut self) -> Self {
        self.clears_environment = true;
        self.environment.clear();
        self
    }

    /// The directory the server runs in.
    pub fn current_dir(mut self, directory: impl AsRef<Path>) -> Self {
        self.directory = Some(directory.as_ref().to_owned());
        self
    }

    /// Hears every line the server writes to its error output, as text. A line over 8 KiB comes in pieces.
    ///
    /// The listener runs between the client's own work, so it must not block. Without one the lines go to `tracing` at
    /// debug level.
    pub fn on_stderr(mut self, listener: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.stderr = StderrOption::Captured(Some(Arc::new(listener)));
        self
    }

    /// Lets the server write to the error output of this process. Errors then cannot say what it wrote last.
    pub fn inherit_stderr(mut self) -> Self {
        self.stderr = StderrOption::Inherited;
        self
    }

    pub(super) fn program(&self) -> &OsStr {
        &self.program
    }

    pub(super) fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// The command for the operating system, with pipes for messages.
    pub(super) fn to_process(&self) -> tokio::process::Command {
        let mut process = tokio::process::Command::new(&self.program);
        process
            .args(&self.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(match self.stderr {
                StderrOption::Captured(_) => Stdio::piped(),
                StderrOption::Inherited => Stdio::inherit(),
            });
        if self.clears_environment {
            process.env_clear();
        }
        for (name, value) in &self.environment {
            match value {
                Some(value) => process.env(name, value),
                None => process.env_remove(name),
            };
        }
        if let Some(directory) = &self.directory {
            process.current_dir(directory);
        }
        process
    }
}

impl From<&str> for ServerCommand {
    /// A program without arguments; the text is not taken apart.
    fn from(program: &str) -> Self {
        Self::new(program)
    }
}

impl From<String> for ServerCommand {
    /// A program without arguments; the text is not taken apart.
    fn from(program: String) -> Self {
        Self::new(program)
    }
}

impl From<&Path> for ServerCommand {
    /// A program without arguments.
    fn from(program: &Path) -> Self {
        Self::new(program)
    }
}

impl From<PathBuf> for ServerCommand {
    /// A program without arguments.
    fn from(program: PathBuf) -> Self {
        Self::new(program)
    }
}

impl fmt::Display for ServerCommand {
    /// The program alone: arguments may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.program.display())
    }
}

impl fmt::Debug for ServerCommand {
    /// Arguments and the values of variables may be secrets, so they are not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.environment.iter().map(|(name, _)| name).collect();
        f.debug_struct("ServerCommand")
            .field("program", &self.program)
            .field("arguments", &self.arguments.len())
            .field("environment", &names)
            .field("directory", &self.directory)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_in_arguments_and_variables_are_not_shown() {
        let command = ServerCommand::new("db-server")
            .arg("postgres://me:hunter2@db/notes")
            .env("API_KEY", "hunter2");
        assert_eq!(command.to_string(), "`db-server`");
        let shown = format!("{command:?}");
        assert!(!shown.contains("hunter2"), "{shown}");
        assert!(shown.contains("API_KEY"), "{shown}");
    }

    #[test]
    fn variables_set_before_the_environment_is_cleared_are_forgotten() {
        let command = ServerCommand::new("x")
            .env("A", "1")
            .env_clear()
            .env("B", "2");
        let process = command.to_process();
        let names: Vec<_> = process.as_std().get_envs().collect();
        assert_eq!(names, [(OsStr::new("B"), Some(OsStr::new("2")))]);
    }
}
