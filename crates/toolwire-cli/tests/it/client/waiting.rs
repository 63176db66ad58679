//! Programs that do not respond: the user sees what they print.
#![cfg(target_os = "linux")]

use crate::client::terminal::run_at_terminal;
use crate::process::toolwire;

#[tokio::test]
async fn user_sees_the_output_of_a_program_that_does_not_respond() {
    let script = "echo 'please set API_KEY' >&2; exec sleep 600";
    let arguments = ["tools", "--timeout", "6s", "--", "sh", "-c", script];
    let ended = run_at_terminal(toolwire(&arguments), &[]).await;
    assert_eq!(ended.code, Some(5), "{ended:?}");
    let waiting = ended.shown.find("sh has not responded for 3 s");
    let printed = ended.shown.find("    please set API_KEY");
    let failed = ended.shown.find("toolwire: protocol: ");
    assert!(waiting.is_some() && waiting < printed, "{ended:?}");
    assert!(printed < failed, "{ended:?}");
}
