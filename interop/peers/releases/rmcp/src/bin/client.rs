//! rmcp as the client of `toolwire demo`.
//!
//! `interop-rmcp-client REVISION stdio COMMAND [ARGUMENTS...]`, or `interop-rmcp-client REVISION http URL`.
//!
//! Each check prints a line `{"check":"...","ok":true|false,"detail":"..."}`. The Rust tests list the expected names.

use std::error::Error;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelTaskParams, ClientCapabilities,
    ClientConfig, GetPromptRequestParams, GetTaskParams, Implementation, JsonObject,
    ProtocolVersion, ReadResourceRequestParams, ResourceContents, TaskPayload, TaskStatus,
    UpdateTaskParams,
};
use rmcp::service::{QuitReason, RunningService, ServiceError};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientLifecycleMode, ClientServiceExt as _, RoleClient};
use serde_json::{Value, json};

type Problem = Box<dyn Error + Send + Sync>;
type Client = RunningService<RoleClient, ClientConfig>;

const CHECK_TIMEOUT: Duration = Duration::from_secs(20);

/// The revision with `server/discover`.
const NEWEST: &str = "2026-07-28";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode, Problem> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [revision, wire, target @ ..] = arguments.as_slice() else {
        return Err(
            "usage: interop-rmcp-client REVISION stdio|http COMMAND|URL [ARGUMENTS...]".into(),
        );
    };
    let mut report = Report {
        all_succeeded: true,
    };
    let mut client = match connect(revision, wire, target).await {
        Ok(client) => client,
        Err(problem) => {
            report.line("negotiate", &Err(problem))?;
            return Ok(ExitCode::FAILURE);
        }
    };
    let version = revision.as_str();
    report.run("negotiate", negotiate(&client, version)).await?;
    report.run("list_tools", list_tools(&client)).await?;
    report.run("call_tool", call_tool(&client)).await?;
    report.run("tool_error", tool_error(&client)).await?;
    report.run("unknown_tool", unknown_tool(&client)).await?;
    report
        .run("list_resources", list_resources(&client))
        .await?;
    report.run("read_resource", read_resource(&client)).await?;
    report
        .run("missing_resource", missing_resource(&client, version))
        .await?;
    report.run("get_prompt", get_prompt(&client)).await?;
    if version == NEWEST {
        report
            .run("task_completes", task_completes(&client))
            .await?;
        report.run("task_asks", task_asks(&client)).await?;
        report
            .run("task_is_cancelled", task_is_cancelled(&client))
            .await?;
        report
            .run("task_has_tool_error", task_has_tool_error(&client))
            .await?;
        report.run("unknown_task", unknown_task(&client)).await?;
    }
    report.run("close", close(&mut client)).await?;
    Ok(if report.all_succeeded {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Prints the outcome of each check.
struct Report {
    all_succeeded: bool,
}

impl Report {
    async fn run(
        &mut self,
        name: &str,
        check: impl Future<Output = Result<(), Problem>>,
    ) -> Result<(), Problem> {
        let outcome = tokio::time::timeout(CHECK_TIMEOUT, check).await;
        self.line(name, &outcome.unwrap_or_else(|elapsed| Err(elapsed.into())))
    }

    fn line(&mut self, name: &str, outcome: &Result<(), Problem>) -> Result<(), Problem> {
        let detail = outcome
            .as_ref()
            .err()
            .map_or_else(String::new, ToString::to_string);
        let detail = Value::String(detail);
        let ok = outcome.is_ok();
        self.all_succeeded &= ok;
        let mut stdout = std::io::stdout();
        writeln!(
            stdout,
            r#"{{"check":"{name}","ok":{ok},"detail":{detail}}}"#
        )?;
        Ok(stdout.flush()?)
    }
}

async fn connect(revision: &str, wire: &str, target: &[String]) -> Result<Client, Problem> {
    let lifecycle = match revision {
        NEWEST => ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: None,
        },
        _ => ClientLifecycleMode::Initialize,
    };
    match (wire, target) {
        ("stdio", [program, arguments @ ..]) => {
            let mut command = tokio::process::Command::new(program);
            command.args(arguments);
            let transport = TokioChildProcess::new(command)?;
            Ok(config().serve_with_lifecycle(transport, lifecycle).await?)
        }
        ("http", [url]) => {
            let transport = StreamableHttpClientTransport::from_uri(url.as_str());
            Ok(config().serve_with_lifecycle(transport, lifecycle).await?)
        }
        _ => Err(format!("{wire} {target:?} is not a server").into()),
    }
}

/// Returns a client that declares tasks, and elicitation, which tasks need to ask.
fn config() -> ClientConfig {
    let capabilities = ClientCapabilities::builder()
        .enable_elicitation()
        .enable_tasks()
        .build();
    ClientConfig::new(
        capabilities,
        Implementation::new("toolwire-interop-rmcp", "1.0.0"),
    )
}

async fn negotiate(client: &Client, revision: &str) -> Result<(), Problem> {
    let server = client.peer_info().ok_or("the server is unknown")?;
    equal(&server.protocol_version.to_string(), revision)?;
    let info = server.server_info.as_ref();
    equal(info.map_or("", |info| &info.name), "toolwire-demo")
}

async fn list_tools(client: &Client) -> Result<(), Problem> {
    let tools = client.list_all_tools().await?;
    for name in ["echo", "add", "fail"] {
        let is_listed = tools.iter().any(|tool| tool.name == name);
        ensure(is_listed, || format!("{name} is not listed"))?;
    }
    Ok(())
}

async fn call_tool(client: &Client) -> Result<(), Problem> {
    let text = "grüß dich, 世界";
    let result = client.call_tool(call("echo", [("text", text)])).await?;
    equal(&text_of(&result), text)
}

async fn tool_error(client: &Client) -> Result<(), Problem> {
    let call = call("fail", [("message", "out of paper")]);
    let result = client.call_tool(call).await?;
    ensure(result.is_error == Some(true), || {
        "the result is not an error".to_owned()
    })?;
    equal(&text_of(&result), "out of paper")
}

async fn unknown_tool(client: &Client) -> Result<(), Problem> {
    rejected(client.call_tool(call("no-such-tool", [])).await, -32602)
}

async fn list_resources(client: &Client) -> Result<(), Problem> {
    let resources = client.list_all_resources().await?;
    let is_listed = resources
        .iter()
        .any(|resource| resource.uri == "demo://clock");
    ensure(is_listed, || "demo://clock is not listed".to_owned())
}

async fn read_resource(client: &Client) -> Result<(), Problem> {
    let request = ReadResourceRequestParams::new("demo://notes/first");
    let result = client.read_resource(request).await?;
    match &result.contents[..] {
        [ResourceContents::TextResourceContents { text, .. }] => {
            equal(text, "This is the first note.")
        }
        other => Err(format!("{other:?} is not a text").into()),
    }
}

async fn missing_resource(client: &Client, revision: &str) -> Result<(), Problem> {
    let code = if revision == NEWEST { -32602 } else { -32002 };
    let request = ReadResourceRequestParams::new("demo://nowhere");
    rejected(client.read_resource(request).await, code)
}

async fn get_prompt(client: &Client) -> Result<(), Problem> {
    let request = GetPromptRequestParams::new("greet").with_arguments(object([("name", "Ada")]));
    let result = client.get_prompt(request).await?;
    let messages = serde_json::to_string(&result.messages)?;
    ensure(messages.contains("Ada"), || messages.clone())
}

async fn task_completes(client: &Client) -> Result<(), Problem> {
    let id = bake(client, json!({"layers": 2, "delay_ms": 1})).await?;
    let result = completed(after_working(client, &id).await?)?;
    ensure(result.is_error != Some(true), || format!("{result:?}"))?;
    equal(&text_of(&result), "a cake of 2 layers")
}

async fn task_asks(client: &Client) -> Result<(), Problem> {
    let id = bake(client, json!({"layers": 1, "delay_ms": 1, "ask": true})).await?;
    let TaskPayload::InputRequired { input_requests } = after_working(client, &id).await? else {
        return Err("the task does not ask".into());
    };
    let asked = serde_json::to_string(&input_requests)?;
    ensure(asked.contains("Add icing?"), || asked.clone())?;
    let accepted = json!({"action": "accept", "content": {}});
    let responses = input_requests.into_keys();
    let responses = responses.map(|key| (key, accepted.clone())).collect();
    let updated = client.update_task(UpdateTaskParams::new(&*id, responses));
    acknowledged(updated.await)?;
    let result = completed(after_working(client, &id).await?)?;
    equal(&text_of(&result), "a cake of 1 layers with icing")
}

async fn task_is_cancelled(client: &Client) -> Result<(), Problem> {
    // Longer than a check, so that the task ends only because it is cancelled.
    let id = bake(client, json!({"layers": 1000, "delay_ms": 60_000})).await?;
    acknowledged(client.cancel_task(CancelTaskParams::new(&*id)).await)?;
    match after_working(client, &id).await? {
        TaskPayload::Cancelled => Ok(()),
        other => Err(format!("the task is not cancelled: {other:?}").into()),
    }
}

async fn task_has_tool_error(client: &Client) -> Result<(), Problem> {
    let arguments = json!({"layers": 1, "delay_ms": 1, "degrees": 350});
    let id = bake(client, arguments).await?;
    let result = completed(after_working(client, &id).await?)?;
    ensure(result.is_error == Some(true), || format!("{result:?}"))?;
    equal(&text_of(&result), "the cake burned")
}

async fn unknown_task(client: &Client) -> Result<(), Problem> {
    rejected(
        client.get_task(GetTaskParams::new("no-such-task")).await,
        -32602,
    )
}

/// Calls the tool `bake`, and returns the id of the task that the call has become.
async fn bake(client: &Client, arguments: Value) -> Result<String, Problem> {
    let Value::Object(arguments) = arguments else {
        return Err("the arguments are not an object".into());
    };
    let call = CallToolRequestParams::new("bake").with_arguments(arguments);
    match client.call_tool_once(call).await? {
        CallToolResponse::Task(created) => Ok(created.task.task_id),
        other => Err(format!("{other:?} is not a task").into()),
    }
}

/// Accepts an acknowledgement. rmcp 3.8.0 reads one that names the server in `_meta`, as every result should, as the
/// result of another method. The following polls show its effect.
fn acknowledged(outcome: Result<(), ServiceError>) -> Result<(), Problem> {
    match outcome {
        Ok(()) | Err(ServiceError::UnexpectedResponse) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Polls until the task does not work any more. The timeout of the check ends the loop.
async fn after_working(client: &Client, id: &str) -> Result<TaskPayload, Problem> {
    loop {
        let polled = client.get_task(GetTaskParams::new(id)).await?.task;
        if polled.status() != TaskStatus::Working {
            return Ok(polled.payload);
        }
        let pause = polled.task.poll_interval_ms.unwrap_or(100);
        tokio::time::sleep(Duration::from_millis(pause)).await;
    }
}

/// Returns the result of a completed task.
fn completed(payload: TaskPayload) -> Result<CallToolResult, Problem> {
    match payload {
        TaskPayload::Completed { result } => Ok(serde_json::from_value(Value::Object(result))?),
        other => Err(format!("the task is not completed: {other:?}").into()),
    }
}

async fn close(client: &mut Client) -> Result<(), Problem> {
    match client.close().await? {
        QuitReason::Cancelled | QuitReason::Closed => Ok(()),
        other => Err(format!("the connection ended with {other:?}").into()),
    }
}

fn call<const N: usize>(name: &'static str, arguments: [(&str, &str); N]) -> CallToolRequestParams {
    CallToolRequestParams::new(name).with_arguments(object(arguments))
}

fn object<const N: usize>(members: [(&str, &str); N]) -> JsonObject {
    let members = members.into_iter();
    members
        .map(|(name, text)| (name.to_owned(), text.into()))
        .collect()
}

fn text_of(result: &CallToolResult) -> String {
    let texts = result.content.iter().filter_map(|block| block.as_text());
    texts.map(|text| text.text.as_str()).collect()
}

fn rejected<T>(outcome: Result<T, ServiceError>, code: i32) -> Result<(), Problem> {
    match outcome {
        Err(ServiceError::McpError(error)) if error.code.0 == code => Ok(()),
        Err(error) => Err(error.into()),
        Ok(_) => Err("the request was not rejected".into()),
    }
}

fn equal(actual: &str, expected: &str) -> Result<(), Problem> {
    ensure(actual == expected, || {
        format!("{actual:?} is not {expected:?}")
    })
}

fn ensure(condition: bool, otherwise: impl FnOnce() -> String) -> Result<(), Problem> {
    if condition {
        Ok(())
    } else {
        Err(otherwise().into())
    }
}
