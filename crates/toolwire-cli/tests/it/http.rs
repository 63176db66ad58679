//! `toolwire demo --http`: the process around the endpoint.

use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStderr, Command};

use crate::process::{toolwire, within};

/// The running server.
pub(crate) struct HttpDemo {
    child: Child,
    errors: Lines<BufReader<ChildStderr>>,
    /// `127.0.0.1:3000`
    address: String,
    /// What it logged before it listened.
    logged: Vec<String>,
}

impl HttpDemo {
    pub(crate) async fn start(arguments: &[&str]) -> Self {
        let mut command = toolwire(&["demo", "--http", "127.0.0.1:0"]);
        command.args(arguments);
        Self::start_command(command).await
    }

    /// Starts it and waits until it says where it listens.
    pub(crate) async fn start_command(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the program under test starts");
        let stderr = child.stderr.take().expect("it is piped");
        let mut errors = BufReader::new(stderr).lines();
        // Logs, where they are wanted, may come first.
        let mut logged = Vec::new();
        let address = loop {
            let line = within(errors.next_line())
                .await
                .expect("it can be read")
                .expect("it says where it listens");
            let url = line.strip_prefix("listening on http://");
            if let Some(address) = url.and_then(|rest| rest.strip_suffix("/mcp")) {
                break address.to_owned();
            }
            logged.push(line);
        };
        Self {
            child,
            errors,
            address,
            logged,
        }
    }

    /// Where clients go.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    async fn connect(&self) -> TcpStream {
        within(TcpStream::connect(&self.address))
            .await
            .expect("it listens")
    }

    /// Asks for something and returns the first line of the answer.
    async fn first_line(&self) -> String {
        let mut client = self.connect().await;
        let request = format!("GET /nowhere HTTP/1.1\r\nHost: {}\r\n\r\n", self.address);
        client
            .write_all(request.as_bytes())
            .await
            .expect("it reads");
        let mut line = String::new();
        within(BufReader::new(client).read_line(&mut line))
            .await
            .expect("it answers");
        line
    }

    /// Waits for a line on standard error.
    #[cfg(unix)]
    async fn says(&mut self, part: &str) {
        loop {
            let line = within(self.errors.next_line())
                .await
                .expect("it can be read");
            if line.expect("it says so before it ends").contains(part) {
                return;
            }
        }
    }

    /// The address that it listens on.
    #[cfg(target_os = "linux")]
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// The id of the process.
    #[cfg(target_os = "linux")]
    pub(crate) fn process_id(&self) -> u32 {
        self.child.id().expect("it still runs")
    }

    #[cfg(unix)]
    fn signal(&self, signal: rustix::process::Signal) {
        let id = self.child.id().expect("nobody has waited for it yet");
        let process = rustix::process::Pid::from_raw(id.cast_signed()).expect("not zero");
        rustix::process::kill_process(process, signal).expect("it still runs");
    }

    /// Waits for a good end.
    async fn ends_well(mut self) {
        let status = within(self.child.wait())
            .await
            .expect("it can be waited for");
        assert!(status.success(), "{status}");
    }
}

#[tokio::test]
async fn what_a_random_key_means_for_several_nodes_is_told_at_the_start() {
    let mut command = toolwire(&["demo", "--http", "127.0.0.1:0"]);
    command.env("RUST_LOG", "info").env("NO_COLOR", "1");
    let demo = HttpDemo::start_command(command).await;
    let told = demo
        .logged
        .iter()
        .filter(|line| line.contains("with_request_state_keys"));
    assert_eq!(told.count(), 1, "{:?}", demo.logged);
}

#[tokio::test]
async fn an_address_that_is_taken_ends_the_command() {
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
async fn arguments_that_do_not_go_together_are_refused() {
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
    async fn signals_end_it_well() {
        for signal in [Signal::INT, Signal::TERM] {
            let demo = HttpDemo::start(&[]).await;
            assert!(demo.first_line().await.starts_with("HTTP/1.1 "));
            demo.signal(signal);
            demo.ends_well().await;
        }
    }

    #[tokio::test]
    async fn a_second_signal_ends_it_at_once() {
        let mut command = toolwire(&["demo", "--http", "127.0.0.1:0"]);
        command.env("RUST_LOG", "info").env("NO_COLOR", "1");
        let mut demo = HttpDemo::start_command(command).await;
        let mut hanging = demo.connect().await;
        hanging
            .write_all(b"GET / HTTP/1.1\r\nX-Never-Ends: ")
            .await
            .unwrap();
        // Answered on a connection that was accepted later, so the hanging one was accepted, too.
        demo.first_line().await;
        let began = Instant::now();
        demo.signal(Signal::TERM);
        demo.says("shutting down").await;
        demo.signal(Signal::TERM);
        demo.says("shutting down at once").await;
        demo.ends_well().await;
        // Otherwise it would have waited ten seconds for the client.
        assert!(began.elapsed().as_secs() < 9);
        let mut rest = Vec::new();
        let _ = within(hanging.read_to_end(&mut rest)).await;
        assert_eq!(rest, b"");
    }

    #[tokio::test]
    async fn running_out_of_descriptors_does_not_end_it() {
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
        demo.says("no connection can be accepted at the moment")
            .await;
        drop(clients);
        assert!(demo.first_line().await.starts_with("HTTP/1.1 "));
        demo.signal(Signal::TERM);
        demo.ends_well().await;
    }
}
