//! Children that write what they should not.

use serde_json::json;
use toolwire::{Client, Error};

use super::child::Part;
use super::{builder, connect, limits};
use crate::peer::within;

#[tokio::test]
async fn what_is_no_message_is_skipped_counted_and_never_answered() {
    let (client, heard) = connect(Part::Noisy).await;
    // The harness of the child has printed something before its part began.
    let before = client.ignored_messages();
    let result = client.call_tool("quietly", json!({})).await.unwrap();
    assert_eq!(result.content[0].as_text(), Some("quiet"));
    assert_eq!(client.ignored_messages() - before, 3);
    let error = client.call_tool("end", json!({})).await.unwrap_err();
    assert_eq!(error.server_exit().expect("it ended").code, Some(0));
    // Three more lines, and half a message at the end.
    assert_eq!(client.ignored_messages() - before, 7);
    client.close().await;
    let received = heard.received().await;
    assert!(!received.contains(&"an answer".to_owned()), "{received:?}");
}

async fn long_answer(client: &Client, length: usize) -> Result<usize, Error> {
    let result = client.call_tool("long", json!({"length": length})).await?;
    Ok(result.content[0].as_text().expect("text").len())
}

#[tokio::test]
async fn an_answer_at_the_limit_is_read_and_one_byte_more_fails_its_call() {
    let around = r#"{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":""}]}}"#;
    let longest = 100_000 - around.len();
    let mut limits = limits();
    limits.message_bytes = 100_000;
    let builder = builder().with_limits(limits);
    let client = builder.spawn(Part::Long.command()).await.unwrap();
    assert_eq!(long_answer(&client, longest).await.unwrap(), longest);
    let over = within(long_answer(&client, longest + 1)).await.unwrap_err();
    assert!(over.is_limit(), "{over}");
    assert!(over.to_string().contains("message_bytes"), "{over}");
    assert_eq!(long_answer(&client, 5).await.unwrap(), 5);
    client.close().await;
}

#[tokio::test]
async fn a_line_of_a_hundred_mebibytes_costs_only_itself() {
    // That it is not kept either is tested where lines are cut, in `toolwire-proto`.
    let (client, _heard) = connect(Part::Long).await;
    let before = client.ignored_messages();
    let result = within(client.call_tool("endless", json!({})).into_future()).await;
    assert_eq!(result.unwrap().content[0].as_text(), Some("over"));
    assert_eq!(client.ignored_messages(), before + 1);
    client.close().await;
}

#[tokio::test]
async fn ten_mebibytes_on_the_error_output_stall_nothing() {
    let client = builder().spawn(Part::Talkative.command()).await.unwrap();
    let result = within(client.call_tool("talk", json!({})).into_future()).await;
    assert_eq!(result.unwrap().content[0].as_text(), Some("said"));
    client.close().await;
}
