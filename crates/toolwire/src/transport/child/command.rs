//! The command that starts a server: the program, its arguments and its environment.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use crate::transport::child::environment::default_variables;
use crate::transport::child::tracker::ProcessTracker;

/// Receives the lines that a server writes to stderr.
pub(super) type StderrListener = Arc<dyn Fn(&str) + Send + Sync>;

/// A command that starts a server as a child process. It can be started repeatedly, for example to replace a server
/// that exited.
///
/// The command does not use a shell: every argument is passed to the program unchanged.
///
/// # Environment
/// The environment of a host contains credentials, and a server is often third-party software. A server gets the
/// variables that [`env`](Self::env) sets, and only these of this process:
///
/// - On Unix: `HOME`, `LOGNAME`, `PATH`, `SHELL`, `TERM`, `USER`, `LANG`, `LANGUAGE`, the `LC_*` categories of the locale,
///   `TZ`, `TMPDIR`, `XDG_CACHE_HOME`, `XDG_CONFIG_HOME`, `XDG_DATA_HOME`, `XDG_RUNTIME_DIR`, `XDG_STATE_HOME`,
///   `SSL_CERT_DIR` and `SSL_CERT_FILE`.
/// - On Windows: `APPDATA`, `COMSPEC`, `HOMEDRIVE`, `HOMEPATH`, `LOCALAPPDATA`, `PATH`, `PATHEXT`,
///   `PROCESSOR_ARCHITECTURE`, `PROGRAMDATA`, `PROGRAMFILES`, `PROGRAMFILES(X86)`, `PROGRAMW6432`, `SYSTEMDRIVE`,
///   `SYSTEMROOT`, `TEMP`, `TMP`, `USERNAME`, `USERPROFILE`, `WINDIR`, `SSL_CERT_DIR` and `SSL_CERT_FILE`.
///
/// Values that start with `()` are not passed, because old shells execute them. Set other variables that the server
/// needs, for example a proxy, with [`env`](Self::env). [`with_inherited_env`](Self::with_inherited_env) passes all
/// variables, [`env_clear`](Self::env_clear) passes none.
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
    /// The variables to set, or to remove (`None`).
    environment: Vec<(OsString, Option<OsString>)>,
    inherited: InheritedVariables,
    directory: Option<PathBuf>,
    pub(super) stderr: StderrOption,
    pub(super) tracker: Option<ProcessTracker>,
}

/// The variables of this process that the server inherits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InheritedVariables {
    Default,
    All,
    Nothing,
}

/// The destination of the server's stderr.
#[derive(Clone)]
pub(super) enum StderrOption {
    Captured(Option<StderrListener>),
    Inherited,
}

impl ServerCommand {
    /// Creates a command for a program. The program is searched in `PATH`, unless its name contains a directory.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            arguments: Vec::new(),
            environment: Vec::new(),
            inherited: InheritedVariables::Default,
            directory: None,
            stderr: StderrOption::Captured(None),
            tracker: None,
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

    /// Sets an environment variable, for example a credential of the server.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        let value = value.as_ref().to_owned();
        self.environment
            .push((name.as_ref().to_owned(), Some(value)));
        self
    }

    /// Removes a variable from the server's environment, also one that is passed by default.
    pub fn env_remove(mut self, name: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.as_ref().to_owned(), None));
        self
    }

    /// Passes no variables of this process, including `PATH`, and removes the variables that were set before.
    pub fn env_clear(mut self) -> Self {
        self.inherited = InheritedVariables::Nothing;
        self.environment.clear();
        self
    }

    /// Passes all variables of this process to the server, credentials included. Default: only the variables named
    /// [above](Self#environment). Use it only for programs that you trust with all your credentials.
    pub fn with_inherited_env(mut self) -> Self {
        self.inherited = InheritedVariables::All;
        self
    }

    /// Adds the processes of this command to a tracker, which can wait for them and kill them. Default: no tracker.
    pub fn with_tracker(mut self, tracker: &ProcessTracker) -> Self {
        self.tracker = Some(tracker.clone());
        self
    }

    /// Sets the working directory of the server.
    pub fn current_dir(mut self, directory: impl AsRef<Path>) -> Self {
        self.directory = Some(directory.as_ref().to_owned());
        self
    }

    /// Sets the listener for the lines that the server writes to stderr. A line over 8 KiB is passed in parts.
    ///
    /// The listener runs in a task of the client, so it must not block. Without a listener the lines are logged with
    /// `tracing` at debug level.
    pub fn on_stderr(mut self, listener: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.stderr = StderrOption::Captured(Some(Arc::new(listener)));
        self
    }

    /// Passes the stderr of this process to the server. Errors then cannot quote the output of the server.
    pub fn inherit_stderr(mut self) -> Self {
        self.stderr = StderrOption::Inherited;
        self
    }

    /// Feeds everything that decides which server the command starts to a hasher.
    pub(super) fn hash_identity(&self, hasher: &mut impl Hasher) {
        self.program.hash(hasher);
        self.arguments.hash(hasher);
        self.environment.hash(hasher);
        self.directory.hash(hasher);
    }

    pub(super) fn program(&self) -> &OsStr {
        &self.program
    }

    pub(super) fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// Returns the command for the operating system, with pipes for the messages.
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
        match self.inherited {
            InheritedVariables::Default => {
                process
                    .env_clear()
                    .envs(default_variables(std::env::vars_os()));
            }
            InheritedVariables::All => {}
            InheritedVariables::Nothing => {
                process.env_clear();
            }
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
    /// Creates a command without arguments. The text is not split.
    fn from(program: &str) -> Self {
        Self::new(program)
    }
}

impl From<String> for ServerCommand {
    /// Creates a command without arguments. The text is not split.
    fn from(program: String) -> Self {
        Self::new(program)
    }
}

impl From<&Path> for ServerCommand {
    /// Creates a command without arguments.
    fn from(program: &Path) -> Self {
        Self::new(program)
    }
}

impl From<PathBuf> for ServerCommand {
    /// Creates a command without arguments.
    fn from(program: PathBuf) -> Self {
        Self::new(program)
    }
}

impl fmt::Display for ServerCommand {
    /// Writes only the program, because arguments may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.program.display())
    }
}

impl fmt::Debug for ServerCommand {
    /// Omits arguments and the values of variables, because they may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.environment.iter().map(|(name, _)| name).collect();
        f.debug_struct("ServerCommand")
            .field("program", &self.program)
            .field("arguments", &self.arguments.len())
            .field("environment", &names)
            .field("inherited", &self.inherited)
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
    fn env_clear_removes_variables_set_before() {
        let command = ServerCommand::new("x")
            .env("A", "1")
            .env_clear()
            .env("B", "2");
        let process = command.to_process();
        let names: Vec<_> = process.as_std().get_envs().collect();
        assert_eq!(names, [(OsStr::new("B"), Some(OsStr::new("2")))]);
    }

    /// Returns the names of the variables that the command sets.
    fn names(command: &ServerCommand) -> Vec<OsString> {
        let process = command.to_process();
        let variables = process.as_std().get_envs();
        let set = variables.filter(|(_, value)| value.is_some());
        set.map(|(name, _)| name.to_owned()).collect()
    }

    #[test]
    fn server_gets_only_default_variables_and_those_of_its_command() {
        // Cargo sets this variable for its tests. It stands for a credential of the host.
        let secret = OsStr::new("CARGO_MANIFEST_DIR");
        assert!(std::env::var_os(secret).is_some());
        let command = ServerCommand::new("x").env("API_KEY", "1");
        let passed = names(&command);
        assert!(!passed.iter().any(|name| name == secret), "{passed:?}");
        assert!(passed.iter().any(|name| name == "API_KEY"), "{passed:?}");
        assert!(
            passed.iter().any(|name| name.eq_ignore_ascii_case("PATH")),
            "{passed:?}"
        );
        let without_path = names(&command.env_remove("PATH"));
        assert!(
            !without_path
                .iter()
                .any(|name| name.eq_ignore_ascii_case("PATH")),
            "{without_path:?}"
        );
    }

    #[test]
    fn inherited_environment_is_not_replaced() {
        // The list is empty because nothing is changed: the process inherits all variables.
        let command = ServerCommand::new("x").with_inherited_env();
        assert!(names(&command).is_empty());
        assert_eq!(names(&command.env("A", "1")), ["A"]);
    }
}
