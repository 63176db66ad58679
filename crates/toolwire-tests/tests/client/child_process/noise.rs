//! Children that write invalid, long or excessive output.

use serde_json::json;
use toolwire::{Client, Error};
use toolwire_tests::peer::within;

use super::child::Behavior;
use super::{builder, connect, limits};

#[tokio::test]
async fn line_that_is_not_a_message_is_ignored_and_counted() {
    let (client, stderr) = connect(Behavior::Noisy).await;
    // The test harness of the child prints lines before the child starts.
    let before = client.ignored_messages();
    let result = client.call_tool("quietly", json!({})).await.unwrap();
    assert_eq!(result.content[0].as_text(), Some("quiet"));
    assert_eq!(client.ignored_messages() - before, 3);
    let error = client.call_tool("end", json!({})).await.unwrap_err();
    assert_eq!(
        error.server_exit().expect("an exited process").code,
        Some(0)
    );
    // Three more lines, and an incomplete message at the end.
    assert_eq!(client.ignored_messages() - before, 7);
    client.close().await;
    let received = stderr.received().await;
    assert!(!received.contains(&"a response".to_owned()), "{received:?}");
}

async fn long_response(client: &Client, length: usize) -> Result<usize, Error> {
    let result = client.call_tool("long", json!({"length": length})).await?;
    Ok(result.content[0].as_text().expect("text").len())
}

#[tokio::test]
async fn response_over_the_limit_fails_its_call() {
    let envelope = r#"{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":""}]}}"#;
    let longest = 100_000 - envelope.len();
    let mut limits = limits();
    limits.message_bytes = 100_000;
    let builder = builder().with_limits(limits);
    let client = builder
        .spawn(Behavior::LongResponses.command())
        .await
        .unwrap();
    assert_eq!(long_response(&client, longest).await.unwrap(), longest);
    let over = within(long_response(&client, longest + 1))
        .await
        .unwrap_err();
    assert!(over.is_limit(), "{over}");
    assert!(over.to_string().contains("message_bytes"), "{over}");
    assert_eq!(long_response(&client, 5).await.unwrap(), 5);
    client.close().await;
}

#[tokio::test]
async fn line_of_a_hundred_mebibytes_is_ignored() {
    // A test of the line splitter in `toolwire-proto` checks that the line is not buffered.
    let (client, _received) = connect(Behavior::LongResponses).await;
    let before = client.ignored_messages();
    let result = within(client.call_tool("endless", json!({})).into_future()).await;
    assert_eq!(result.unwrap().content[0].as_text(), Some("over"));
    assert_eq!(client.ignored_messages(), before + 1);
    client.close().await;
}

#[tokio::test]
async fn ten_mebibytes_on_standard_error_do_not_block_the_call() {
    let client = builder()
        .spawn(Behavior::WritesToStderr.command())
        .await
        .unwrap();
    let result = within(client.call_tool("talk", json!({})).into_future()).await;
    assert_eq!(result.unwrap().content[0].as_text(), Some("written"));
    client.close().await;
}
