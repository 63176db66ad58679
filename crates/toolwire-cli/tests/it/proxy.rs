//! `toolwire proxy`: the transports on both sides, failures, and the end of its server process.

use tokio::process::Command;

use crate::client::{TempDirectory, run, run_command};
use crate::gateway::expect_calls;
use crate::http::HttpDemo;
use crate::process::toolwire;

const PROGRAM: &str = env!("CARGO_BIN_EXE_toolwire");

/// Returns a call of `add` in an era. The server is added by the caller.
fn add(era: &str) -> Command {
    toolwire(&["call", "--json", "--era", era, "add", "a=1", "b=2"])
}

async fn assert_adds(command: Command) {
    let output = run_command(command).await.json();
    assert_eq!(output["structuredContent"]["sum"], 3, "{output}");
}

#[tokio::test]
async fn client_on_stdio_reaches_a_command() {
    for era in ["modern", "legacy"] {
        let mut command = add(era);
        command.args(["--", PROGRAM, "proxy", "--", PROGRAM, "demo", "--stdio"]);
        assert_adds(command).await;
    }
    // One process is sufficient for a client.
    let mut command = add("legacy");
    command.args(["--", PROGRAM, "proxy", "--max-sessions", "1"]);
    command.args(["--", PROGRAM, "demo", "--stdio"]);
    assert_adds(command).await;
}

#[tokio::test]
async fn client_on_stdio_reaches_an_address() {
    let demo = HttpDemo::start(&[]).await;
    for era in ["modern", "legacy"] {
        let mut command = add(era);
        command.args(["--", PROGRAM, "proxy", &demo.url()]);
        assert_adds(command).await;
    }
}

#[tokio::test]
async fn client_over_http_reaches_a_command() {
    let mut command = toolwire(&["proxy", "--listen", "127.0.0.1:0"]);
    command.args(["--", PROGRAM, "demo", "--stdio"]);
    let proxy = HttpDemo::start_command(command).await;
    for era in ["modern", "legacy"] {
        let call = [
            "call",
            &proxy.url(),
            "add",
            "a=1",
            "b=2",
            "--era",
            era,
            "--json",
        ];
        assert_adds(toolwire(&call)).await;
    }
}

#[tokio::test]
async fn client_over_http_reaches_an_address() {
    let demo = HttpDemo::start(&[]).await;
    let proxy = toolwire(&["proxy", &demo.url(), "--listen", "127.0.0.1:0"]);
    let proxy = HttpDemo::start_command(proxy).await;
    for era in ["modern", "legacy"] {
        let call = [
            "call",
            &proxy.url(),
            "add",
            "a=1",
            "b=2",
            "--era",
            era,
            "--json",
        ];
        assert_adds(toolwire(&call)).await;
    }
}

#[tokio::test]
async fn access_log_has_the_requests_over_http() {
    let directory = TempDirectory::new("access-log");
    let (of_demo, of_proxy) = (directory.0.join("demo"), directory.0.join("proxy"));
    let mut demo = toolwire(&["demo", "--http", "127.0.0.1:0", "--access-log"]);
    demo.arg(&of_demo);
    let demo = HttpDemo::start_command(demo).await;
    let mut proxy = toolwire(&[
        "proxy",
        &demo.url(),
        "--listen",
        "127.0.0.1:0",
        "--access-log",
    ]);
    proxy.arg(&of_proxy);
    let proxy = HttpDemo::start_command(proxy).await;
    for _ in 0..2 {
        let call = ["call", &proxy.url(), "add", "a=1", "b=2", "--json"];
        assert_adds(toolwire(&call)).await;
    }
    for log in [&of_demo, &of_proxy] {
        expect_calls(log, &[("/mcp", "add"), ("/mcp", "add")]).await;
    }
    // On stdio, there are no requests over HTTP.
    let url = demo.url();
    let failed = run(&["proxy", &url, "--access-log", "-"]).await.failed(2);
    assert!(failed.contains("--listen"), "{failed}");
    let missing = directory.0.join("none/access").display().to_string();
    let listen = ["--listen", "127.0.0.1:0", "--access-log", &missing];
    let failed = run(&[&["proxy", &url], &listen[..]].concat())
        .await
        .failed(2);
    assert!(failed.contains("none/access"), "{failed}");
    assert!(failed.contains("`-` for standard error"), "{failed}");
}

#[tokio::test]
async fn unreachable_server_fails_at_the_start_unless_lazy() {
    let url = "http://127.0.0.1:9/mcp";
    let failed = run(&["proxy", url]).await;
    assert_eq!(failed.stdout, "");
    let failed = failed.failed(3);
    assert!(failed.contains("refused the connection"), "{failed}");
    let listen = ["proxy", "--listen", "127.0.0.1:0"];
    let command = ["--", "no-such-server-command"];
    let failed = run(&[&listen[..], &command].concat()).await.failed(3);
    assert!(failed.contains("no-such-server-command"), "{failed}");
    assert_eq!(run(&["proxy", "--lazy", url]).await.ok(), "");
}

#[tokio::test]
async fn address_beyond_loopback_needs_a_permission() {
    let url = "http://127.0.0.1:9/mcp";
    let failed = run(&["proxy", "--listen", "0.0.0.0:0", url])
        .await
        .failed(2);
    let expected = "toolwire: --listen 0.0.0.0:0: other machines could use the server without authorization\n  try: listen on 127.0.0.1, or permit it with --insecure-open\n";
    assert_eq!(failed, expected);
    // With the permission, the next step fails.
    let insecure = ["proxy", "--listen", "0.0.0.0:0", "--insecure-open", url];
    run(&insecure).await.failed(3);
    let failed = run(&["proxy", "--listen", "127.0.0.1", url])
        .await
        .failed(2);
    assert!(failed.contains("give a host and a port"), "{failed}");
}

#[tokio::test]
async fn options_of_a_client_are_rejected() {
    let url = "http://127.0.0.1:9/mcp";
    for options in [["--root", "file:///a"], ["--log-level", "info"]] {
        let failed = run(&[&["proxy", url], &options[..]].concat())
            .await
            .failed(2);
        assert!(failed.contains("decided by the clients"), "{failed}");
    }
    let failed = run(&["proxy", url, "more"]).await.failed(2);
    assert!(
        failed.contains("`more` is an unexpected argument"),
        "{failed}"
    );
}

/// A proxy ends its server processes, unless it is killed.
#[cfg(target_os = "linux")]
mod processes {
    use std::process::Stdio;
    use std::time::Duration;

    use rustix::process::{Pid, Signal, kill_process, kill_process_group};
    use tokio::io::AsyncWriteExt as _;
    use tokio::process::Child;

    use super::PROGRAM;
    use crate::client::TempDirectory;
    use crate::process::{toolwire, within};

    /// A server that ends with its input, and one that does not.
    const SERVER: &str = r#"echo $$ >> "$1"; exec "$2" demo --stdio"#;
    const STUBBORN_SERVER: &str = r#"echo $$ >> "$1"; "$2" demo --stdio; exec sleep 600"#;

    /// A server without sessions, which writes its process id to a file.
    const MODERN_SERVER: &str =
        r#"echo $$ >> "$1"; exec "$2" demo --stdio --protocol-version 2026-07-28"#;

    const INITIALIZE: &str = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","#,
        r#""capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}"#,
        "\n"
    );

    /// A proxy, and the file with the ids of its server processes.
    struct Run {
        directory: TempDirectory,
        proxy: Child,
    }

    impl Run {
        /// Starts a proxy and waits for its server process.
        async fn start(options: &[&str], server: &str) -> Self {
            let directory = TempDirectory::new("proxy");
            let ids = directory.write("ids", "");
            let mut command = toolwire(&["proxy"]);
            let server = ["--", "sh", "-c", server, "sh", &ids, PROGRAM];
            let mut proxy = command
                .args(options)
                .args(server)
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .kill_on_drop(true)
                .spawn()
                .expect("the program under test starts");
            // On stdio, the first message starts the server.
            let stdin = proxy.stdin.as_mut().expect("it is a pipe");
            let written = stdin.write_all(INITIALIZE.as_bytes()).await;
            written.expect("the pipe is empty");
            let run = Self { directory, proxy };
            within(async {
                while run.servers().is_empty() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            })
            .await;
            run
        }

        fn servers(&self) -> Vec<u32> {
            let ids = std::fs::read_to_string(self.directory.0.join("ids")).unwrap_or_default();
            // The last line may be incomplete.
            let lines = ids.split_inclusive('\n');
            let lines = lines.filter_map(|line| line.strip_suffix('\n'));
            lines.map(|id| id.parse().expect("a process id")).collect()
        }

        fn signal(&self, signal: Signal) {
            let id = self.proxy.id().expect("the process was not reaped");
            let id = Pid::from_raw(id.cast_signed()).expect("a process id is not zero");
            kill_process(id, signal).expect("the process is a child of this process");
        }

        /// Waits for the proxy, and then for its servers. Returns the exit code of the proxy.
        async fn ended(mut self) -> Option<i32> {
            let status = within(self.proxy.wait()).await.expect("it is a child");
            within(async {
                while self.servers().into_iter().any(is_running) {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            })
            .await;
            status.code()
        }
    }

    /// Returns `true` if a process has not exited. A zombie process has exited.
    fn is_running(id: u32) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let state = stat.rsplit_once(") ").map(|(_, fields)| fields);
        state.is_some_and(|fields| !fields.starts_with('Z'))
    }

    #[tokio::test]
    async fn client_on_stdio_starts_the_server_once() {
        let mut run = Run::start(&[], SERVER).await;
        drop(run.proxy.stdin.take());
        within(run.proxy.wait()).await.expect("it is a child");
        assert_eq!(run.servers().len(), 1);
    }

    #[tokio::test]
    async fn legacy_client_on_stdio_starts_a_modern_server_once() {
        let directory = TempDirectory::new("proxy");
        let ids = directory.write("ids", "");
        let mut command = super::add("legacy");
        command.args(["--", PROGRAM, "proxy", "--", "sh", "-c", MODERN_SERVER]);
        command.args(["sh", &ids, PROGRAM]);
        super::assert_adds(command).await;
        let ids = std::fs::read_to_string(directory.0.join("ids"));
        assert_eq!(ids.expect("the server was started").lines().count(), 1);
    }

    #[tokio::test]
    async fn end_of_input_ends_the_server() {
        for server in [SERVER, STUBBORN_SERVER] {
            let mut run = Run::start(&[], server).await;
            drop(run.proxy.stdin.take());
            assert_eq!(run.ended().await, Some(0));
        }
    }

    #[tokio::test]
    async fn sigterm_ends_the_server() {
        for (options, code) in [(&[][..], 143), (&["--listen", "127.0.0.1:0"], 0)] {
            for server in [SERVER, STUBBORN_SERVER] {
                let run = Run::start(options, server).await;
                run.signal(Signal::TERM);
                let ended = run.ended().await;
                // A proxy that still connects has not begun to serve.
                assert!([Some(code), Some(143)].contains(&ended), "{ended:?}");
            }
        }
    }

    #[tokio::test]
    async fn killed_proxy_closes_the_input_of_the_server() {
        let run = Run::start(&[], SERVER).await;
        run.signal(Signal::KILL);
        assert_eq!(run.ended().await, None);
    }

    #[tokio::test]
    async fn server_that_ignores_the_end_of_its_input_outlives_a_killed_proxy() {
        let mut run = Run::start(&[], STUBBORN_SERVER).await;
        run.signal(Signal::KILL);
        within(run.proxy.wait()).await.expect("it is a child");
        let server = run.servers()[0];
        // The demo has ended with its input, and the server goes on.
        within(async {
            while !runs_program(server, "sleep") {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        let group = Pid::from_raw(server.cast_signed()).expect("a process id is not zero");
        kill_process_group(group, Signal::KILL).expect("the server runs");
    }

    fn runs_program(id: u32, name: &str) -> bool {
        let running = std::fs::read_to_string(format!("/proc/{id}/comm"));
        running.is_ok_and(|running| running.trim_end() == name)
    }
}
