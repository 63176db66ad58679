//! The engine of a fleet, and what it executes.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// The names of the engine, in the order in which they are tried.
const PROGRAMS: [&str; 2] = ["redis-server", "valkey-server"];

/// The environment variable that selects another program, for example `valkey-server`.
const PROGRAM_VARIABLE: &str = "TOOLWIRE_ENGINE";

/// The longest time until the engine responds.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// A running engine without persistence, on a Unix socket. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct Engine {
    directory: PathBuf,
    process: Child,
}

impl Engine {
    /// Starts an engine.
    pub(super) fn start() -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("toolwire-bench-{}-{number}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&directory)?;
        let process = spawn(&directory)?;
        let engine = Self { directory, process };
        let start = Instant::now();
        loop {
            match engine.connect().and_then(|mut engine| engine.send("PING")) {
                Ok(_) => return Ok(engine),
                Err(error) if start.elapsed() > START_TIMEOUT => return Err(error),
                Err(_) => thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    /// Returns the URL for nodes.
    pub(super) fn url(&self) -> String {
        format!("redis+unix://{}", self.socket().display())
    }

    /// Opens a connection for commands.
    pub(super) fn connect(&self) -> io::Result<EngineConnection> {
        let socket = UnixStream::connect(self.socket())?;
        socket.set_read_timeout(Some(START_TIMEOUT))?;
        Ok(EngineConnection {
            socket: BufReader::new(socket),
        })
    }

    /// Starts to record all commands.
    pub(super) fn record(&self) -> io::Result<Recording> {
        let mut connection = self.connect()?;
        connection.send("MONITOR")?;
        connection.socket.get_ref().set_read_timeout(None)?;
        let (sender, commands) = mpsc::channel();
        thread::spawn(move || {
            for line in connection.socket.lines().map_while(Result::ok) {
                let command = command_in(&line);
                if command.is_some_and(|command| sender.send(command).is_err()) {
                    return;
                }
            }
        });
        Ok(Recording { commands })
    }

    fn socket(&self) -> PathBuf {
        self.directory.join("socket")
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // An error means that the process has exited already.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn spawn(directory: &Path) -> io::Result<Child> {
    for program in programs() {
        let started = Command::new(&program)
            .args(["--port", "0", "--save", "", "--appendonly", "no"])
            .arg("--unixsocket")
            .arg(directory.join("socket"))
            .arg("--dir")
            .arg(directory)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn();
        match started {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            started => return started,
        }
    }
    Err(io::Error::new(
        ErrorKind::NotFound,
        format!(
            "install redis-server or valkey-server (on Debian: `apt-get install redis-server`), or set {PROGRAM_VARIABLE} to \
             another program"
        ),
    ))
}

/// Returns the programs that may be the engine, in the order in which they are tried.
fn programs() -> Vec<String> {
    match std::env::var(PROGRAM_VARIABLE) {
        Ok(program) => vec![program],
        Err(_) => PROGRAMS.map(str::to_owned).to_vec(),
    }
}

/// A connection for commands.
#[derive(Debug)]
pub(super) struct EngineConnection {
    socket: BufReader<UnixStream>,
}

impl EngineConnection {
    /// Sends a command without special characters, and returns the text of the response.
    pub(super) fn send(&mut self, command: &str) -> io::Result<String> {
        let request = format!("{command}\r\n");
        self.socket.get_mut().write_all(request.as_bytes())?;
        let mut line = String::new();
        self.socket.read_line(&mut line)?;
        let line = line.trim_end();
        match line.split_at_checked(1) {
            Some(("+" | ":", text)) => Ok(text.to_owned()),
            Some(("$", length)) => {
                let length: usize = length.parse().map_err(io::Error::other)?;
                let mut text = vec![0; length + 2];
                self.socket.read_exact(&mut text)?;
                text.truncate(length);
                String::from_utf8(text).map_err(io::Error::other)
            }
            _ => Err(io::Error::other(format!("{command}: {line}"))),
        }
    }

    /// Returns the bytes of memory that the engine uses.
    pub(super) fn memory(&mut self) -> io::Result<u64> {
        let information = self.send("INFO memory")?;
        let mut lines = information.lines();
        let used = lines.find_map(|line| line.strip_prefix("used_memory:"));
        let used = used.and_then(|used| used.trim().parse().ok());
        used.ok_or_else(|| io::Error::other("the engine does not report its memory"))
    }
}

/// The number of commands by name.
pub(super) type Commands = BTreeMap<String, usize>;

/// The recorded commands of all connections.
#[derive(Debug)]
pub(super) struct Recording {
    commands: Receiver<String>,
}

impl Recording {
    /// Returns the commands since the last call.
    pub(super) fn take(&self) -> Commands {
        let mut commands = Commands::new();
        for command in self.commands.try_iter() {
            *commands.entry(command).or_default() += 1;
        }
        commands
    }
}

/// The name of the messages by which nodes show that they run.
pub(super) const HEARTBEAT: &str = "heartbeat";

/// Returns the name of the command in a line of `MONITOR`. Commands of scripts and of the benchmark are left out.
///
/// A line is `<time> [<database> <address>] "<command>" "<argument>" …`.
fn command_in(line: &str) -> Option<String> {
    let (origin, command) = line.split_once("] ")?;
    if origin.ends_with(" lua") {
        return None;
    }
    let name = command.split_once('"')?.1.split('"').next()?;
    match name.to_ascii_uppercase() {
        name if name == "INFO" => None,
        name if name == "PUBLISH" && command.contains(r#"\"messages\":[]"#) => {
            Some(HEARTBEAT.to_owned())
        }
        name => Some(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_scripts_are_not_counted() {
        let check = |line: &str, expected: Option<&str>| {
            assert_eq!(command_in(line).as_deref(), expected, "{line}");
        };
        check(
            r#"1.2 [0 unix:/tmp/socket] "evalsha" "ab" "1" "key""#,
            Some("EVALSHA"),
        );
        check(r#"1.2 [0 lua] "GET" "key""#, None);
        check(
            r#"1.2 [0 127.0.0.1:4] "GETEX" "k] \"x\"" "PX" "1""#,
            Some("GETEX"),
        );
        check(r#"1.2 [0 unix:/tmp/socket] "info" "memory""#, None);
        check("OK", None);
        let publish = |messages: &str| {
            format!(r#"1.2 [0 unix:/tmp/socket] "PUBLISH" "bus" "{{\"messages\":{messages}}}""#)
        };
        check(&publish("[]"), Some(HEARTBEAT));
        check(&publish("[{}]"), Some("PUBLISH"));
    }
}
