//! Tasks that another system ends.

use serde_json::json;
use toolwire::tasks::{ServerTask, TaskOptions};
use toolwire::{CallToolResult, Elicit, Error, ErrorObject, RequestContext, ToolResponse, ask};
use toolwire_tests::peer::{Peer, call as plain_call, plain};

use crate::peer::{accept, cancel, get, server, start, update, wait_for};

fn server_with_orders() -> toolwire::Server {
    let tool = plain("order", |ctx: RequestContext| async move {
        let task = ctx.create_task().await?;
        task.set_status_message("ordered").await?;
        Ok::<_, Error>(ToolResponse::task(task))
    });
    server().tool(tool.with_task(TaskOptions::new().required().on_demand()))
}

async fn order(server: &toolwire::Server, peer: &mut Peer) -> ServerTask {
    let id = start(peer, "order", json!({})).await;
    let task = server.task(&id).await.unwrap();
    task.expect("the task exists")
}

#[tokio::test]
async fn other_code_completes_or_fails_the_task() {
    let server = server_with_orders();
    let mut peer = Peer::connect(&server);
    let task = order(&server, &mut peer).await;
    let shown = peer.result_of(get(task.id())).await;
    assert_eq!(
        (&shown["status"], &shown["statusMessage"]),
        (&json!("working"), &json!("ordered"))
    );
    assert!(
        task.complete(CallToolResult::text("delivered"))
            .await
            .unwrap()
    );
    assert!(!task.fail(ErrorObject::internal("late")).await.unwrap());
    let shown = peer.result_of(get(task.id())).await;
    assert_eq!(
        shown["result"]["content"][0]["text"], "delivered",
        "{shown}"
    );

    let task = order(&server, &mut peer).await;
    assert!(task.fail(ErrorObject::internal("sold out")).await.unwrap());
    let shown = peer.result_of(get(task.id())).await;
    assert_eq!(shown["error"]["message"], "sold out", "{shown}");
    assert!(server.task("unknown").await.unwrap().is_none());
    peer.error_of(plain_call(1, "order", json!({})), -32021)
        .await;
}

#[tokio::test]
async fn other_code_asks_the_client() {
    #[derive(serde::Deserialize, Elicit)]
    struct Sure {
        sure: bool,
    }
    let server = server_with_orders();
    let mut peer = Peer::connect(&server);
    let task = order(&server, &mut peer).await;
    let asking = {
        let task = task.clone();
        tokio::spawn(async move { task.ask(ask::form::<Sure>("sure", "Sure?")).await })
    };
    wait_for(&mut peer, task.id(), "input_required").await;
    peer.result_of(update(task.id(), "sure", accept(json!({"sure": true}))))
        .await;
    assert!(asking.await.unwrap().unwrap().sure);
    let shown = peer.result_of(get(task.id())).await;
    assert_eq!(shown["status"], "working", "{shown}");

    let asking = {
        let task = task.clone();
        tokio::spawn(async move { task.ask(ask::form::<Sure>("again", "Really?")).await })
    };
    wait_for(&mut peer, task.id(), "input_required").await;
    peer.result_of(cancel(task.id())).await;
    assert!(asking.await.unwrap().is_err());
}
