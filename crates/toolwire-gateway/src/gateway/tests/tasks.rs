//! Tasks of upstreams.

use serde::Deserialize;
use serde_json::json;
use tokio::sync::Notify;
use toolwire::tasks::{TaskOptions, Tasks};
use toolwire::types::{ElicitResult, ProtocolVersion, SubscriptionFilter};
use toolwire::{Called, ClientBuilder, Elicit, TaskHandle};

use super::rules::audit_lines;
use super::*;

const ANN: &str = "0123456789abcdef";
const BOB: &str = "fedcba9876543210";

/// The revisions with a design of tasks.
const DESIGNS: [ProtocolVersion; 2] = [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28];

#[derive(Deserialize, Elicit)]
struct Person {
    name: String,
}

/// A server of one revision with tools that run as tasks.
struct TaskServer {
    upstream: TestUpstream,
    /// Ends the task of `wait`.
    finish: Arc<Notify>,
}

impl TaskServer {
    async fn start(version: ProtocolVersion) -> Self {
        let finish = Arc::new(Notify::new());
        let awaited = Arc::clone(&finish);
        let wait = ToolHandler::typed("wait", move |_: RequestContext, _: Value| {
            let awaited = Arc::clone(&awaited);
            async move {
                awaited.notified().await;
                "done"
            }
        });
        let ask = ToolHandler::typed("ask", |ctx: RequestContext, _: Value| async move {
            let person: Person = ctx.ask("person", "Your name?").await?;
            Ok::<_, toolwire::Error>(format!("hello {}", person.name))
        });
        let poll = TaskOptions::new().with_poll_interval(Duration::from_millis(5));
        let server = Server::new("upstream", "1.0.0")
            .with_versions([version])
            .with_tasks(Tasks::in_memory())
            .tool(wait.with_task(poll.clone().required()))
            .tool(ask.with_task(poll))
            .tool(named_tool("plain", "responds at once"));
        Self {
            upstream: TestUpstream::start(server).await,
            finish,
        }
    }
}

fn builder(version: ProtocolVersion) -> ClientBuilder {
    ClientBuilder::new("test", "1.0.0")
        .with_versions([version])
        .with_tasks()
        .on_elicitation(|request| async move {
            assert_eq!(request.message, "[jobs] Your name?");
            Ok(ElicitResult::accept().with_content([("name", "Ann")]))
        })
}

async fn started(client: &Client, tool: &str) -> TaskHandle {
    let called = within(client.call_tool(tool, json!({})).as_task().into_future()).await;
    match called.expect("the call is accepted") {
        Called::Task(task) => task,
        other => panic!("{other:?}"),
    }
}

async fn text_of(task: &TaskHandle) -> String {
    let result = within(task.wait()).await.expect("the task completes");
    result.all_text()
}

/// Returns the message of the error of `tasks/get`.
async fn error_of(client: &Client, id: &str) -> String {
    let request = client.request("tasks/get", json!({ "taskId": id }));
    let error = within(request.into_future()).await;
    let error = error.expect_err("the task is not known");
    let rpc = error.rpc().expect("the server responds");
    rpc.message.to_string()
}

#[tokio::test]
async fn task_of_an_upstream_is_polled_updated_and_cancelled() {
    for version in DESIGNS {
        let scratch = Scratch::new("gateway");
        let jobs = TaskServer::start(version).await;
        let other = TestUpstream::start(server_with(&["read"])).await;
        let text = table("jobs", &jobs.upstream, "") + &table("files", &other, "");
        let gateway = start(&scratch, &text).await;
        let client = within(builder(version).in_process(gateway.server())).await;
        let client = client.expect("the server is in this process");

        let task = started(&client, "jobs_wait").await;
        let polled = within(task.get()).await.expect("the task is known");
        assert_eq!(polled.task.task_id, task.id(), "{version}");
        if version == ProtocolVersion::LATEST {
            let mut filter = SubscriptionFilter::new();
            filter.task_ids = Some(vec![task.id().to_owned()]);
            let changes = within(client.listen(filter)).await.expect("it is accepted");
            // Changes of tasks are not announced.
            assert_eq!(changes.accepted_filter().task_ids, None);
        }
        jobs.finish.notify_one();
        assert_eq!(text_of(&task).await, "done", "{version}");

        let task = started(&client, "jobs_ask").await;
        assert_eq!(text_of(&task).await, "hello Ann", "{version}");

        let task = started(&client, "jobs_wait").await;
        within(task.cancel()).await.expect("it can be cancelled");
        let error = within(task.wait()).await.unwrap_err();
        assert!(error.is_task_cancelled(), "{version}: {error}");

        assert_eq!(call(&client, "jobs_plain").await, Ok("plain".to_owned()));
        client.close().await;
        gateway.close().await;
    }
}

#[tokio::test]
async fn task_belongs_to_its_principal_and_to_the_permission_to_use_its_tool() {
    for version in DESIGNS {
        let scratch = Scratch::new("gateway");
        std::fs::write(scratch.path("tokens"), format!("ann {ANN}\nbob {BOB}")).unwrap();
        let jobs = TaskServer::start(version).await;
        let front = "listen = \"127.0.0.1:0\"\n[auth]\nbearer_file = \"tokens\"\n".to_owned()
            + &table("jobs", &jobs.upstream, "")
            + "[audit]\nfile = \"audit.jsonl\"\n";
        let gateway = start(&scratch, &front).await;
        let listener = gateway.bind(false).await.expect("a port is free");
        let url = listener.url().to_owned();
        let serving = tokio::spawn(listener.run());
        let connect = async |token: &str| {
            let header = format!("Bearer {token}");
            let builder = builder(version).with_header("Authorization", &header);
            within(builder.unwrap().connect(&url))
                .await
                .expect("it is served")
        };
        let (ann, bob) = (connect(ANN).await, connect(BOB).await);
        let task = started(&ann, "jobs_wait").await;
        let changed = format!("{}x", task.id());
        for (client, id) in [(&bob, task.id()), (&bob, "x"), (&ann, changed.as_str())] {
            let message = error_of(client, id).await;
            assert_eq!(message, "unknown task", "{version}: {id}");
        }
        assert!(within(task.get()).await.is_ok(), "{version}");

        let rule = "[[rule]]\ndeny = { tool = \"wait\" }\n";
        let changed = parse(&scratch, &(front.clone() + rule));
        within(gateway.reload(changed))
            .await
            .expect("the rules are valid");
        let message = error_of(&ann, task.id()).await;
        assert_eq!(message, "unknown task", "{version}");

        for client in [ann, bob] {
            client.close().await;
        }
        gateway.close().await;
        within(serving).await.expect("it ends").expect("no failure");
        let decisions: Vec<Value> = audit_lines(&scratch, "tasks/get")
            .iter()
            .map(|line| {
                json!([
                    line["principal"]["subject"],
                    line["upstream"],
                    line["decision"],
                    line["tool"]
                ])
            })
            .collect();
        for decision in ["allow", "deny"] {
            let expected = json!(["ann", "jobs", decision, "wait"]);
            assert!(decisions.contains(&expected), "{version}: {decisions:?}");
        }
        let is_bob = |decision: &Value| decision[0] == "bob" && !decision[1].is_null();
        assert!(!decisions.iter().any(is_bob), "{version}: {decisions:?}");
    }
}

#[tokio::test]
async fn requests_about_a_task_count_for_the_limit_of_its_upstream() {
    for version in DESIGNS {
        let scratch = Scratch::new("gateway");
        let jobs = TaskServer::start(version).await;
        let limits = "limit = [{ calls = 1, per = \"1h\", tools = [\"wait\"] }, { calls = 3, per = \"1h\" }]";
        let gateway = start(&scratch, &table("jobs", &jobs.upstream, limits)).await;
        let client = within(builder(version).in_process(gateway.server())).await;
        let client = client.expect("the server is in this process");
        let task = started(&client, "jobs_wait").await;
        // The limit of the tool counts its calls only.
        for _ in 0..2 {
            assert!(within(task.get()).await.is_ok(), "{version}");
        }
        let message = error_of(&client, task.id()).await;
        assert!(message.contains("too many calls"), "{version}: {message}");
        client.close().await;
        gateway.close().await;
    }
}
