//! How the process exits, and the conditions that it survives.

use std::time::Instant;

use serde_json::json;

use crate::process::{Demo, Era};

#[tokio::test]
async fn running_request_gets_its_response_after_the_end_of_input() {
    for era in Era::BOTH {
        let mut demo = Demo::start(era).await;
        let id = demo.start_countdown(30, 10).await;
        let ended = demo.end().await;
        assert!(ended.status.success());
        assert_eq!(
            ended.responses[&id]["result"]["content"][0]["text"],
            "counted down from 30"
        );
    }
}

#[tokio::test]
async fn endless_request_is_dropped_ten_seconds_after_the_end_of_input() {
    let mut demo = Demo::start(Era::Modern).await;
    let id = demo.start_countdown(60_000, 10).await;
    let start = Instant::now();
    let ended = demo.end().await;
    let waited = start.elapsed().as_secs();
    assert!(ended.status.success());
    assert!(!ended.responses.contains_key(&id));
    // The upper bound allows for a busy machine. The countdown itself would take ten minutes.
    assert!((9..60).contains(&waited), "{waited} s");
}

#[tokio::test]
async fn stray_output_goes_to_standard_error() {
    let mut demo = Demo::start(Era::Modern).await;
    for _ in 0..3 {
        let text = demo.call_text("print", json!({"text": "STRAY"})).await;
        assert_eq!(text, "printed");
    }
    let ended = demo.end().await;
    assert!(ended.status.success());
    assert_eq!(ended.stderr, "STRAY\n".repeat(3));
}

#[tokio::test]
async fn closed_output_ends_the_process() {
    for era in Era::BOTH {
        let mut demo = Demo::start(era).await;
        demo.start_countdown(100_000, 5).await;
        demo.close_output();
        // The input stays open: only the failing progress notifications end the process.
        let ended = demo.ended().await;
        assert!(ended.status.success(), "{}", ended.status);
        assert_eq!(ended.stderr, "");
    }
}

#[tokio::test]
async fn closed_input_and_output_end_the_process() {
    let mut demo = Demo::start(Era::Modern).await;
    demo.start_call("countdown", json!({"from": 3, "delay_ms": 20}))
        .await;
    demo.close_output();
    let ended = demo.end().await;
    assert!(ended.status.success(), "{}", ended.status);
    assert_eq!(ended.stderr, "");
}

#[cfg(unix)]
mod unix {
    use std::process::Stdio;

    use rustix::process::{Pid, Signal, kill_process};
    use serde_json::json;

    use crate::process::{Demo, Era, remove_log_variables};

    /// Starts the demo in a shell that changes its descriptors first.
    async fn start_with(redirections: &str) -> Demo {
        let mut command = tokio::process::Command::new("sh");
        remove_log_variables(&mut command);
        command
            .arg("-c")
            .arg(format!(r#"exec "$0" demo --stdio {redirections}"#))
            .arg(env!("CARGO_BIN_EXE_toolwire"))
            .stderr(Stdio::piped());
        Demo::start_command(Era::Modern, command).await
    }

    #[tokio::test]
    async fn closed_standard_error_is_ignored() {
        let mut demo = start_with("2>&-").await;
        assert_eq!(
            demo.call_text("print", json!({"text": "STRAY"})).await,
            "printed"
        );
        let crash = demo.start_call("crash", json!({})).await;
        assert_eq!(demo.response(crash).await["error"]["code"], -32603);
        assert_eq!(demo.call_text("echo", json!({"text": "up"})).await, "up");
        demo.end_successfully().await;
    }

    #[tokio::test]
    async fn unread_standard_error_is_ignored() {
        let (reader, writer) = std::io::pipe().unwrap();
        let mut command = crate::process::toolwire(&["demo", "--stdio"]);
        command.stderr(writer);
        let mut demo = Demo::start_command(Era::Modern, command).await;
        drop(reader);
        // `println!` panics in the handler if it cannot print. The request still gets a response, and the buffered text
        // must not appear among the messages at the end.
        let print = demo.start_call("print", json!({"text": "STRAY"})).await;
        let crash = demo.start_call("crash", json!({})).await;
        assert_eq!(demo.response(print).await["error"]["code"], -32603);
        assert_eq!(demo.response(crash).await["error"]["code"], -32603);
        assert_eq!(demo.call_text("echo", json!({"text": "up"})).await, "up");
        demo.end_successfully().await;
    }

    #[tokio::test]
    async fn closed_standard_input_is_the_end_of_the_input() {
        let demo = start_with("<&-").await;
        let ended = demo.ended().await;
        assert!(ended.status.success(), "{}", ended.status);
        assert_eq!(ended.stderr, "");
    }

    #[tokio::test]
    async fn sigterm_ends_the_process() {
        let mut demo = Demo::start(Era::Modern).await;
        demo.start_countdown(100_000, 5).await;
        let process = Pid::from_raw(demo.process_id().cast_signed()).unwrap();
        kill_process(process, Signal::TERM).unwrap();
        // Input and output stay open: only the signal ends the process.
        let ended = demo.ended().await;
        assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
    }
}
