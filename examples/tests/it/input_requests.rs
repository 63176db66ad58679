//! Examples that request input: `train_booking`, also through `gateway`, `ask_the_model`, `roots`, `input_required`.

use std::cell::Cell;

use serde_json::{Value, json};

use crate::client::{BOTH, Client, Revision, text};

async fn book(revision: Revision, response: &Value) -> Value {
    let capabilities = json!({"elicitation": {"form": {}}});
    let mut client = Client::start_with("train_booking", revision, capabilities).await;
    let reply = |method: &str, params: &Value| {
        assert_eq!(method, "elicitation/create");
        assert_eq!(params["message"], "A ticket to Rome: who travels?");
        let fields = &params["requestedSchema"]["properties"];
        assert_eq!(fields["email"]["format"], "email");
        assert_eq!(fields["seats"]["maximum"], 4);
        response.clone()
    };
    let result = client
        .call_and_reply("book", json!({"destination": "Rome"}), reply)
        .await;
    client.end().await;
    result
}

#[tokio::test]
async fn user_accepts_declines_or_cancels() {
    for revision in BOTH {
        let filled = json!({"email": "ada@example.com", "seats": 2, "class": "first"});
        let result = book(revision, &json!({"action": "accept", "content": filled})).await;
        assert_eq!(text(&result), "2 × First to Rome, sent to ada@example.com");

        let result = book(revision, &json!({"action": "decline"})).await;
        assert_eq!(text(&result), "not booked");
        assert_eq!(result.get("isError"), None);

        let result = book(revision, &json!({"action": "cancel"})).await;
        assert_eq!(text(&result), "the user closed the form");
        assert_eq!(result["isError"], true);

        // Missing fields are filled in with the defaults of the form.
        let short = json!({"action": "accept", "content": {"email": "ada@example.com"}});
        let result = book(revision, &short).await;
        assert_eq!(text(&result), "1 × Second to Rome, sent to ada@example.com");
    }
}

#[tokio::test]
async fn form_of_an_upstream_server_names_it() {
    for revision in BOTH {
        let capabilities = json!({"elicitation": {"form": {}}});
        let mut client = Client::start_with("gateway", revision, capabilities).await;
        let number = json!({"number": 17});
        let order = client.call_text("orders_find_order", number).await;
        assert_eq!(order, r#"{"item":"teapot","price":2400}"#);
        let reply = |method: &str, params: &Value| {
            assert_eq!(method, "elicitation/create");
            assert_eq!(params["message"], "[trains] A ticket to Rome: who travels?");
            json!({"action": "accept", "content": {"email": "ada@example.com"}})
        };
        let result = client
            .call_and_reply("trains_book", json!({"destination": "Rome"}), reply)
            .await;
        assert_eq!(text(&result), "1 × Second to Rome, sent to ada@example.com");
        client.end().await;
    }
}

#[tokio::test]
async fn invalid_form_does_not_reach_the_handler() {
    // Since 2026-07-28 the response is part of the request, so the request is invalid. In older revisions the request
    // was valid.
    for (revision, code) in [(Revision::Newest, -32602), (Revision::Legacy, -32603)] {
        for content in [
            json!({"seats": 2}),
            json!({"email": "ada@example.com", "seats": 5}),
        ] {
            let capabilities = json!({"elicitation": {"form": {}}});
            let mut client = Client::start_with("train_booking", revision, capabilities).await;
            let response = json!({"action": "accept", "content": content});
            let message = client
                .call_with_responses("book", json!({"destination": "Rome"}), |_, _| {
                    response.clone()
                })
                .await;
            let text = message["error"]["message"].as_str().unwrap_or_default();
            let expected = r#"the response to "details" is invalid"#;
            assert!(text.starts_with(expected), "{revision:?}: {message}");
            assert_eq!(message["error"]["code"], code, "{revision:?}");
            client.end().await;
        }
    }
}

/// The client guesses the number by bisection.
#[tokio::test]
async fn handler_gets_its_state_in_each_round() {
    for revision in BOTH {
        let capabilities = json!({"elicitation": {"form": {}}});
        let mut client = Client::start_with("input_required", revision, capabilities).await;
        let range = Cell::new((1, 100));
        let reply = |method: &str, params: &Value| {
            assert_eq!(method, "elicitation/create");
            let (low, high) = range.get();
            let last = (low + high) / 2;
            range.set(match params["message"].as_str().unwrap() {
                "Too small." => (last + 1, high),
                "Too big." => (low, last - 1),
                _ => (low, high),
            });
            let (low, high) = range.get();
            json!({"action": "accept", "content": {"number": (low + high) / 2}})
        };
        let result = client.call_and_reply("guess", json!({}), reply).await;
        let (low, high) = range.get();
        let won = text(&result).starts_with(&format!("{} in ", (low + high) / 2));
        assert!(won, "{revision:?}: {result}");

        let decline = |_: &str, _: &Value| json!({"action": "decline"});
        let result = client.call_and_reply("guess", json!({}), decline).await;
        assert_eq!(text(&result), "The game is over.");
        client.end().await;
    }
}

#[tokio::test]
async fn modified_state_is_rejected() {
    let capabilities = json!({"elicitation": {"form": {}}});
    let mut client = Client::start_with("input_required", Revision::Newest, capabilities).await;
    let mut call = json!({"name": "guess", "arguments": {}});
    let result = client.ask("tools/call", call.clone()).await;
    assert_eq!(result["resultType"], "input_required");
    let state = result["requestState"].as_str().unwrap();
    assert!(!state.contains("secret"), "{state}");
    call["inputResponses"] = json!({"guess": {"action": "accept", "content": {"number": 7}}});
    call["requestState"] = r#"{"secret":7,"guesses":1}"#.into();
    let error = client.expect_error("tools/call", call).await;
    assert_eq!(error["code"], -32602, "{error}");
    client.end().await;
}

#[tokio::test]
async fn model_response_becomes_the_title() {
    for revision in BOTH {
        let capabilities = json!({"sampling": {}});
        let mut client = Client::start_with("ask_the_model", revision, capabilities).await;
        let reply = |response: Value| {
            move |method: &str, params: &Value| {
                assert_eq!(method, "sampling/createMessage");
                assert_eq!(params["maxTokens"], 20);
                let asked = &params["messages"][0]["content"]["text"];
                assert!(
                    asked.as_str().unwrap().ends_with("Once upon a time."),
                    "{asked}"
                );
                json!({"role": "assistant", "model": "tiny", "content": response})
            }
        };
        let arguments = json!({"text": "Once upon a time."});
        let title = reply(json!({"type": "text", "text": " How It Began\n"}));
        let result = client
            .call_and_reply("entitle", arguments.clone(), title)
            .await;
        assert_eq!(text(&result), "How It Began (by tiny)");

        let image = reply(json!({"type": "image", "data": "AA==", "mimeType": "image/png"}));
        let result = client.call_and_reply("entitle", arguments, image).await;
        assert_eq!(text(&result), "the response of the model has no text");
        client.end().await;
    }
}

#[tokio::test]
async fn file_inside_a_root_is_permitted() {
    for revision in BOTH {
        let capabilities = json!({"roots": {}});
        let mut client = Client::start_with("roots", revision, capabilities).await;
        for (uri, expected) in [
            ("file:///srv/project/a.txt", "yes, in Project"),
            ("file:///srv/project", "yes, in Project"),
            ("file:///srv/projects/a.txt", "no"),
            ("file:///tmp/b", "yes, in file:///tmp/"),
        ] {
            let reply = |method: &str, _: &Value| {
                assert_eq!(method, "roots/list");
                let project = json!({"uri": "file:///srv/project", "name": "Project"});
                json!({"roots": [project, {"uri": "file:///tmp/"}]})
            };
            let result = client
                .call_and_reply("may_touch", json!({"uri": uri}), reply)
                .await;
            assert_eq!(text(&result), expected, "{uri}");
        }
        client.end().await;
    }
}

#[tokio::test]
async fn client_without_the_capability_gets_an_error() {
    for revision in BOTH {
        for (example, tool, arguments, missing) in [
            (
                "train_booking",
                "book",
                json!({"destination": "Rome"}),
                "elicitation",
            ),
            ("input_required", "guess", json!({}), "elicitation"),
            ("ask_the_model", "entitle", json!({"text": "x"}), "sampling"),
            ("roots", "may_touch", json!({"uri": "file:///x"}), "roots"),
        ] {
            let mut client = Client::start(example, revision).await;
            let call = json!({"name": tool, "arguments": arguments});
            let error = client.expect_error("tools/call", call).await;
            let names_capability = error.to_string().contains(missing);
            assert!(names_capability, "{revision:?} {example}: {error}");
            if revision == Revision::Newest {
                assert_eq!(error["code"], -32021, "{error}");
            }
            client.end().await;
        }
    }
}
