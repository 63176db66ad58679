//! Records that end early, and options that a replay does not use.

use crate::client::{run, run_command};
use crate::process::toolwire;
use crate::record::{PROGRAM, RecordFile, against, check_same, demo, record_call};

#[tokio::test]
async fn request_without_a_recorded_response_is_skipped() {
    let call = ["call", "add", "a=1", "b=2"];
    let record = record_call(&call, "modern", &demo()).await;
    // As if the client had been killed before the response.
    record.change(|line| (!line.contains(r#""sum":3"#)).then(|| line.to_owned()));
    let output = against(&record, &demo(), &[]).await.ok();
    let expected = "skipped    tools/call add: the record has no response to it\n";
    assert!(output.contains(expected), "{output}");
    // A client of the recorded server does not wait forever.
    let mut command = toolwire(&call);
    command.args(["--", PROGRAM, "replay", &record.name()]);
    let text = run_command(command).await.failed(4);
    assert!(
        text.contains("the record has no response to tools/call add"),
        "{text}"
    );
}

#[tokio::test]
async fn options_of_a_connection_need_a_server() {
    let record = record_call(&["ping"], "modern", &demo()).await;
    let name = record.name();
    for (options, expected) in [
        (&["--header", "a: b"][..], "--header"),
        (&["--test", "--record", "other.mcplog"], "--record"),
        (&["--bearer-env", "TOKEN"], "--bearer-env"),
        (&["--era", "legacy", "--insecure"], "--insecure, --era"),
    ] {
        let arguments = [&["replay", &name], options].concat();
        let text = run(&arguments).await.failed(2);
        assert!(text.contains(expected), "{options:?}: {text}");
    }
    let text = against(&record, &demo(), &["--root", "file:///"]).await;
    assert!(text.failed(2).contains("--root and --log-level"));
}

#[tokio::test]
async fn replay_against_a_server_can_be_recorded() {
    let record = record_call(&["call", "add", "a=1", "b=2"], "modern", &demo()).await;
    let second = RecordFile::new("second");
    let options = ["--record", &second.name()];
    against(&record, &demo(), &options).await.ok();
    assert!(second.text().contains(r#""sum":3"#), "{}", second.text());
    check_same(&second, &demo(), "record of a replay").await;
}
