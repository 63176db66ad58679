//! Examples that change while they serve: `notes`, `exchange_rates`, `team_server`, `shop_catalogue`.

use serde_json::{Value, json};

use crate::client::{BOTH, Client, Revision};

fn names<'a>(list: &'a Value, member: &str) -> Vec<&'a str> {
    let entries = list.as_array().unwrap().iter();
    entries
        .map(|entry| entry[member].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn notes_are_written_listed_read_and_deleted() {
    for revision in BOTH {
        let mut client = Client::start("notes", revision).await;
        client.watch(json!({"resourcesListChanged": true})).await;
        let note = json!({"name": "todo", "text": "buy milk"});
        assert_eq!(client.call_text("write", note).await, "written");
        client
            .notification("notifications/resources/list_changed")
            .await;

        let list = client.ask("resources/list", json!({})).await;
        assert_eq!(names(&list["resources"], "uri"), ["notes://todo"]);
        let read = json!({"uri": "notes://todo"});
        let result = client.ask("resources/read", read.clone()).await;
        assert_eq!(result["contents"][0]["text"], "buy milk");
        assert_eq!(result["contents"][0]["mimeType"], "text/plain");
        let prompt = json!({"name": "summarise", "arguments": {"name": "todo"}});
        let result = client.ask("prompts/get", prompt).await;
        let message = &result["messages"][0]["content"]["text"];
        assert_eq!(*message, "Summarise this note:\n\nbuy milk");

        let deleted = client.call_text("delete", json!({"name": "todo"})).await;
        assert_eq!(deleted, "deleted");
        client
            .notification("notifications/resources/list_changed")
            .await;
        let error = client.expect_error("resources/read", read).await;
        let code = match revision {
            Revision::Newest => -32602,
            Revision::Legacy => -32002,
        };
        assert_eq!(error["code"], code, "{error}");
        client.end().await;
    }
}

#[tokio::test]
async fn subscribers_of_a_note_are_notified_when_it_is_replaced() {
    for revision in BOTH {
        let mut client = Client::start("notes", revision).await;
        let note = |text: &str| json!({"name": "todo", "text": text});
        client.call("write", note("buy milk")).await;
        let replaced = client.call_text("write", note("buy tea")).await;
        assert_eq!(replaced, "replaced, 0 notified");
        client
            .watch(json!({"resourceSubscriptions": ["notes://todo"]}))
            .await;
        let replaced = client.call_text("write", note("buy bread")).await;
        assert_eq!(replaced, "replaced, 1 notified");
        let update = client.notification("notifications/resources/updated").await;
        assert_eq!(update["uri"], "notes://todo");
        client.end().await;
    }
}

#[tokio::test]
async fn names_of_notes_are_completed() {
    for revision in BOTH {
        let mut client = Client::start("notes", revision).await;
        for name in ["todo", "tomorrow", "ideas"] {
            client
                .call("write", json!({"name": name, "text": "…"}))
                .await;
        }
        for reference in [
            json!({"type": "ref/prompt", "name": "summarise"}),
            json!({"type": "ref/resource", "uri": "notes://{name}"}),
        ] {
            let params = json!({"ref": reference, "argument": {"name": "name", "value": "to"}});
            let result = client.ask("completion/complete", params).await;
            assert_eq!(result["completion"]["values"], json!(["todo", "tomorrow"]));
        }
        client.end().await;
    }
}

#[tokio::test]
async fn tools_are_added_and_removed() {
    for revision in BOTH {
        let mut client = Client::start("exchange_rates", revision).await;
        client.watch(json!({"toolsListChanged": true})).await;
        let learn = json!({"currency": "chf", "rate": 0.5});
        assert_eq!(
            client.call_text("learn", learn.clone()).await,
            "call `to_chf`"
        );
        client
            .notification("notifications/tools/list_changed")
            .await;
        let list = client.ask("tools/list", json!({})).await;
        assert_eq!(names(&list["tools"], "name"), ["learn", "forget", "to_chf"]);
        assert_eq!(
            client.call_text("to_chf", json!({"amount": 5})).await,
            "2.5"
        );

        let again = client.call("learn", learn).await;
        assert_eq!(again["isError"], true);
        let forget = json!({"currency": "chf"});
        assert_eq!(
            client.call_text("forget", forget.clone()).await,
            "forgotten"
        );
        client
            .notification("notifications/tools/list_changed")
            .await;
        assert_eq!(
            client.call_text("forget", forget).await,
            "there is no tool for this currency"
        );
        let call = json!({"name": "to_chf", "arguments": {"amount": 5}});
        let error = client.expect_error("tools/call", call).await;
        assert_eq!(error["code"], -32602, "{error}");
        client.end().await;
    }
}

async fn read(client: &mut Client, uri: &str) -> Value {
    let result = client.ask("resources/read", json!({"uri": uri})).await;
    result["contents"][0].clone()
}

#[tokio::test]
async fn resources_are_text_bytes_and_templates() {
    for revision in BOTH {
        let mut client = Client::start("shop_catalogue", revision).await;
        let terms = read(&mut client, "shop://terms").await;
        assert_eq!(terms["text"], "# Terms\n\nBe kind.");
        assert_eq!(terms["mimeType"], "text/markdown");
        let logo = read(&mut client, "shop://logo").await;
        assert_eq!(logo["blob"], "iVBORw0KGgo=");
        for (uri, expected) in [
            ("shop://shelves/tea", "tea, page 1, tagged []"),
            ("shop://shelves/tea?page=3", "tea, page 3, tagged []"),
            (
                "shop://shelves/tea?page=3&tags=green&tags=hot%20now",
                "tea, page 3, tagged [\"green\", \"hot now\"]",
            ),
        ] {
            assert_eq!(read(&mut client, uri).await["text"], expected, "{uri}");
        }
        for uri in [
            "shop://shelves/shoes",
            "shop://shelves/tea?page=last",
            "shop://cellar",
        ] {
            let error = client
                .expect_error("resources/read", json!({"uri": uri}))
                .await;
            assert!(error["code"].is_i64(), "{uri}: {error}");
        }
        client.end().await;
    }
}

#[tokio::test]
async fn newest_revision_has_cache_hints() {
    let mut client = Client::start("shop_catalogue", Revision::Newest).await;
    let terms = client
        .ask("resources/read", json!({"uri": "shop://terms"}))
        .await;
    assert_eq!(terms["ttlMs"], 86_400_000);
    assert_eq!(terms["cacheScope"], "public");
    let logo = client
        .ask("resources/read", json!({"uri": "shop://logo"}))
        .await;
    assert_eq!(logo["ttlMs"], 0);
    let list = client.ask("resources/list", json!({})).await;
    assert_eq!(
        (&list["ttlMs"], &list["cacheScope"]),
        (&json!(60_000), &json!("private"))
    );
    client.end().await;

    let mut client = Client::start("shop_catalogue", Revision::Legacy).await;
    let terms = client
        .ask("resources/read", json!({"uri": "shop://terms"}))
        .await;
    assert_eq!(terms.get("ttlMs"), None);
    client.end().await;
}

#[tokio::test]
async fn subscribers_are_notified_of_visits() {
    for revision in BOTH {
        let mut client = Client::start("shop_catalogue", revision).await;
        client
            .watch(json!({"resourceSubscriptions": ["shop://visits"]}))
            .await;
        client.call("visit", json!({})).await;
        let update = client.notification("notifications/resources/updated").await;
        assert_eq!(update["uri"], "shop://visits");
        assert_eq!(read(&mut client, "shop://visits").await["text"], "1");
        client.end().await;
    }
}

#[tokio::test]
async fn mounted_tools_follow_their_server() {
    for revision in BOTH {
        let mut client = Client::start("team_server", revision).await;
        client.watch(json!({"toolsListChanged": true})).await;
        let list = client.ask("tools/list", json!({})).await;
        assert_eq!(
            names(&list["tools"], "name"),
            ["add_station", "weather_forecast"]
        );
        let properties = &list["tools"][1]["inputSchema"]["properties"];
        assert_eq!(properties.as_object().unwrap().len(), 1, "{properties}");
        let bonn = json!({"city": "Bonn"});
        let forecast = client.call_text("weather_forecast", bonn).await;
        assert_eq!(forecast, "Bonn: 20 °C");
        let station = json!({"name": "north"});
        assert_eq!(client.call_text("add_station", station).await, "added");
        client
            .notification("notifications/tools/list_changed")
            .await;
        assert_eq!(client.call_text("weather_north", json!({})).await, "wind");
    }
}
