//! `toolwire gateway` and `toolwire pins`, in front of real server processes.

use std::path::Path;

use serde_json::json;
use tokio::process::Command;

use crate::client::{TempDirectory, run, run_command};
use crate::http::HttpDemo;
use crate::process::{Demo, Era, toolwire, within};

const PROGRAM: &str = env!("CARGO_BIN_EXE_toolwire");

/// Returns the table of an upstream that is the demo server, with further lines.
fn demo(name: &str, lines: &str) -> String {
    format!("[upstream.{name}]\ncommand = [{PROGRAM:?}, \"demo\", \"--stdio\"]\n{lines}\n")
}

/// Writes a configuration with a free port.
fn configuration(directory: &TempDirectory, tables: &str) -> String {
    let text = format!("listen = \"127.0.0.1:0\"\n{tables}");
    directory.write("gateway.toml", &text)
}

async fn assert_adds(url: &str, tool: &str, era: &str) {
    let call = ["call", url, tool, "a=1", "b=2", "--json", "--era", era];
    let output = run(&call).await.json();
    assert_eq!(output["structuredContent"]["sum"], 3, "{output}");
}

#[tokio::test]
async fn commands_are_served_together_and_at_their_own_paths() {
    let directory = TempDirectory::new("gateway");
    let tables = demo("one", "") + &demo("two", "tools = { allow = [\"add\"] }");
    let config = configuration(&directory, &tables);
    let gateway = toolwire(&["gateway", "--config", &config]);
    let gateway = HttpDemo::start_command(gateway).await;
    for era in ["modern", "legacy"] {
        assert_adds(&gateway.url(), "one_add", era).await;
        assert_adds(&gateway.url(), "two_add", era).await;
        assert_adds(&format!("{}/two", gateway.url()), "add", era).await;
    }
    let failed = run(&["call", &gateway.url(), "two_echo", "text=a"])
        .await
        .failed(4);
    assert!(failed.contains("two_echo"), "{failed}");
}

/// Writes the example with another address, and returns the command of a gateway with it. The commands of the example find
/// this build of `toolwire`.
fn example_gateway(directory: &TempDirectory) -> Command {
    let example = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/gateway/gateway.toml"
    );
    let text = std::fs::read_to_string(example).expect("there is an example");
    let listen = "listen = \"127.0.0.1:8080\"";
    assert!(text.contains(listen), "{text}");
    let text = text.replace(listen, "listen = \"127.0.0.1:0\"");
    let config = directory.write("gateway.toml", &text);
    let mut gateway = toolwire(&["gateway", "--config", &config]);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let program = Path::new(PROGRAM).parent().expect("it is in a directory");
    let directories = [program.to_owned()]
        .into_iter()
        .chain(std::env::split_paths(&path));
    let path = std::env::join_paths(directories).expect("no directory has a separator");
    gateway.env("PATH", path);
    gateway
}

#[tokio::test]
async fn example_configuration_offers_its_tools_and_denies_destructive_ones() {
    let directory = TempDirectory::new("gateway");
    let gateway = HttpDemo::start_command(example_gateway(&directory)).await;
    for era in ["modern", "legacy"] {
        let url = gateway.url();
        assert_adds(&url, "demo_add", era).await;
        assert_adds(&url, "s_add", era).await;
        assert_adds(&format!("{url}/demo"), "add", era).await;
        let tools = run(&["tools", &url, "--era", era]).await.ok();
        assert!(tools.contains("demo_echo"), "{tools}");
        assert!(!tools.contains("demo_bump"), "{tools}");
        let denied = run(&["call", &url, "demo_bump", "--era", era]).await;
        let denied = denied.failed(4);
        assert!(denied.contains("demo_bump"), "{denied}");
    }
}

#[tokio::test]
async fn example_configuration_is_served_on_standard_input_and_output() {
    for era in Era::BOTH {
        let directory = TempDirectory::new("gateway");
        let mut gateway = example_gateway(&directory);
        gateway.arg("--stdio").stderr(std::process::Stdio::piped());
        let mut client = Demo::start_command(era, gateway).await;
        for tool in ["demo_add", "s_add"] {
            let sum = client.call(tool, json!({"a": 1, "b": 2})).await;
            assert_eq!(sum["structuredContent"]["sum"], 3, "{sum}");
        }
        let names = tool_names(&mut client).await;
        assert!(names.contains(&"demo_echo".to_owned()), "{names:?}");
        assert!(!names.contains(&"demo_bump".to_owned()), "{names:?}");
        let denied = client
            .ask("tools/call", json!({"name": "demo_bump", "arguments": {}}))
            .await;
        let message = denied["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("demo_bump"), "{denied}");
        let ended = client.end().await;
        assert!(ended.status.success(), "{}", ended.stderr);
    }
}

#[tokio::test]
async fn servers_of_a_host_file_become_upstreams() {
    let directory = TempDirectory::new("gateway");
    let servers = serde_json::json!({"mcpServers": {
        "my demo": {"command": PROGRAM, "args": ["demo", "--stdio"]},
        "off": {"command": "no-such-command", "disabled": true},
    }});
    let file = directory.write("mcp.json", &servers.to_string());
    let gateway = toolwire(&["gateway", "--from", &file, "--listen", "127.0.0.1:0"]);
    let gateway = HttpDemo::start_command(gateway).await;
    assert_adds(&gateway.url(), "my_demo_add", "modern").await;
}

/// Returns the names of the tools.
async fn tool_names(client: &mut Demo) -> Vec<String> {
    let listed = client.ask("tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().expect("a list");
    let names = tools.iter().filter_map(|tool| tool["name"].as_str());
    names.map(str::to_owned).collect()
}

#[tokio::test]
async fn all_upstreams_are_served_on_standard_input_and_output() {
    for era in Era::BOTH {
        let directory = TempDirectory::new("gateway");
        let config = configuration(&directory, &(demo("one", "") + &demo("two", "")));
        let mut gateway = toolwire(&["gateway", "--config", &config, "--stdio"]);
        gateway.stderr(std::process::Stdio::piped());
        // The client fails at a line that is no message.
        let mut client = Demo::start_command(era, gateway).await;
        for tool in ["one_add", "two_add"] {
            assert!(tool_names(&mut client).await.contains(&tool.to_owned()));
            let sum = client.call(tool, json!({"a": 1, "b": 2})).await;
            assert_eq!(sum["structuredContent"]["sum"], 3, "{sum}");
        }
        // The connection stays when the configuration changes.
        configuration(&directory, &demo("one", "prefix = \"first\""));
        within(async {
            while !tool_names(&mut client)
                .await
                .contains(&"first_add".to_owned())
            {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        })
        .await;
        let sum = client.call("first_add", json!({"a": 1, "b": 2})).await;
        assert_eq!(sum["structuredContent"]["sum"], 3, "{sum}");
        let names = tool_names(&mut client).await;
        assert!(!names.iter().any(|name| name.starts_with("two_")));
        let ended = client.end().await;
        assert!(ended.status.success(), "{}", ended.stderr);
        assert!(!ended.stderr.contains("listening"), "{}", ended.stderr);
    }
}

#[tokio::test]
async fn options_of_http_are_rejected_on_standard_input_and_output() {
    let directory = TempDirectory::new("gateway");
    let config = configuration(&directory, &demo("one", ""));
    let stdio = ["gateway", "--config", &config, "--stdio"];
    for options in [
        &["--listen", "127.0.0.1:0"][..],
        &["--access-log", "access.jsonl"],
        &["--check"],
    ] {
        let failed = run(&[&stdio[..], options].concat()).await.failed(2);
        assert!(failed.contains("--stdio"), "{failed}");
        assert!(failed.contains(options[0]), "{failed}");
    }
    let auth = "[auth]\nissuer = \"https://id.test\"\naudience = \"https://tools.test/mcp\"\n";
    configuration(&directory, &(demo("one", "") + auth));
    let failed = run(&stdio).await.failed(2);
    let expected = "toolwire: --stdio serves the local user, who cannot send an access token, and the configuration has \
                    [auth]\n  try: remove [auth], or serve over HTTP without --stdio\n";
    assert_eq!(failed, expected);
}

#[tokio::test]
async fn access_log_has_the_requests_at_all_addresses() {
    let directory = TempDirectory::new("gateway");
    let config = configuration(&directory, &demo("one", ""));
    let log = directory.0.join("access.jsonl");
    let mut gateway = toolwire(&["gateway", "--config", &config, "--access-log"]);
    gateway.arg(&log);
    let gateway = HttpDemo::start_command(gateway).await;
    assert_adds(&gateway.url(), "one_add", "modern").await;
    assert_adds(&format!("{}/one", gateway.url()), "add", "modern").await;
    expect_calls(&log, &[("/mcp", "one_add"), ("/mcp/one", "add")]).await;
}

/// Waits until an access log has calls of these tools at these paths.
pub(crate) async fn expect_calls(log: &Path, expected: &[(&str, &str)]) {
    within(async {
        loop {
            let text = std::fs::read_to_string(log).unwrap_or_default();
            // The last line may be incomplete.
            let lines = text
                .split_inclusive('\n')
                .filter(|line| line.ends_with('\n'));
            let lines = lines.map(|line| serde_json::from_str(line).expect("a line is JSON"));
            let calls: Vec<serde_json::Value> = lines
                .filter(|line: &serde_json::Value| line["method"] == "tools/call")
                .collect();
            let found = calls
                .iter()
                .map(|line| (line["path"].as_str(), line["name"].as_str()));
            let expected = expected
                .iter()
                .map(|(path, name)| (Some(*path), Some(*name)));
            if found.eq(expected) {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn check_shows_what_is_offered() {
    let directory = TempDirectory::new("gateway");
    let both = demo("one", "flat = true\ntools = { allow = [\"add\"] }")
        + &demo("two", "flat = true\ntools = { allow = [\"add\"] }");
    let config = configuration(&directory, &both);
    let shown = run(&["gateway", "--config", &config, "--check"]).await.ok();
    assert!(shown.contains("  tool      add\n"), "{shown}");
    assert!(shown.contains("warning: there is no [auth]"), "{shown}");
    assert!(
        shown.contains("conflict: tool `add` of `two` is hidden"),
        "{shown}"
    );
    let gone = demo("one", "") + "[upstream.gone]\ncommand = [\"no-such-server-command\"]\n";
    let config = configuration(&directory, &gone);
    let output = run(&["gateway", "--config", &config, "--check"]).await;
    assert_eq!(output.code, Some(3), "{output:?}");
    assert!(output.stdout.contains("gone  not reachable"), "{output:?}");
}

#[tokio::test]
async fn mistakes_end_the_command() {
    let directory = TempDirectory::new("gateway");
    let config = configuration(&directory, &demo("one", "tols = {}"));
    let failed = run(&["gateway", "--config", &config]).await.failed(2);
    let expected =
        "gateway.toml, line 4: unknown key `tols` in `upstream.one`; did you mean `tools`?";
    assert!(failed.contains(expected), "{failed}");

    let config = configuration(&directory, &demo("one", ""));
    let open = ["gateway", "--config", &config, "--listen", "0.0.0.0:0"];
    let failed = run(&open).await.failed(2);
    assert!(failed.contains("without authorization"), "{failed}");

    let gone = "[upstream.gone]\ncommand = [\"no-such-server-command\"]\nrequired = true\n";
    let config = configuration(&directory, gone);
    let failed = run(&["gateway", "--config", &config]).await.failed(3);
    assert!(failed.contains("required upstream `gone`"), "{failed}");
    assert_eq!(run(&["gateway"]).await.code, Some(2));
}

#[tokio::test]
async fn pins_are_shown_and_accepted() {
    let directory = TempDirectory::new("gateway");
    let tables = demo("one", "pin = \"block\"") + &demo("two", "");
    let config = configuration(&directory, &tables);
    let pins = ["pins", "--config", &config];
    let output = run(&pins).await;
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(output.stdout.contains("one/add: new tool\n"), "{output:?}");
    assert!(!output.stdout.contains("two/"), "{output:?}");

    // Everything that would be approved is shown.
    let (_, add) = output.stdout.split_once("one/add: new tool\n").unwrap();
    let (add, _) = add.split_once("    digest ").unwrap();
    assert!(add.contains("    inputSchema\n"), "{add}");
    assert!(
        output.stdout.contains("one: new instructions\n    + "),
        "{output:?}"
    );

    let accept = async |names: &[&str]| {
        let accept = [&pins[..], &["accept", "--json"], names].concat();
        run(&accept).await
    };
    let shown = run(&[&pins[..], &["--json"]].concat()).await;
    let shown: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
    let one = &shown["upstreams"][0];
    let entries = one["entries"].as_array().unwrap();
    let digest_of = |name: &str| {
        let entry = entries.iter().find(|entry| entry["name"] == name).unwrap();
        entry["digest"].as_str().unwrap()
    };
    accept(&["one/add"]).await.failed(2);
    let other = format!("one/add@{}", digest_of("echo"));
    let failed = accept(&[&other]).await.failed(1);
    assert!(failed.contains("nothing is approved"), "{failed}");
    let add = format!("one/add@{}", digest_of("add"));
    assert_eq!(accept(&[&add]).await.json()["approved"][0], "one/add");
    let output = run(&pins).await;
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(!output.stdout.contains("one/add:"), "{output:?}");
    let none = format!("one/none@{}", digest_of("add"));
    accept(&[&none]).await.failed(1);
    let two = format!("two@{}", digest_of("add"));
    accept(&[&two]).await.failed(2);
    let all = format!("one@{}", one["digest"].as_str().unwrap());
    accept(&[&all]).await.json();
    assert_eq!(run(&pins).await.ok(), "one: as approved\n");

    // A tool that was described otherwise when it was approved.
    let lock = directory.0.join("toolwire.lock");
    let mut file: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&lock).unwrap()).unwrap();
    let tools = &mut file["upstreams"]["one"]["tools"];
    let echo = tools["echo"].clone();
    tools["add"] = echo;
    std::fs::write(&lock, file.to_string()).unwrap();
    let output = run(&pins).await;
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(
        output
            .stdout
            .contains("one/add: changed tool\n    name\n    - echo\n    + add\n"),
        "{output:?}"
    );
    std::fs::write(&lock, "{").unwrap();
    let failed = run(&pins).await.failed(2);
    assert!(failed.contains("toolwire.lock is not valid"), "{failed}");
    let failed = run_command(toolwire(&["gateway", "--config", &config]))
        .await
        .failed(2);
    assert!(failed.contains("toolwire.lock is not valid"), "{failed}");
}

#[cfg(target_os = "linux")]
mod signals {
    use std::time::Duration;

    use rustix::process::{Pid, Signal, kill_process};

    use super::*;
    fn signal(gateway: &HttpDemo, signal: Signal) {
        let id = Pid::from_raw(gateway.process_id().cast_signed()).expect("it is not zero");
        kill_process(id, signal).expect("the process is a child of this process");
    }

    #[tokio::test]
    async fn hangup_opens_the_audit_log_again_and_term_ends_the_gateway() {
        let directory = TempDirectory::new("gateway");
        let audit = "[audit]\nfile = \"audit.jsonl\"\n";
        let config = configuration(&directory, &(demo("one", "") + audit));
        let access_log = directory.0.join("access.jsonl");
        let mut gateway = toolwire(&["gateway", "--config", &config, "--access-log"]);
        gateway.arg(&access_log);
        let gateway = HttpDemo::start_command(gateway).await;
        assert_adds(&gateway.url(), "one_add", "modern").await;
        // Only the signal makes the gateway write to new files.
        let log = directory.0.join("audit.jsonl");
        for file in [&log, &access_log] {
            std::fs::rename(file, file.with_extension("moved")).unwrap();
        }
        assert_adds(&gateway.url(), "one_add", "modern").await;
        assert!(!log.exists() && !access_log.exists());
        signal(&gateway, Signal::HUP);
        within(async {
            while !log.exists() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
        configuration(&directory, &demo("one", "prefix = \"first\""));
        let call = ["call", &gateway.url(), "first_add", "a=1", "b=2"];
        within(async {
            while run(&call).await.code != Some(0) || !access_log.exists() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
        signal(&gateway, Signal::TERM);
        gateway.exits_successfully().await;
    }
}
