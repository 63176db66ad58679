//! `toolwire demo --http`: the process around the endpoint.

use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStderr, Command};

use crate::process::{toolwire, within};

/// The running server.
pub(crate) struct HttpDemo {
    child: Child,
    stderr_lines: Lines<BufReader<ChildStderr>>,
    /// The address, such as `127.0.0.1:3000`.
    address: String,
    /// The log lines before it listened.
    logged: Vec<String>,
}

impl HttpDemo {
    pub(crate) async fn start(arguments: &[&str]) -> Self {
        let mut command = toolwire(&["demo", "--http", "127.0.0.1:0"]);
        command.args(arguments);
        Self::start_command(command).await
    }

    /// Starts the server and waits until it prints its address.
    pub(crate) async fn start_command(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the program under test starts");
        let stderr = child.stderr.take().expect("standard error is piped");
        let mut stderr_lines = BufReader::new(stderr).lines();
        // Log lines may come first.
        let mut logged = Vec::new();
        let address = loop {
            let line = within(stderr_lines.next_line())
                .await
                .expect("standard error is readable")
                .expect("the server prints its address");
            let url = line.strip_prefix("listening on http://");
            if let Some(address) = url.and_then(|rest| rest.strip_suffix("/mcp")) {
                break address.to_owned();
            }
            logged.push(line);
        };
        Self {
            child,
            stderr_lines,
            address,
            logged,
        }
    }

    /// Returns the lines before the address.
    pub(crate) fn logged(&self) -> &[String] {
        &self.logged
    }

    /// Returns the URL for clients.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        within(TcpStream::connect(&self.address))
            .await
            .expect("the server listens")
    }

    /// Sends a request and returns the first line of the response.
    async fn first_line(&self) -> String {
        let mut client = self.connect().await;
        let request = format!("GET /nowhere HTTP/1.1\r\nHost: {}\r\n\r\n", self.address);
        client
            .write_all(request.as_bytes())
            .await
            .expect("the server reads");
        let mut line = String::new();
        within(BufReader::new(client).read_line(&mut line))
            .await
            .expect("the server responds");
        line
    }

    /// Waits for a line on standard error.
    #[cfg(unix)]
    async fn wait_for_log(&mut self, part: &str) {
        loop {
            let line = within(self.stderr_lines.next_line())
                .await
                .expect("standard error is readable");
            if line.expect("the line comes before the end").contains(part) {
                return;
            }
        }
    }

    /// Returns the address that the server listens on.
    #[cfg(target_os = "linux")]
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Returns the id of the process.
    #[cfg(target_os = "linux")]
    pub(crate) fn process_id(&self) -> u32 {
        self.child.id().expect("the process still runs")
    }

    #[cfg(unix)]
    fn signal(&self, signal: rustix::process::Signal) {
        let id = self.child.id().expect("the process still runs");
        let process =
            rustix::process::Pid::from_raw(id.cast_signed()).expect("a process id is not zero");
        rustix::process::kill_process(process, signal).expect("the process still runs");
    }

    /// Waits for the exit, and returns its code.
    #[cfg(target_os = "linux")]
    pub(crate) async fn exit_code(mut self) -> Option<i32> {
        let status = within(self.child.wait()).await.expect("the process exits");
        status.code()
    }

    /// Ends the process, and returns the lines of standard error that were not read.
    pub(crate) async fn killed(mut self) -> String {
        within(self.child.kill()).await.expect("the process ends");
        let mut rest = String::new();
        while let Some(line) = within(self.stderr_lines.next_line()).await.expect("UTF-8") {
            rest.push_str(&line);
            rest.push('\n');
        }
        rest
    }

    /// Waits for a clean exit.
    pub(crate) async fn exits_successfully(mut self) {
        let status = within(self.child.wait()).await.expect("the process exits");
        assert!(status.success(), "{status}");
    }
}

#[tokio::test]
async fn random_key_is_logged_at_the_start() {
    let mut command = toolwire(&["demo", "--http", "127.0.0.1:0"]);
    command.env("RUST_LOG", "info").env("NO_COLOR", "1");
    let demo = HttpDemo::start_command(command).await;
    let key_messages = demo
        .logged
        .iter()
        .filter(|line| line.contains("with_request_state_keys"));
    assert_eq!(key_messages.count(), 1, "{:?}", demo.logged);
}

#[tokio::test]
async fn address_in_use_ends_the_command() {
    let demo = HttpDemo::start(&[
        "--sse",
        "--public-host",
        "a.test",
        "--public-host",
        "b.test",
    ])
    .await;
    assert!(demo.first_line().await.starts_with("HTTP/1.1 "));
    let second = toolwire(&["demo", "--http", &demo.address]).output();
    let output = within(second).await.unwrap();
    assert!(!output.status.success());
    let text = String::from_utf8(output.stderr).unwrap();
    let expected = format!("toolwire: cannot listen on {}: ", demo.address);
    assert!(text.starts_with(&expected), "{text}");
}

#[tokio::test]
async fn conflicting_arguments_are_rejected() {
    for arguments in [
        &["demo", "--http", "--stdio"][..],
        &["demo", "--sse"],
        &["demo", "--public-host", "a.test"],
    ] {
        let output = within(toolwire(arguments).output()).await.unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}

#[cfg(unix)]
mod unix {
    use std::time::Instant;

    use rustix::process::Signal;

    use super::*;

    #[tokio::test]
    async fn signals_end_the_server_cleanly() {
        for signal in [Signal::INT, Signal::TERM] {
            let demo = HttpDemo::start(&[]).await;
            assert!(demo.first_line().await.starts_with("HTTP/1.1 "));
            demo.signal(signal);
            demo.exits_successfully().await;
        }
    }

    #[tokio::test]
    async fn second_signal_ends_the_server_at_once() {
        let mut command = toolwire(&["demo", "--http", "127.0.0.1:0"]);
        command.env("RUST_LOG", "info").env("NO_COLOR", "1");
        let mut demo = HttpDemo::start_command(command).await;
        let mut unfinished = demo.connect().await;
        unfinished
            .write_all(b"GET / HTTP/1.1\r\nX-Never-Ends: ")
            .await
            .unwrap();
        // This connection was accepted later, so the idle one was accepted, too.
        demo.first_line().await;
        let start = Instant::now();
        demo.signal(Signal::TERM);
        demo.wait_for_log("shutting down").await;
        demo.signal(Signal::TERM);
        demo.wait_for_log("shutting down at once").await;
        demo.exits_successfully().await;
        // Otherwise it would wait ten seconds for the client.
        assert!(start.elapsed().as_secs() < 9);
        let mut rest = Vec::new();
        let _ = within(unfinished.read_to_end(&mut rest)).await;
        assert_eq!(rest, b"");
    }

    #[tokio::test]
    async fn exhausted_descriptors_do_not_end_the_server() {
        let mut command = Command::new("sh");
        command
            .arg("-c")
            .arg(r#"ulimit -n 32 && exec "$0" demo --http 127.0.0.1:0"#)
            .arg(env!("CARGO_BIN_EXE_toolwire"))
            .env("RUST_LOG", "warn")
            .env("NO_COLOR", "1");
        let mut demo = HttpDemo::start_command(command).await;
        let mut clients = Vec::new();
        for _ in 0..40 {
            clients.push(demo.connect().await);
        }
        demo.wait_for_log("cannot accept connections").await;
        drop(clients);
        assert!(demo.first_line().await.starts_with("HTTP/1.1 "));
        demo.signal(Signal::TERM);
        demo.exits_successfully().await;
    }
}
