//! Input bytes in unusual framing.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::process::{Demo, Era};

fn echo(id: i64) -> String {
    Era::Modern
        .call(id, "echo", json!({"text": "hello"}))
        .to_string()
}

/// Sends bytes, ends the input, and expects responses to these requests and a clean exit.
async fn check(input: &[u8], expected: &[i64]) {
    let mut demo = Demo::start(Era::Modern).await;
    demo.send_bytes(input).await;
    let ended = demo.end().await;
    assert!(ended.status.success(), "{}: {}", ended.status, ended.stderr);
    let received: BTreeSet<i64> = ended.responses.keys().copied().collect();
    assert_eq!(
        received,
        expected.iter().copied().collect(),
        "{}",
        String::from_utf8_lossy(input)
    );
    for response in ended.responses.values() {
        assert_eq!(
            response["result"]["content"][0]["text"], "hello",
            "{response}"
        );
    }
    assert_eq!(ended.stderr, "");
}

#[tokio::test]
async fn unusual_line_endings_are_accepted() {
    let (one, two) = (echo(1), echo(2));
    // Half a line is not a request.
    check(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"met", &[]).await;
    check(format!("{one}\n{}", &two[..two.len() - 1]).as_bytes(), &[1]).await;
    // Only the newline is missing.
    check(one.as_bytes(), &[1]).await;
    check(format!("{one}\n{two}").as_bytes(), &[1, 2]).await;
    check(format!("{one}\r").as_bytes(), &[1]).await;
    // CRLF.
    check(format!("{one}\r\n{two}\r\n").as_bytes(), &[1, 2]).await;
    // Empty lines.
    check(format!("\n \t\n{one}\n\n\r\n{two}\n\n").as_bytes(), &[1, 2]).await;
    // A byte order mark.
    check(format!("\u{feff}{one}\n{two}\n").as_bytes(), &[1, 2]).await;
    check(format!("\u{feff}{one}").as_bytes(), &[1]).await;
    // No input.
    check(b"", &[]).await;
    check(b"\n", &[]).await;
}

#[tokio::test]
async fn request_is_read_byte_by_byte() {
    let mut demo = Demo::start(Era::Modern).await;
    for byte in format!("{}\r\n", echo(1)).as_bytes() {
        demo.send_bytes(&[*byte]).await;
    }
    assert_eq!(
        demo.response(1).await["result"]["content"][0]["text"],
        "hello"
    );
    demo.end_successfully().await;
}

#[tokio::test]
async fn invalid_message_is_rejected_and_the_next_one_is_served() {
    async fn check_rejected(line: &[u8], code: i64) {
        let mut demo = Demo::start(Era::Modern).await;
        demo.send_bytes(line).await;
        demo.send_bytes(b"\n").await;
        let error = demo.read().await.unwrap();
        assert_eq!(error["error"]["code"], code, "{error}");
        assert_eq!(error.get("id"), None::<&Value>, "{error}");
        assert_eq!(demo.call_text("echo", json!({"text": "up"})).await, "up");
        demo.end_successfully().await;
    }
    check_rejected(b"not json", -32700).await;
    check_rejected(b"\"\xff\xfe\"", -32700).await;
    check_rejected(format!("{}{}", echo(1), echo(2)).as_bytes(), -32700).await;
    check_rejected(b"42", -32600).await;
    check_rejected(format!("[{},{}]", echo(1), echo(2)).as_bytes(), -32600).await;
}

/// Some launchers pass non-blocking descriptors. Reading before any input, and writing more than a pipe buffers, must
/// wait instead of fail.
#[cfg(unix)]
#[test]
fn descriptors_may_be_non_blocking() {
    use std::io::{BufRead, BufReader, Write};
    use std::process::Command;

    use rustix::pipe::{PipeFlags, pipe_with};

    let (server_input, to_server) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    let (from_server, server_output) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    for end in [&server_input, &server_output] {
        rustix::io::ioctl_fionbio(end, true).unwrap();
    }
    let mut child = Command::new(env!("CARGO_BIN_EXE_toolwire"))
        .args(["demo", "--stdio"])
        .stdin(server_input)
        .stdout(server_output)
        .spawn()
        .unwrap();
    let mut to_server = std::fs::File::from(to_server);
    let mut lines = BufReader::new(std::fs::File::from(from_server)).lines();
    let large = Era::Modern.call(1, "blob", json!({"bytes": 1_000_000}));
    for request in [large.to_string(), echo(2)] {
        writeln!(to_server, "{request}").unwrap();
        let response: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert!(response["result"]["content"][0]["text"].is_string());
    }
    drop(to_server);
    assert!(child.wait().unwrap().success());
}
