//! How the process ends, and what it survives.

use std::time::Instant;

use serde_json::json;

use crate::process::{Demo, Era};

#[tokio::test]
async fn a_running_request_is_answered_after_the_input_ended() {
    for era in Era::BOTH {
        let mut demo = Demo::start(era).await;
        let id = demo.start_countdown(30, 10).await;
        let ended = demo.end().await;
        assert!(ended.status.success());
        assert_eq!(
            ended.answers[&id]["result"]["content"][0]["text"],
            "counted down from 30"
        );
    }
}

#[tokio::test]
async fn a_request_without_end_is_given_up_after_ten_seconds() {
    let mut demo = Demo::start(Era::Newest).await;
    let id = demo.start_countdown(60_000, 10).await;
    let began = Instant::now();
    let ended = demo.end().await;
    let waited = began.elapsed().as_secs();
    assert!(ended.status.success());
    assert!(!ended.answers.contains_key(&id));
    // The upper bound leaves room for a busy machine; the countdown itself would take ten minutes.
    assert!((9..60).contains(&waited), "{waited} s");
}

/// S48
#[tokio::test]
async fn stray_output_goes_to_standard_error() {
    let mut demo = Demo::start(Era::Newest).await;
    for _ in 0..3 {
        let text = demo.call_text("print", json!({"text": "STRAY"})).await;
        assert_eq!(text, "printed");
    }
    let ended = demo.end().await;
    assert!(ended.status.success());
    assert_eq!(ended.errors, "STRAY\n".repeat(3));
}

/// S46
#[tokio::test]
async fn a_client_that_stops_reading_ends_the_process() {
    for era in Era::BOTH {
        let mut demo = Demo::start(era).await;
        demo.start_countdown(100_000, 5).await;
        demo.close_output();
        // The input stays open: the failing progress reports alone must end it.
        let ended = demo.ended().await;
        assert!(ended.status.success(), "{}", ended.status);
        assert_eq!(ended.errors, "");
    }
}

#[tokio::test]
async fn a_client_that_leaves_altogether_ends_the_process() {
    let mut demo = Demo::start(Era::Newest).await;
    demo.start_call("countdown", json!({"from": 3, "delay_ms": 20}))
        .await;
    demo.close_output();
    let ended = demo.end().await;
    assert!(ended.status.success(), "{}", ended.status);
    assert_eq!(ended.errors, "");
}

#[cfg(unix)]
mod unix {
    use std::process::Stdio;

    use rustix::process::{Pid, Signal, kill_process};
    use serde_json::json;

    use crate::process::{Demo, Era, quiet};

    /// The demo, started by a shell that changes its descriptors first.
    async fn start_with(redirections: &str) -> Demo {
        let mut command = tokio::process::Command::new("sh");
        quiet(&mut command);
        command
            .arg("-c")
            .arg(format!(r#"exec "$0" demo --stdio {redirections}"#))
            .arg(env!("CARGO_BIN_EXE_toolwire"))
            .stderr(Stdio::piped());
        Demo::start_command(Era::Newest, command).await
    }

    /// S47
    #[tokio::test]
    async fn a_closed_standard_error_does_not_matter() {
        let mut demo = start_with("2>&-").await;
        assert_eq!(
            demo.call_text("print", json!({"text": "STRAY"})).await,
            "printed"
        );
        let crash = demo.start_call("crash", json!({})).await;
        assert_eq!(demo.answer(crash).await["error"]["code"], -32603);
        assert_eq!(demo.call_text("echo", json!({"text": "up"})).await, "up");
        demo.end_well().await;
    }

    #[tokio::test]
    async fn nobody_reading_standard_error_does_not_matter() {
        let (reader, writer) = std::io::pipe().unwrap();
        let mut command = crate::process::toolwire(&["demo", "--stdio"]);
        command.stderr(writer);
        let mut demo = Demo::start_command(Era::Newest, command).await;
        drop(reader);
        // `println!` panics when it cannot print, which is the handler's own affair: it is answered all the same. What it
        // leaves in its buffer must not appear among the messages at the end.
        let print = demo.start_call("print", json!({"text": "STRAY"})).await;
        let crash = demo.start_call("crash", json!({})).await;
        assert_eq!(demo.answer(print).await["error"]["code"], -32603);
        assert_eq!(demo.answer(crash).await["error"]["code"], -32603);
        assert_eq!(demo.call_text("echo", json!({"text": "up"})).await, "up");
        demo.end_well().await;
    }

    #[tokio::test]
    async fn a_closed_standard_input_is_the_end_of_the_input() {
        let demo = start_with("<&-").await;
        let ended = demo.ended().await;
        assert!(ended.status.success(), "{}", ended.status);
        assert_eq!(ended.errors, "");
    }

    #[tokio::test]
    async fn a_signal_to_terminate_is_obeyed() {
        let mut demo = Demo::start(Era::Newest).await;
        demo.start_countdown(100_000, 5).await;
        let process = Pid::from_raw(demo.process_id().cast_signed()).unwrap();
        kill_process(process, Signal::TERM).unwrap();
        // Input and output stay open: nothing but the signal ends it.
        let ended = demo.ended().await;
        assert!(!ended.errors.contains("panicked"), "{}", ended.errors);
    }
}
