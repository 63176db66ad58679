//! Tasks of two users over HTTP, who are identified by their access tokens.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use toolwire::store::contract::Faulty;
use toolwire::tasks::{MemoryTaskStore, TaskOptions, Tasks};
use toolwire::transport::http::HttpOptions;
use toolwire::{RequestContext, ToolHandler};
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::http::named_users::NamedUsers;
use toolwire_tests::http::request::Request;
use toolwire_tests::http::session::initialize_request;
use toolwire_tests::http::socket::Response;
use toolwire_tests::peer::{legacy, notification, plain, within};

use crate::peer::{call, cancel, get, id_of, request, server, update};

/// The maximum number of unfinished tasks of one user.
const LIMIT: usize = 64;

/// A tool that never ends, and the number of its runs.
fn forever() -> (ToolHandler, Arc<AtomicUsize>) {
    let runs = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&runs);
    let tool = plain("forever", move |_: RequestContext| {
        counter.fetch_add(1, Ordering::SeqCst);
        std::future::pending::<String>()
    });
    (tool.with_task(TaskOptions::new()), runs)
}

async fn serve(server: &toolwire::Server) -> Endpoint {
    let options = HttpOptions::new().with_authorizer(NamedUsers);
    Endpoint::serve_with(server, options).await
}

/// A server whose tool never ends, and the number of its runs.
async fn endpoint() -> (Endpoint, Arc<AtomicUsize>) {
    let (tool, runs) = forever();
    (serve(&server().tool(tool)).await, runs)
}

/// Returns a request with the access token of a user.
fn of_user(user: &str, request: Request) -> Request {
    request.with("Authorization", format!("Bearer {user}"))
}

/// Sends a request of a user and returns the response.
async fn send(endpoint: &Endpoint, user: &str, message: Value) -> Value {
    let request = of_user(user, Request::modern(&message));
    let response = endpoint.request(&request).await;
    assert_eq!(response.status(), 200, "{}", response.text());
    response.message()
}

/// A 2025-11-25 session of a user.
struct UserSession<'e> {
    endpoint: &'e Endpoint,
    user: &'static str,
    id: String,
    /// The result of `initialize`.
    initialized: Value,
}

impl<'e> UserSession<'e> {
    async fn open(endpoint: &'e Endpoint, user: &'static str) -> Self {
        let request = of_user(user, initialize_request("2025-11-25"));
        let response = endpoint.request(&request).await;
        let id = response.header("mcp-session-id").expect("a session");
        let session = Self {
            endpoint,
            user,
            id: id.to_owned(),
            initialized: response.message()["result"].take(),
        };
        let initialized = notification("notifications/initialized", json!({}));
        assert_eq!(session.post(&initialized).await.status(), 202);
        session
    }

    async fn post(&self, message: &Value) -> Response {
        let request = Request::post(message).in_session(&self.id, "2025-11-25");
        self.endpoint.request(&of_user(self.user, request)).await
    }

    /// Sends a request and returns the result.
    async fn result_of(&self, method: &str, params: Value) -> Value {
        let response = self.post(&legacy(1, method, params)).await;
        assert_eq!(response.status(), 200, "{}", response.text());
        let mut message = response.message();
        assert!(message.get("result").is_some(), "{message}");
        message["result"].take()
    }

    /// Starts a task and returns its id.
    async fn start(&self) -> String {
        let params = json!({"name": "forever", "arguments": {}, "task": {}});
        let created = self.result_of("tools/call", params).await;
        id_of(&created["task"])
    }

    /// Returns the ids on a page of `tasks/list`, and the cursor of the next page.
    async fn list(&self, params: Value) -> (Vec<String>, Value) {
        let page = self.result_of("tasks/list", params).await;
        let tasks = page["tasks"].as_array().expect("a list");
        let is_working = |task: &Value| task["status"] == "working";
        assert!(tasks.iter().all(is_working), "{page}");
        (
            tasks.iter().map(id_of).collect(),
            page["nextCursor"].clone(),
        )
    }
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
    let message = format!(
        "this user has too many unfinished tasks (the limit is {LIMIT} unfinished tasks); \
         wait for some, or cancel them"
    );
    let error = json!({"code": -32603, "message": message});
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

#[tokio::test]
async fn list_has_the_tasks_of_its_user_on_pages() {
    let endpoint = serve(&server().with_page_size(2).tool(forever().0)).await;
    let ann = UserSession::open(&endpoint, "ann").await;
    let bob = UserSession::open(&endpoint, "bob").await;
    let capabilities = &ann.initialized["capabilities"]["tasks"];
    assert_eq!(capabilities["list"], json!({}), "{capabilities}");
    let mut of_ann = [ann.start().await, ann.start().await, ann.start().await];
    let of_bob = bob.start().await;
    of_ann.sort();

    let (first, cursor) = ann.list(json!({})).await;
    assert_eq!(first, of_ann[..2]);
    assert!(cursor.is_string(), "there is another page: {cursor}");
    let (second, last) = ann.list(json!({"cursor": cursor})).await;
    assert_eq!((second.as_slice(), last), (&of_ann[2..], Value::Null));

    let alone = (vec![of_bob.clone()], Value::Null);
    assert_eq!(bob.list(json!({})).await, alone);
    // The cursor of another user grants nothing.
    let (page, _) = bob.list(json!({"cursor": cursor})).await;
    assert!(page.iter().all(|id| *id == of_bob), "{page:?}");
}

#[tokio::test]
async fn task_of_another_user_is_not_in_the_acknowledgement() {
    let (endpoint, _) = endpoint().await;
    let start = async |user: &str| {
        let created = send(&endpoint, user, call("forever", json!({}))).await;
        id_of(&created["result"])
    };
    let (of_ann, of_bob) = (start("ann").await, start("bob").await);
    let params = json!({"notifications": {"taskIds": [of_ann, of_bob]}});
    let listen = request("listen", "subscriptions/listen", params);
    let mut events = endpoint
        .open(&of_user("bob", Request::modern(&listen)))
        .await;
    let acknowledged = within(events.message()).await;
    let accepted = &acknowledged["params"]["notifications"]["taskIds"];
    assert_eq!(*accepted, json!([of_bob]), "{acknowledged}");
    // The task of `ann` changes first.
    send(&endpoint, "ann", cancel(&of_ann)).await;
    send(&endpoint, "bob", cancel(&of_bob)).await;
    loop {
        let task = within(events.message()).await;
        assert_eq!(task["params"]["taskId"], of_bob, "{task}");
        if task["params"]["status"] == "cancelled" {
            return;
        }
    }
}

#[tokio::test]
async fn call_without_the_scopes_of_its_tool_creates_no_task() {
    let store = Arc::new(Faulty::new(Arc::new(MemoryTaskStore::default())));
    let (tool, runs) = forever();
    let server = toolwire_tests::peer::server()
        .with_tasks(Tasks::new(Arc::clone(&store)))
        .tool(tool.requires_scopes(["jobs"]));
    let endpoint = serve(&server).await;
    let rejected = of_user("ann", Request::modern(&call("forever", json!({}))));
    assert_eq!(endpoint.request(&rejected).await.status(), 403);
    let ann = UserSession::open(&endpoint, "ann").await;
    let params = json!({"name": "forever", "arguments": {}, "task": {}});
    let rejected = ann.post(&legacy(1, "tools/call", params)).await;
    assert_eq!(rejected.status(), 403);
    assert_eq!(store.calls("create"), 0, "no record");
    assert_eq!(runs.load(Ordering::SeqCst), 0, "the handler did not run");

    let created = send(&endpoint, "ann:jobs", call("forever", json!({}))).await;
    assert_eq!(created["result"]["resultType"], "task", "{created}");
    assert_eq!(store.calls("create"), 1);
}
