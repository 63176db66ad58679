//! The keys of input requests and effects.

use serde_json::json;
use toolwire::{Error, RequestContext, Server, ToolHandler, ask};
use toolwire_tests::peer::plain;

use super::{BOTH, Name, Recorder, accept, client, result_text};

fn server_with(tool: ToolHandler) -> Server {
    Server::new("test", "1").tool(tool)
}

#[tokio::test]
async fn key_cannot_be_used_for_two_purposes() {
    let conflict = "is used for two purposes";
    for version in BOTH {
        let check = async |tool: ToolHandler, expected: &str| {
            let requested = Recorder::default();
            let responses = [("", accept(json!({"name": "Ada"})))];
            let client = client(&server_with(tool), version, &responses, &requested).await;
            let text = result_text(client.call_tool("work", json!({})).await);
            assert!(text.contains(expected), "{version}: {text}");
            requested.take()
        };
        // The same input request twice is sent once.
        let requested = check(
            plain("work", |ctx: RequestContext| async move {
                let first: Name = ctx.ask("k", "Who?").await?;
                let second: Name = ctx.ask("k", "Who?").await?;
                Ok::<_, Error>(format!("{} {}", first.name, second.name))
            }),
            "Ada Ada",
        )
        .await;
        assert_eq!(requested, ["Who?"], "{version}");
        let requested = check(
            plain("work", |ctx: RequestContext| async move {
                let form = || ask::form::<Name>("k", "Who?");
                let (first, second) = ctx.ask_all((form(), form())).await?;
                Ok::<_, Error>(format!("{} {}", first.name, second.name))
            }),
            "Ada Ada",
        )
        .await;
        assert_eq!(requested, ["Who?"], "{version}");

        let requested = check(
            plain("work", |ctx: RequestContext| async move {
                let first: Name = ctx.ask("k", "Who?").await?;
                let second: Name = ctx.ask("k", "Who else?").await?;
                Ok::<_, Error>(format!("{} {}", first.name, second.name))
            }),
            conflict,
        )
        .await;
        assert_eq!(requested, ["Who?"], "{version}");
        let requested = check(
            plain("work", |ctx: RequestContext| async move {
                let form = |message| ask::form::<Name>("k", message);
                ctx.ask_all((form("Who?"), form("Who else?"))).await?;
                Ok::<_, Error>("both")
            }),
            conflict,
        )
        .await;
        assert_eq!(requested, [""; 0], "{version}");
        check(
            plain("work", |ctx: RequestContext| async move {
                ctx.once("k", async {}).await?;
                let name: Name = ctx.ask("k", "Who?").await?;
                Ok::<_, Error>(name.name)
            }),
            conflict,
        )
        .await;
        check(
            plain("work", |ctx: RequestContext| async move {
                let name: Name = ctx.ask("k", "Who?").await?;
                ctx.once("k", async {}).await?;
                Ok::<_, Error>(name.name)
            }),
            conflict,
        )
        .await;
    }
}

#[tokio::test]
async fn keys_have_1_to_256_bytes() {
    for version in BOTH {
        for (length, fits) in [(0, false), (1, true), (256, true), (257, false)] {
            for asks in [true, false] {
                let tool = plain("work", move |ctx: RequestContext| async move {
                    let key = "k".repeat(length);
                    if asks {
                        ctx.ask::<Name>(key, "Who?").await?.name
                    } else {
                        ctx.once(key, async { "Ada".to_owned() }).await?
                    };
                    Ok::<_, Error>("fits")
                });
                let responses = [("", accept(json!({"name": "Ada"})))];
                let requested = Recorder::default();
                let client = client(&server_with(tool), version, &responses, &requested).await;
                let text = result_text(client.call_tool("work", json!({})).await);
                let expected = if fits {
                    "fits"
                } else {
                    "a key has 1 to 256 bytes"
                };
                assert!(text.contains(expected), "{version} {length}: {text}");
                assert_eq!(requested.take().len(), usize::from(fits && asks));
            }
        }
    }
}

#[tokio::test]
async fn any_text_may_be_a_key() {
    for version in BOTH {
        for key in [
            " ",
            "a b",
            "é",
            "\"",
            "\\",
            "\u{0}",
            "a/1",
            "a.b",
            "__proto__",
            "🦀",
            "method",
        ] {
            let tool = plain("work", move |ctx: RequestContext| async move {
                let name: Name = ctx.ask(key, "Who?").await?;
                let sure = ctx.once(format!("{key}!"), async { true }).await?;
                Ok::<_, Error>(format!("{} {sure}", name.name))
            });
            let responses = [("", accept(json!({"name": key})))];
            let client = client(
                &server_with(tool),
                version,
                &responses,
                &Recorder::default(),
            )
            .await;
            let text = result_text(client.call_tool("work", json!({})).await);
            assert_eq!(text, format!("{key} true"), "{version}");
        }
    }
}
