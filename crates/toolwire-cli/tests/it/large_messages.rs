//! Large messages: the server sends them complete and limits what it reads.

use serde_json::json;

use crate::process::{Demo, Era};

const MIB: usize = 1024 * 1024;

#[tokio::test]
async fn result_of_64_mebibytes_is_complete() {
    let mut demo = Demo::start(Era::Modern).await;
    let text = demo.call_text("blob", json!({"bytes": 64 * MIB})).await;
    assert_eq!(text.len(), 64 * MIB);
    assert!(text.bytes().all(|byte| byte == b'x'));
    assert_eq!(demo.call_text("echo", json!({"text": "up"})).await, "up");
    demo.end_successfully().await;
}

#[tokio::test]
async fn message_longer_than_4_mebibytes_is_rejected() {
    let frame = Era::Modern.call(1, "echo", json!({"text": ""})).to_string();
    let longest = 4 * MIB - frame.len();
    for (size, fits) in [(longest, true), (longest + 1, false), (4 * longest, false)] {
        let mut demo = Demo::start(Era::Modern).await;
        let text = "y".repeat(size);
        demo.send(&Era::Modern.call(1, "echo", json!({"text": text})))
            .await;
        let response = demo.read().await.unwrap();
        if fits {
            assert_eq!(response["result"]["content"][0]["text"], text);
        } else {
            assert_eq!(response["error"]["code"], -32600, "{size}");
            assert!(response.get("id").is_none(), "{size}");
        }
        assert_eq!(demo.call_text("echo", json!({"text": "up"})).await, "up");
        demo.end_successfully().await;
    }
}
