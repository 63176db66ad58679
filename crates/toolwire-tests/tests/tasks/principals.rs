//! Tasks of two users over HTTP, who are identified by their access tokens.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use toolwire::RequestContext;
use toolwire::tasks::TaskOptions;
use toolwire::transport::http::HttpOptions;
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::http::named_users::NamedUsers;
use toolwire_tests::http::request::Request;
use toolwire_tests::peer::{plain, within};

use crate::peer::{call, cancel, get, id_of, server, update};

/// The maximum number of unfinished tasks of one user.
const LIMIT: usize = 64;

/// A server whose tool never ends, and the number of its runs.
async fn endpoint() -> (Endpoint, Arc<AtomicUsize>) {
    let runs = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&runs);
    let tool = plain("forever", move |_: RequestContext| {
        counter.fetch_add(1, Ordering::SeqCst);
        std::future::pending::<String>()
    });
    let server = server().tool(tool.with_task(TaskOptions::new()));
    let options = HttpOptions::new().with_authorizer(NamedUsers);
    (Endpoint::serve_with(&server, options).await, runs)
}

/// Sends a request of a user and returns the response.
async fn send(endpoint: &Endpoint, user: &str, message: Value) -> Value {
    let request = Request::modern(&message).with("Authorization", format!("Bearer {user}"));
    let response = endpoint.request(&request).await;
    assert_eq!(response.status(), 200, "{}", response.text());
    response.message()
}

#[tokio::test]
async fn number_of_unfinished_tasks_is_limited_for_each_user() {
    let (endpoint, runs) = endpoint().await;
    let start = async |user: &str| send(&endpoint, user, call("forever", json!({}))).await;
    let mut last = String::new();
    for _ in 0..LIMIT {
        last = id_of(&start("ann").await["result"]);
    }
    let rejected = start("ann").await;
    let error = json!({
        "code": -32603,
        "message": "this user has too many unfinished tasks; wait for some, or cancel them",
    });
    assert_eq!(rejected["error"], error);
    let other = start("bob").await;
    assert_eq!(other["result"]["resultType"], "task", "{other}");
    let task = send(&endpoint, "ann", get(&last)).await;
    assert_eq!(task["result"]["status"], "working", "{task}");
    send(&endpoint, "ann", cancel(&last)).await;
    let next = start("ann").await;
    assert_eq!(next["result"]["resultType"], "task", "{next}");
    assert_eq!(start("ann").await["error"], error);
    // A run may start after its response.
    let all_started = async {
        while runs.load(Ordering::SeqCst) < LIMIT + 2 {
            tokio::task::yield_now().await;
        }
    };
    within(all_started).await;
    assert_eq!(runs.load(Ordering::SeqCst), LIMIT + 2, "no rejected run");
}

#[tokio::test]
async fn task_of_another_user_looks_like_an_unknown_task() {
    let (endpoint, _) = endpoint().await;
    let created = send(&endpoint, "ann", call("forever", json!({}))).await;
    let id = id_of(&created["result"]);
    let unknown = "0".repeat(id.len());
    let requests = |id: &str| [get(id), cancel(id), update(id, "key", json!({}))];
    for (existing, unknown) in requests(&id).into_iter().zip(requests(&unknown)) {
        let existing = send(&endpoint, "bob", existing).await;
        assert_eq!(existing["error"]["code"], -32602, "{existing}");
        assert_eq!(existing, send(&endpoint, "bob", unknown).await);
    }
    let task = send(&endpoint, "ann", get(&id)).await;
    assert_eq!(task["result"]["status"], "working", "{task}");
}
