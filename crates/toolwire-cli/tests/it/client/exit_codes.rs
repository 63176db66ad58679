//! Every exit code with its message.

use serde_json::Value;
use tokio::net::TcpListener;

use crate::client::fake_http::FakeHttp;
use crate::client::{run, run_command, run_demo};
use crate::process::toolwire;

#[tokio::test]
async fn failing_tool_exits_with_1() {
    let ran = run_demo(&["call", "fail", "message=no luck"]).await;
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(1), "no luck\n"),
        "{ran:?}"
    );
    let ran = run_demo(&["call", "--json", "fail", "message=no luck"]).await;
    let result: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        (ran.code, &result["isError"]),
        (Some(1), &Value::Bool(true)),
        "{ran:?}"
    );
}

#[tokio::test]
async fn invalid_command_line_exits_with_2() {
    for (arguments, part) in [
        (&["tools"][..], "no server is given"),
        (
            &["tools", "ftp://example.com"],
            "no server named `ftp://example.com`",
        ),
        (
            &["tools", "http://localhost", "a", "b"],
            "`b` is an unexpected argument",
        ),
        (
            &["ping", "http://localhost", "a"],
            "`a` is an unexpected argument",
        ),
        (&["call", "http://localhost"], "no tool is given"),
        (
            &["call", "http://localhost", "add", "a"],
            "`a` is not an argument",
        ),
        (
            &["call", "http://localhost", "add", "--args", "[]"],
            "not an object",
        ),
        (
            &["call", "http://localhost", "add", "--answer", "x"],
            "--answer x=value",
        ),
        (
            &["complete", "http://localhost", "greet"],
            "no argument to complete",
        ),
        (
            &[
                "tools",
                "http://localhost",
                "--bearer-env",
                "TOOLWIRE_NOT_SET",
            ],
            "TOOLWIRE_NOT_SET",
        ),
        (
            &["tools", "--header", "A: b", "--", "true"],
            "--header and --bearer-env need an address",
        ),
        (
            &["tools", "http://localhost", "--header", "A"],
            "Name: value",
        ),
        (&["tools", "http://localhost", "--header", "A B: c"], "A B"),
        (&["tools", "http://localhost", "--timeout", "soon"], "500ms"),
        (
            &["tools", "http://localhost", "--era", "stone"],
            "possible values",
        ),
        (
            &["tools", "http://localhost", "--protocol-version", "1"],
            "2026-07-28",
        ),
        (
            &["tools", "http://localhost", "--log-level", "loud"],
            "emergency",
        ),
        (&["tools", "http://"], "http://"),
    ] {
        let text = run(arguments).await.failed(2);
        assert!(text.contains(part), "{arguments:?}: {text}");
    }
}

#[tokio::test]
async fn no_connection_exits_with_3_and_names_the_step() {
    // A port that was free a moment ago, so no process listens on it.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let text = run(&["tools", &format!("http://{address}/mcp")])
        .await
        .failed(3);
    assert!(text.starts_with("toolwire: TCP: "), "{text}");
    assert!(text.contains(&address.to_string()), "{text}");
    assert!(text.contains("\n  try: "), "{text}");
    let text = run(&["tools", "http://no-such-host.invalid/mcp"])
        .await
        .failed(3);
    assert!(text.starts_with("toolwire: DNS: "), "{text}");
    assert!(text.contains("no-such-host.invalid"), "{text}");
    let fake = FakeHttp::responding("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    let https = fake.url().replace("http://", "https://");
    let text = run(&["tools", &https]).await.failed(3);
    assert!(text.starts_with("toolwire: TLS: "), "{text}");
}

#[tokio::test]
async fn command_that_does_not_start_exits_with_3() {
    let text = run(&["tools", "--", "no-such-command-anywhere"])
        .await
        .failed(3);
    assert!(text.contains("no-such-command-anywhere"), "{text}");
}

#[cfg(unix)]
#[tokio::test]
async fn server_that_exits_early_exits_with_3_and_its_standard_error() {
    for (script, part) in [
        (
            "echo 'no database' >&2; exit 7",
            "last line of stderr: no database\n",
        ),
        (
            "echo one >&2; echo two >&2; exit 7",
            "its standard error:\n    one\n    two\n",
        ),
        ("exit 7", "run the command directly"),
    ] {
        let text = run(&["tools", "--", "sh", "-c", script]).await.failed(3);
        assert!(text.contains("exit code 7"), "{text}");
        assert!(text.contains(part), "{text}");
    }
}

#[tokio::test]
async fn server_error_exits_with_4() {
    let text = run_demo(&["read", "demo://nowhere"]).await.failed(4);
    assert!(text.starts_with("toolwire: protocol: "), "{text}");
    let text = run_demo(&["read", "--json", "demo://nowhere"])
        .await
        .failed(4);
    let error: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(error["error"]["exit"], 4);
    assert!(error["error"]["rpc"]["code"].is_i64(), "{error}");
    let fake =
        FakeHttp::responding("HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n").await;
    let text = run(&["tools", &fake.url()]).await.failed(4);
    assert!(text.starts_with("toolwire: HTTP: "), "{text}");
    assert!(text.contains("503"), "{text}");
}

#[tokio::test]
async fn web_page_exits_with_4() {
    let page = "HTTP/1.1 404 Not Found\r\ncontent-type: text/html\r\ncontent-length: 4\r\n\r\nnope";
    let fake = FakeHttp::responding(page).await;
    let text = run(&["tools", &fake.url()]).await.failed(4);
    assert!(text.contains("404"), "{text}");
    assert!(text.contains("check the path"), "{text}");
}

#[tokio::test]
async fn timeout_exits_with_5() {
    let text = run_demo(&[
        "call",
        "--timeout",
        "200ms",
        "countdown",
        "from=1",
        "delay_ms=60000",
    ])
    .await;
    // On a busy machine, the time may be over before the server has started.
    let text = text.failed(5);
    assert!(text.contains("in time"), "{text}");
    assert!(text.contains("--timeout"), "{text}");
    let silent = FakeHttp::silent().await;
    let text = run(&["tools", "--timeout", "200ms", &silent.url()])
        .await
        .failed(5);
    assert!(text.contains("in time"), "{text}");
}

#[tokio::test]
async fn rejected_credentials_exit_with_6() {
    for (head, header, parts) in [
        (
            "401 Unauthorized",
            "X: y",
            ["log in with: ", "--bearer-env"],
        ),
        (
            "401 Unauthorized",
            "Authorization: z",
            ["401", "--bearer-env"],
        ),
        ("403 Forbidden", "X: y", ["403", "other credentials"]),
    ] {
        let response = format!("HTTP/1.1 {head}\r\ncontent-length: 0\r\n\r\n");
        let fake = FakeHttp::responding(&response).await;
        let text = run(&["tools", &fake.url(), "-H", header]).await.failed(6);
        for part in parts {
            assert!(text.contains(part), "{text}");
        }
    }
}

#[tokio::test]
async fn credentials_are_sent_and_not_shown() {
    let fake = FakeHttp::responding("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n").await;
    let url = fake.url();
    let arguments = [
        "tools",
        &url,
        "--bearer-env",
        "TOOLWIRE_TEST_TOKEN",
        "--header",
        "X-Team: blue",
        "-v",
    ];
    let mut command = toolwire(&arguments);
    command.env("TOOLWIRE_TEST_TOKEN", "s3cret");
    let text = run_command(command).await.failed(6);
    assert!(!text.contains("s3cret"), "{text}");
    let head = fake.first_request().to_ascii_lowercase();
    assert!(head.contains("authorization: bearer s3cret\r\n"), "{head}");
    assert!(head.contains("x-team: blue\r\n"), "{head}");
}

#[tokio::test]
async fn help_lists_the_exit_codes() {
    let help = run(&["--help"]).await.ok();
    for part in ["Exit codes:", "  1  the tool", "130  interrupted"] {
        assert!(help.contains(part), "{part}: {help}");
    }
    let help = run(&["call", "--help"]).await.ok();
    assert!(help.contains("Exit codes:"), "{help}");
    assert!(help.contains("text=@notes.txt"), "{help}");
}
