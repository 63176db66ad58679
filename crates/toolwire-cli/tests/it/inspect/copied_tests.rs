//! Rust tests as "Copy as" and `--print rust` write them. The unit test `tests_are_those_that_are_compiled` compares them.

mod plain {
use serde_json::json;
use toolwire::{Client, ServerCommand};

#[tokio::test]
async fn echo_succeeds() -> Result<(), toolwire::Error> {
    let client = Client::spawn(ServerCommand::new("node").args(["../../page/tests/hostile_server.mjs", "it's \"#quoted\"## \\ %s $HOME `id` \u{202e}gnp \u{1b}[201~\u{3}\u{7f}\u{85} line
break	tab é 𝒳"])).await?;
    let result = client.call_tool("echo", json!({
          "text": "a \"quoted\" \\ line\nbreak",
          "number": -12,
          "half": 0.5,
          "list": [
            true,
            null,
            {}
          ]
        })).await?;
    assert_ne!(result.is_error, Some(true), "{result:?}");
    client.close().await;
    Ok(())
}
}

mod escaped {
use toolwire::{Client, ServerCommand};

#[tokio::test]
async fn it_s_quoted_s_home_id_gnp_201_line_break_tab_succeeds() -> Result<(), toolwire::Error> {
    let client = Client::spawn(ServerCommand::new("node").args(["../../page/tests/hostile_server.mjs", "it's \"#quoted\"## \\ %s $HOME `id` \u{202e}gnp \u{1b}[201~\u{3}\u{7f}\u{85} line
break	tab é 𝒳"])).await?;
    let result = client.call_tool("it's \"#quoted\"## \\ %s $HOME `id` \u{202e}gnp \u{1b}[201~\u{3}\u{7f}\u{85} line
break	tab é 𝒳", serde_json::from_str::<serde_json::Value>("{\"text\":\"it's \\\"#quoted\\\"## \\\\ %s $HOME `id` \u{202e}gnp \\u001b[201~\\u0003\u{7f}\u{85} line\\nbreak\\ttab é 𝒳\",\"number\":4294967296}").expect("valid JSON")).await?;
    assert_ne!(result.is_error, Some(true), "{result:?}");
    client.close().await;
    Ok(())
}
}
