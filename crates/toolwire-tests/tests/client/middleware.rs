//! Middleware around the requests of a client.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolwire::client_middleware::{ClientNext, ClientRequest, from_fn, from_fn_with};
use toolwire::{Client, Error, ErrorObject, RawJson, RequestContext, Server, Tool, ToolHandler};

fn echo() -> ToolHandler {
    ToolHandler::raw(
        Tool::new("echo", json!({"type": "object"})),
        |ctx: RequestContext, arguments: RawJson| async move {
            let seen = ctx.meta().get("example.test/seen").cloned();
            format!("{arguments} {}", seen.unwrap_or_default())
        },
    )
}

fn server() -> Server {
    let server = Server::new("demo", "1").with_page_size(1).tool(echo());
    let other = Tool::new("other", json!({"type": "object"}));
    server.tool(ToolHandler::raw(
        other,
        |_: RequestContext, _: RawJson| async { "other" },
    ))
}

type Seen = Arc<Mutex<Vec<String>>>;

#[tokio::test]
async fn every_request_passes_and_the_first_middleware_is_the_outermost() {
    let seen = Seen::default();
    let recording = |name: &'static str| {
        from_fn_with(
            (name, Arc::clone(&seen)),
            async |(name, seen): &(&'static str, Seen),
                   request: &mut ClientRequest,
                   next: ClientNext<'_>| {
                let target = request.name().unwrap_or_default();
                let line = format!("{name} {} {target}", request.method());
                seen.lock().unwrap().push(line);
                let outcome = next.run(request).await;
                seen.lock().unwrap().push(format!("{name} done"));
                outcome
            },
        )
    };
    let client = Client::builder("agent", "1")
        .with_middleware(recording("outer"))
        .with_middleware(recording("inner"))
        .in_process(&server())
        .await
        .unwrap();
    client.call_tool("echo", json!({})).await.unwrap();
    let expected = [
        "outer tools/call echo",
        "inner tools/call echo",
        "inner done",
        "outer done",
    ];
    assert_eq!(std::mem::take(&mut *seen.lock().unwrap()), expected);
    assert_eq!(client.list_tools().await.unwrap().len(), 2);
    let lists = seen.lock().unwrap().clone();
    let pages = lists.iter().filter(|line| *line == "outer tools/list ");
    assert_eq!(pages.count(), 2, "a request for each page: {lists:?}");
}

#[tokio::test]
async fn middleware_changes_rejects_responds_to_and_repeats_requests() {
    let attempts = Arc::new(Mutex::new(0));
    let failing = from_fn_with(
        Arc::clone(&attempts),
        async |attempts: &Arc<Mutex<u32>>, request: &mut ClientRequest, next: ClientNext<'_>| {
            if request.method() == "tools/list" {
                let mut attempts = attempts.lock().unwrap();
                *attempts += 1;
                if *attempts < 3 {
                    return Err(Error::from(ErrorObject::internal("try again")));
                }
            }
            next.run(request).await
        },
    );
    let repeating = from_fn(async |request: &mut ClientRequest, next: ClientNext<'_>| {
        let is_idempotent = request.method().ends_with("/list");
        let mut left = if is_idempotent { 2 } else { 0 };
        loop {
            match next.run(request).await {
                Err(_) if left > 0 => left -= 1,
                outcome => return outcome,
            }
        }
    });
    let changing = from_fn(
        async |request: &mut ClientRequest, next: ClientNext<'_>| match request.name().as_deref() {
            Some("old") => {
                let given = request.arguments().unwrap_or_default();
                let arguments = json!({"given": given});
                request.set_name("echo");
                request.set_arguments(RawJson::from_value(&arguments));
                request.set_meta("example.test/seen", json!(1));
                next.run(request).await
            }
            Some("forbidden") => Err(ErrorObject::invalid_request("not ever").into()),
            Some("cached") => {
                let result =
                    json!({"resultType": "complete", "content": [{"type": "text", "text": "own"}]});
                Ok(RawJson::from_value(&result))
            }
            Some("reserved") => {
                request.set_meta("io.modelcontextprotocol/made-up", json!(1));
                next.run(request).await
            }
            _ => next.run(request).await,
        },
    );
    let client = Client::builder("agent", "1")
        .with_middleware(repeating)
        .with_middleware(failing)
        .with_middleware(changing)
        .in_process(&server())
        .await
        .unwrap();
    let text = async |name: &str, arguments: Value| {
        let result = client.call_tool(name, arguments).await?;
        let text = result.content[0].as_text().map(str::to_owned);
        Ok::<_, Error>(text.unwrap_or_default())
    };
    let changed = text("old", json!({"a": 1.0})).await.unwrap();
    assert_eq!(changed, r#"{"given":{"a":1.0}} 1"#);
    assert_eq!(text("cached", json!({})).await.unwrap(), "own");
    let error = text("forbidden", json!({})).await.unwrap_err();
    assert_eq!(error.rpc().unwrap().message, "not ever");
    let error = text("reserved", json!({})).await.unwrap_err();
    assert!(error.to_string().contains("made-up"), "{error}");
    assert_eq!(client.list_tools().await.unwrap().len(), 2);
    assert_eq!(*attempts.lock().unwrap(), 4, "two failures, two pages");
}
