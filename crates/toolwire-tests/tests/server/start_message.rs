//! The line that a server writes when it is started in a terminal. The servers are this test program, started again with
//! a pseudo-terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use toolwire::Server;
use toolwire::transport::StdioOptions;
use toolwire::transport::http::HttpOptions;

/// The environment variable with the way in which a child serves.
const SERVES: &str = "TOOLWIRE_TEST_SERVES";

/// The test that a child runs. It serves if [`SERVES`] is set.
const CHILD_TEST: &str = "start_message::server_with_pipes_writes_no_line";

/// The end of the input, as a user types it.
const CTRL_D: &[u8] = b"\x04";

/// Serves as the environment asks. Returns `false` if this process is not a child.
async fn serve_in_child() -> bool {
    let server = Server::new("notes", "1.2.3");
    // The HTTP servers shut down as soon as they listen.
    let shutdown = server.clone();
    let address = "127.0.0.1:0";
    let served = match std::env::var(SERVES).as_deref() {
        Ok("stdio") => server.serve_stdio().await,
        Ok("quiet stdio") => {
            let options = StdioOptions::new().without_start_message();
            server.serve_stdio_with(options).await
        }
        Ok("http") => {
            shutdown.shutdown();
            server.serve_http(address).await
        }
        Ok("quiet http") => {
            shutdown.shutdown();
            let options = HttpOptions::new().without_start_message();
            server.serve_http_with(address, options).await
        }
        _ => return false,
    };
    served.expect("the server ends without an error");
    true
}

fn child(serves: &str) -> Command {
    let program = std::env::current_exe().expect("the path of this program");
    let mut command = Command::new(program);
    command.args(["--exact", CHILD_TEST, "--nocapture"]);
    command.env(SERVES, serves);
    command
}

/// A pseudo-terminal: the side of the user, and the path of the side of the programs.
struct Terminal {
    user: File,
    path: PathBuf,
}

impl Terminal {
    fn open() -> Self {
        let user = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
        grantpt(&user).expect("the terminal is ours");
        unlockpt(&user).expect("the terminal is ours");
        let path = ptsname(&user, Vec::new()).expect("the path of the terminal");
        let path = PathBuf::from(std::ffi::OsStr::from_bytes(path.as_bytes()));
        Self {
            user: user.into(),
            path,
        }
    }

    fn stdio(&self) -> Stdio {
        let side = File::options().read(true).write(true).open(&self.path);
        side.expect("the terminal can be opened").into()
    }

    /// Returns all that is written to the terminal until all programs have closed it.
    fn read_to_end(mut self) -> String {
        let mut output = Vec::new();
        // Linux reports the end as an error.
        if let Err(error) = self.user.read_to_end(&mut output) {
            let end = rustix::io::Errno::IO.raw_os_error();
            assert_eq!(error.raw_os_error(), Some(end), "{error}");
        }
        String::from_utf8(output).expect("text")
    }
}

/// Starts a server in a terminal, with a pipe as its standard output. Returns the output to the terminal and to the pipe
/// until the server ends.
fn run_in_terminal(serves: &str) -> (String, String) {
    let mut terminal = Terminal::open();
    let mut child = child(serves)
        .stdin(terminal.stdio())
        .stdout(Stdio::piped())
        .stderr(terminal.stdio())
        .spawn()
        .expect("a child");
    terminal
        .user
        .write_all(CTRL_D)
        .expect("the terminal is open");
    // The terminal is read while the child runs, because some systems discard its output at the end.
    let shown = std::thread::spawn(move || terminal.read_to_end());
    let mut stdout = String::new();
    let mut pipe = child.stdout.take().expect("a pipe");
    pipe.read_to_string(&mut stdout).expect("text");
    let status = child.wait().expect("the child ends");
    assert!(status.success(), "{stdout}");
    (shown.join().expect("no panic"), stdout)
}

#[test]
fn server_on_stdio_in_a_terminal_says_how_a_client_starts_it() {
    let (shown, stdout) = run_in_terminal("stdio");
    let line = "notes 1.2.3 waits for MCP messages on standard input";
    assert_eq!(shown.matches(line).count(), 1, "{shown}");
    let program = std::env::current_exe().expect("the path of this program");
    let command = format!("{} --exact {CHILD_TEST}", program.display());
    assert!(shown.contains(&command), "{shown}");
    assert!(!stdout.contains("waits for"), "{stdout}");
}

#[test]
fn server_on_http_in_a_terminal_writes_its_url() {
    let (shown, stdout) = run_in_terminal("http");
    let (before, after) = shown
        .split_once("listens on http://127.0.0.1:")
        .expect(&shown);
    assert!(before.ends_with("notes 1.2.3 "), "{shown}");
    let (port, _) = after.split_once("/mcp ").expect(&shown);
    assert!(port.parse::<u16>().is_ok_and(|port| port > 0), "{shown}");
    assert!(!stdout.contains("listens on"), "{stdout}");
}

#[test]
fn start_message_can_be_disabled() {
    for serves in ["quiet stdio", "quiet http"] {
        let (shown, stdout) = run_in_terminal(serves);
        for output in [shown, stdout] {
            assert!(!output.contains("notes 1.2.3"), "{serves}: {output}");
        }
    }
}

#[tokio::test]
async fn server_with_pipes_writes_no_line() {
    if serve_in_child().await {
        return;
    }
    for serves in ["stdio", "http"] {
        let output = child(serves)
            .stdin(Stdio::null())
            .output()
            .expect("a child");
        assert!(output.status.success(), "{output:?}");
        for output in [output.stdout, output.stderr] {
            let output = String::from_utf8(output).expect("text");
            assert!(!output.contains("notes 1.2.3"), "{serves}: {output}");
        }
    }
}
