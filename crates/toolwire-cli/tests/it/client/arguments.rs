//! Every syntax of an argument, with a real tool.

use serde_json::json;
use tokio::io::AsyncWriteExt;
use toolwire::types::RawJson;
use toolwire::{RequestContext, Server, Tool, ToolHandler};

use crate::client::small_server::SmallServer;
use crate::client::{TempDirectory, demo_command, run, run_demo};
use crate::process::within;

#[tokio::test]
async fn values_are_converted_by_the_schema_of_the_tool() {
    let sum = run_demo(&["call", "--json", "add", "a=19", "b=23"])
        .await
        .json();
    assert_eq!(sum["structuredContent"], json!({"sum": 42}));
    let text = run_demo(&["call", "echo", "text=42"]).await.ok();
    assert_eq!(text, "42\n");
}

#[tokio::test]
async fn json_is_passed_unchanged() {
    let sum = run_demo(&["call", "add", "a:=1", "b:=2"]).await.ok();
    assert_eq!(sum, "{\n  \"sum\": 3\n}\n");
    let sum = run_demo(&["call", "add", "--args", r#"{"a": 1, "b": 2}"#, "b=5"])
        .await
        .ok();
    assert_eq!(sum, "{\n  \"sum\": 6\n}\n");
    let sum = run_demo(&["call", "add", r#"{"a": 1, "b": 2}"#]).await.ok();
    assert_eq!(sum, "{\n  \"sum\": 3\n}\n");
}

#[tokio::test]
async fn files_are_read() {
    let directory = TempDirectory::new("files");
    let text = format!("text=@{}", directory.write("text.txt", "from a file"));
    assert_eq!(
        run_demo(&["call", "echo", &text]).await.ok(),
        "from a file\n"
    );
    assert_eq!(
        run_demo(&["call", "echo", "text=@@home"]).await.ok(),
        "@home\n"
    );
    let all = format!("@{}", directory.write("all.json", r#"{"a": 20, "b": 22}"#));
    assert_eq!(
        run_demo(&["call", "add", &all]).await.ok(),
        "{\n  \"sum\": 42\n}\n"
    );
}

#[tokio::test]
async fn standard_input_is_read() {
    let mut command = demo_command(&["call", "echo", "-"]);
    command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input
        .write_all(br#"{"text": "from a pipe"}"#)
        .await
        .unwrap();
    drop(input);
    let output = within(child.wait_with_output()).await.unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "from a pipe\n");
}

#[tokio::test]
async fn missing_arguments_show_the_usage() {
    let text = run_demo(&["call", "add", "a=1"]).await.failed(2);
    for part in [
        "`b` is missing",
        "Adds two integers.",
        "usage: add a=INTEGER b=INTEGER",
        "The second number.",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let text = run_demo(&["prompt", "greet"]).await.failed(2);
    assert!(text.contains("`name` is missing"), "{text}");
    assert!(text.contains("usage: greet name=TEXT"), "{text}");
}

#[tokio::test]
async fn invalid_arguments_name_the_expected_type() {
    let text = run_demo(&["call", "add", "a=one", "b=2"]).await.failed(2);
    assert!(
        text.contains("`a` must be an integer, not \"one\""),
        "{text}"
    );
    assert!(text.contains("try: a=1"), "{text}");
    let text = run_demo(&["call", "change_list", "list=all"])
        .await
        .failed(2);
    assert!(text.contains("one of tools, prompts, resources"), "{text}");
}

#[tokio::test]
async fn unknown_tool_shows_similar_names() {
    let text = run_demo(&["call", "ad", "a=1"]).await.failed(4);
    assert!(text.contains("try: add"), "{text}");
    let text = run_demo(&["tools", "counter"]).await.failed(4);
    assert!(text.contains("the server has no tool `counter`"), "{text}");
}

#[tokio::test]
async fn template_is_expanded_with_its_variables() {
    let text = run_demo(&["read", "demo://notes/{name}", "name=first"])
        .await
        .ok();
    assert_eq!(text, "This is the first note.\n");
}

#[tokio::test]
async fn variants_of_an_enum_are_set_by_path() {
    let call = ["call", "remind", "text=Water the plants"];
    let with = async |more: &[&str]| run_demo(&[&call[..], more].concat()).await;
    let text = with(&["repeat.kind=every", "repeat.days=3"]).await.ok();
    assert_eq!(text, "Water the plants, every 3 days\n");
    let text = with(&["repeat.kind=once", "repeat.at=08:30"]).await.ok();
    assert_eq!(text, "Water the plants, once at 08:30\n");
    let text = with(&["repeat.kind=never"]).await.failed(2);
    assert!(
        text.contains("`repeat.kind` must be one of once, every"),
        "{text}"
    );
    let text = with(&["repeat.kind=every", "repeat.days=few"]).await;
    let text = text.failed(2);
    assert!(text.contains("`repeat.days` must be an integer"), "{text}");
}

#[tokio::test]
async fn members_of_nested_arguments_are_shown() {
    let text = run_demo(&["tools", "remind"]).await.ok();
    for part in [
        "usage: remind text=STRING repeat=OBJECT\n",
        "\nrepeat       object      required                  How often it repeats.\n",
        "\nrepeat.kind  once|every  required\n",
        "\nrepeat.at    string      required with kind=once   The time of the day, such as `08:30`.\n",
        "\nrepeat.days  integer     required with kind=every  The number of days between two reminders.\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[tokio::test]
async fn unknown_arguments_are_named_with_a_suggestion() {
    let schema = json!({"type": "object", "properties": {"count": {"type": "integer"}}});
    let show = |_: RequestContext, arguments: RawJson| async move { arguments.get().to_owned() };
    let tool = ToolHandler::raw(Tool::new("show", schema), show);
    let server = SmallServer::start(Server::new("open", "1.0.0").tool(tool)).await;
    let ran = run(&["call", server.url(), "show", "cuont=1"]).await;
    let warning = "warning: the tool has no argument `cuont`; did you mean `count`?";
    assert!(ran.stderr.contains(warning), "{ran:?}");
    assert_eq!(ran.ok(), "{\"cuont\":1}\n");
    let ran = run(&["call", server.url(), "show", "--args", "{\"cuont\":1}"]).await;
    assert!(ran.stderr.contains(warning), "{ran:?}");
    let ran = run(&["call", server.url(), "show", "count=1"]).await;
    assert_eq!(ran.stderr, "", "{ran:?}");
    // The schema of a tool without arguments permits none.
    let text = run_demo(&["call", "active", "x=1"]).await.failed(2);
    assert!(text.contains("there is no argument `x`"), "{text}");
}
