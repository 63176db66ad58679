//! A Redis or Valkey that a test starts and stops.

use std::io::{self, BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The names of the engine, in the order in which they are tried.
const PROGRAMS: [&str; 2] = ["redis-server", "valkey-server"];

/// The environment variable that selects another program, for example `valkey-server`.
const PROGRAM_VARIABLE: &str = "TOOLWIRE_ENGINE";

/// The name of Valkey.
const VALKEY: &str = "valkey-server";

/// The environment variable that selects another program as Valkey.
const VALKEY_VARIABLE: &str = "TOOLWIRE_VALKEY";

/// The longest time until the engine responds.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// The longest time until the engine responds to a command.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(10);

/// The arguments of an engine that loses no acknowledged write when it is killed.
pub const PERSISTENT: [&str; 6] = [
    "--save",
    "",
    "--appendonly",
    "yes",
    "--appendfsync",
    "always",
];

/// The arguments of an engine that stores everything in memory.
pub const IN_MEMORY: [&str; 4] = ["--save", "", "--appendonly", "no"];

/// A running engine with its own directory and Unix socket. It ends when it is dropped.
#[derive(Debug)]
pub struct Engine {
    programs: Programs,
    directory: PathBuf,
    arguments: Vec<String>,
    process: Child,
}

impl Engine {
    /// Starts an engine with these arguments, and waits until it responds.
    ///
    /// # Errors
    /// Returns an error if no engine is installed, or if it does not start.
    pub fn start(arguments: &[&str]) -> io::Result<Self> {
        Self::start_one_of(Programs::of_all_engines(), arguments)
    }

    /// Starts Valkey with these arguments, and waits until it responds.
    ///
    /// # Errors
    /// Returns an error if Valkey is not installed, or if it does not start.
    pub fn start_valkey(arguments: &[&str]) -> io::Result<Self> {
        Self::start_one_of(Programs::of_valkey(), arguments)
    }

    fn start_one_of(programs: Programs, arguments: &[&str]) -> io::Result<Self> {
        let arguments = arguments.iter().map(ToString::to_string);
        Self::start_in(new_directory()?, programs, arguments.collect())
    }

    fn start_in(
        directory: PathBuf,
        programs: Programs,
        arguments: Vec<String>,
    ) -> io::Result<Self> {
        let process = spawn(&programs, &directory, &arguments)?;
        let engine = Self {
            programs,
            directory,
            arguments,
            process,
        };
        engine.wait_until_it_responds()?;
        Ok(engine)
    }

    /// Starts a sentinel with this configuration, and waits until it responds.
    ///
    /// # Errors
    /// Returns an error if no engine is installed, or if it does not start.
    pub fn start_sentinel(configuration: &str) -> io::Result<Self> {
        let directory = new_directory()?;
        let file = directory.join("sentinel.conf");
        std::fs::write(&file, configuration)?;
        // The file has to be the first argument.
        Self::start_in(
            directory,
            Programs::of_all_engines(),
            vec![file.display().to_string(), "--sentinel".into()],
        )
    }

    /// Returns the directory of the engine.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the URL of the engine.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis+unix://{}", self.socket().display())
    }

    /// Returns the process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Ends the engine at once.
    pub fn kill(&mut self) {
        // An error means that the process has exited already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Starts the engine again with the data in its directory.
    ///
    /// # Errors
    /// Returns an error if it does not start.
    pub fn restart(&mut self) -> io::Result<()> {
        self.kill();
        self.process = spawn(&self.programs, &self.directory, &self.arguments)?;
        self.wait_until_it_responds()
    }

    /// Returns the path of the Unix socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.directory.join("socket")
    }

    /// Sends a command without special characters, and returns the text of the response.
    ///
    /// # Errors
    /// Returns an error if the engine does not respond, or rejects the command.
    pub fn command(&self, command: &str) -> io::Result<String> {
        let mut connection = BufReader::new(UnixStream::connect(self.socket())?);
        connection
            .get_ref()
            .set_read_timeout(Some(COMMAND_TIMEOUT))?;
        connection
            .get_mut()
            .write_all(format!("{command}\r\n").as_bytes())?;
        let mut line = String::new();
        connection.read_line(&mut line)?;
        let line = line.trim_end();
        match line.split_at_checked(1) {
            Some(("+" | ":", text)) => Ok(text.to_owned()),
            Some(("$", length)) => {
                let mut text = vec![0; length.parse().map_err(io::Error::other)?];
                connection.read_exact(&mut text)?;
                String::from_utf8(text).map_err(io::Error::other)
            }
            _ => Err(io::Error::other(format!("{command}: {line}"))),
        }
    }

    fn wait_until_it_responds(&self) -> io::Result<()> {
        let start = Instant::now();
        while !responds(&self.socket()).unwrap_or(false) {
            if start.elapsed() > START_TIMEOUT {
                return Err(io::Error::new(
                    ErrorKind::TimedOut,
                    "the engine did not start",
                ));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.kill();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Creates the directory of an engine.
fn new_directory() -> io::Result<PathBuf> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    // The path of a socket may have about 100 bytes.
    let name = format!("toolwire-engine-{}-{number}", std::process::id());
    let directory = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&directory)?;
    Ok(directory)
}

/// Checks whether an engine responds. It may reject the command because it needs a password, but not because it still
/// loads its data.
fn responds(socket: &Path) -> io::Result<bool> {
    let mut connection = UnixStream::connect(socket)?;
    connection.set_read_timeout(Some(Duration::from_secs(1)))?;
    connection.write_all(b"PING\r\n")?;
    let mut response = [0; 64];
    let length = connection.read(&mut response)?;
    let response = &response[..length];
    Ok(response.starts_with(b"+PONG") || response.starts_with(b"-NOAUTH"))
}

/// Returns the arguments of an engine with a socket. Those that are given may set a port.
fn own_arguments(directory: &Path, arguments: &[String]) -> Vec<String> {
    let path = |path: &Path| path.display().to_string();
    let socket = [
        "--unixsocket".to_owned(),
        path(&directory.join("socket")),
        "--dir".to_owned(),
        path(directory),
    ];
    if arguments.iter().any(|argument| argument == "--sentinel") {
        return [arguments, &socket[..]].concat();
    }
    let port = ["--port".to_owned(), "0".to_owned()];
    [&port[..], &socket[..], arguments].concat()
}

fn spawn(programs: &Programs, directory: &Path, arguments: &[String]) -> io::Result<Child> {
    for program in &programs.names {
        let started = Command::new(program)
            .args(own_arguments(directory, arguments))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn();
        match started {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            started => return started,
        }
    }
    Err(io::Error::new(ErrorKind::NotFound, programs.remedy.clone()))
}

/// The programs that may be the engine.
#[derive(Debug)]
struct Programs {
    /// In the order in which they are tried.
    names: Vec<String>,
    /// What to do if none of them is installed.
    remedy: String,
}

impl Programs {
    /// Returns the programs of all engines, or the one that is configured.
    fn of_all_engines() -> Self {
        let names = match std::env::var(PROGRAM_VARIABLE) {
            Ok(program) => vec![program],
            Err(_) => PROGRAMS.map(str::to_owned).to_vec(),
        };
        let remedy = format!(
            "install redis-server or valkey-server (on Debian: `apt-get install redis-server`), or set {PROGRAM_VARIABLE} to \
             another program"
        );
        Self { names, remedy }
    }

    /// Returns the program of Valkey.
    fn of_valkey() -> Self {
        let configured = std::env::var(VALKEY_VARIABLE);
        Self {
            names: vec![configured.unwrap_or_else(|_| VALKEY.to_owned())],
            remedy: format!(
                "install valkey-server, or set {VALKEY_VARIABLE} to its path; `cargo xtask test` has a Valkey of its own"
            ),
        }
    }
}
