//! `toolwire replay`: a record served as a server.

use crate::client::{CommandOutput, run_command};
use crate::http::HttpDemo;
use crate::process::toolwire;
use crate::record::{CALLS, PROGRAM, add_command, client_command, demo, record_call};

/// Runs a command of a client against a server.
async fn call(call: &[&str], era: &str, server: &[&str]) -> CommandOutput {
    let mut command = client_command(call, era, server);
    add_command(&mut command, server);
    run_command(command).await
}

fn replay<'a>(file: &'a str, options: &[&'a str]) -> Vec<&'a str> {
    [&["--", PROGRAM, "replay", file], options].concat()
}

#[tokio::test]
async fn recorded_server_responds_in_both_eras() {
    for era in ["modern", "legacy"] {
        for request in CALLS {
            let record = record_call(request, era, &demo()).await;
            let expected = record.output.as_ref().expect("the command ran");
            let file = record.name();
            for client_era in ["modern", "legacy"] {
                let replayed = call(request, client_era, &replay(&file, &[])).await;
                let case =
                    format!("{request:?} recorded {era}, replayed {client_era}: {replayed:?}");
                assert_eq!(replayed.stdout, expected.stdout, "{case}");
                assert_eq!(replayed.code, expected.code, "{case}");
            }
        }
    }
}

#[tokio::test]
async fn recorded_server_listens_over_http() {
    let record = record_call(&["call", "add", "a=1", "b=2"], "modern", &demo()).await;
    let server = toolwire(&["replay", &record.name(), "--listen", "127.0.0.1:0"]);
    let server = HttpDemo::start_command(server).await;
    for era in ["modern", "legacy"] {
        let output = call(&["call", "add", "a=1", "b=2"], era, &[&server.url()]).await;
        assert_eq!(output.ok(), crate::record::SUM);
    }
}

#[tokio::test]
async fn other_arguments_are_not_in_the_record() {
    let record = record_call(&["call", "add", "a=1", "b=2"], "modern", &demo()).await;
    let file = record.name();
    let text = call(
        &["call", "add", "a=1", "b=3"],
        "modern",
        &replay(&file, &[]),
    )
    .await;
    let text = text.failed(4);
    assert!(
        text.contains("the record has no tools/call add with these parameters"),
        "{text}"
    );
}

#[tokio::test]
async fn strict_replay_demands_the_order() {
    let record = record_call(&["call", "add", "a=1", "b=2"], "modern", &demo()).await;
    let file = record.name();
    // The command lists the tools before the call, as it did for the record.
    let output = call(
        &["call", "add", "a=1", "b=2"],
        "modern",
        &replay(&file, &["--strict"]),
    )
    .await;
    assert_eq!(output.ok(), crate::record::SUM);
    let text = call(&["prompts"], "modern", &replay(&file, &["--strict"])).await;
    let text = text.failed(4);
    assert!(
        text.contains("the next request of the record is tools/list"),
        "{text}"
    );
}

#[tokio::test]
async fn truncated_record_is_served() {
    let record = record_call(&["call", "add", "a=1", "b=2"], "modern", &demo()).await;
    let mut text = record.text();
    text += "{\"t\":99,\"conn\":1,\"dir\":\"in\",\"kind\":\"mess";
    std::fs::write(record.path(), text).expect("the record is writable");
    let file = record.name();
    let output = call(
        &["call", "add", "a=1", "b=2"],
        "modern",
        &replay(&file, &[]),
    )
    .await;
    assert_eq!(output.ok(), crate::record::SUM);
}

#[tokio::test]
async fn large_result_is_in_a_file_of_its_own() {
    let request = ["call", "blob", "bytes=1100000"];
    let record = record_call(&request, "modern", &demo()).await;
    assert!(record.text().len() < 1_000_000);
    let file = record.name();
    let output = call(&request, "modern", &replay(&file, &[])).await.ok();
    assert_eq!(output.trim_end().len(), 1_100_000);
    let blobs = std::fs::read_dir(format!("{file}.blobs")).expect("there are blobs");
    for blob in blobs {
        let path = blob.expect("readable").path();
        std::fs::write(path, "changed").expect("the file is writable");
    }
    let text = crate::client::run(&["replay", &file]).await.failed(2);
    assert!(text.contains("was changed"), "{text}");
}
