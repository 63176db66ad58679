//! Servers by name, from `mcp.json`.

use serde_json::json;

use crate::client::{TempDirectory, run, run_command};
use crate::http::HttpDemo;
use crate::process::toolwire;

#[tokio::test]
async fn names_are_looked_up_in_a_file() {
    let demo = HttpDemo::start(&[]).await;
    let directory = TempDirectory::new("config");
    let config = directory.write(
        "servers.json",
        &json!({"mcpServers": {
            "child": {"command": "${TOOLWIRE_TEST_PROGRAM}", "args": ["demo", "${MODE:---stdio}"]},
            "web": {"type": "http", "url": demo.url(), "headers": {"X-Team": "${TEAM:-blue}"}},
            "unset": {"url": "http://localhost/${TOOLWIRE_NOT_SET}"},
        }})
        .to_string(),
    );
    for name in ["child", "web"] {
        let mut command = toolwire(&["call", name, "echo", "text=hi", "--config", &config]);
        command.env("TOOLWIRE_TEST_PROGRAM", env!("CARGO_BIN_EXE_toolwire"));
        assert_eq!(run_command(command).await.ok(), "hi\n", "{name}");
    }
    let text = run(&["tools", "unset", "--config", &config])
        .await
        .failed(2);
    assert!(text.contains("`unset` in "), "{text}");
    assert!(text.contains("TOOLWIRE_NOT_SET is not set"), "{text}");
    let text = run(&["tools", "wbe", "--config", &config]).await.failed(2);
    assert!(text.contains("one of child, unset, web"), "{text}");
}

#[tokio::test]
async fn default_files_are_searched() {
    let program = env!("CARGO_BIN_EXE_toolwire");
    let directory = TempDirectory::new("default-files");
    for (number, (path, key)) in [
        ("mcp.json", "mcpServers"),
        (".mcp.json", "mcpServers"),
        (".vscode/mcp.json", "servers"),
        ("config/toolwire/mcp.json", "mcpServers"),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("server{number}");
        // The second file contains the first name, too, but the first file is used.
        let file = json!({ key: {
            &name: {"command": program, "args": ["demo", "--stdio"]},
            "server0": {"command": if number == 0 { program } else { "false" }, "args": ["demo", "--stdio"]},
        }});
        directory.write(path, &file.to_string());
    }
    for number in 0..4 {
        let mut command = toolwire(&["call", &format!("server{number}"), "echo", "text=hi"]);
        command
            .current_dir(&directory.0)
            .env("XDG_CONFIG_HOME", directory.0.join("config"));
        assert_eq!(run_command(command).await.ok(), "hi\n", "{number}");
    }
}

#[tokio::test]
async fn invalid_files_are_named() {
    let directory = TempDirectory::new("broken");
    let config = directory.write("broken.json", "{\"mcpServers\": 1}");
    let text = run(&["tools", "x", "--config", &config]).await.failed(2);
    assert!(
        text.contains("broken.json is not a valid server configuration"),
        "{text}"
    );
    let text = run(&["tools", "x", "--config", "nowhere.json"])
        .await
        .failed(2);
    assert!(text.contains("nowhere.json cannot be read"), "{text}");
}

#[tokio::test]
async fn comments_and_trailing_commas_are_accepted() {
    let demo = HttpDemo::start(&[]).await;
    let directory = TempDirectory::new("comments");
    let text = format!(
        "{{\n  // My servers.\n  \"servers\": {{\n    /* the demo */\n    \"web\": {{\"url\": \"{}\",}},\n  }},\n}}",
        demo.url()
    );
    let config = directory.write("mcp.json", &text);
    let text = run(&["call", "web", "echo", "text=hi", "--config", &config]).await;
    assert_eq!(text.ok(), "hi\n");
    let config = directory.write("broken.json", "{\n  // one\n  \"servers\": oops\n}");
    let text = run(&["tools", "web", "--config", &config]).await.failed(2);
    assert!(text.contains("line 3"), "{text}");
}

#[tokio::test]
async fn disabled_server_is_not_started() {
    let directory = TempDirectory::new("disabled");
    let servers = json!({"mcpServers": {
        "off": {"command": "true", "disabled": true},
        "on": {"command": env!("CARGO_BIN_EXE_toolwire"), "args": ["demo", "--stdio"], "disabled": false},
    }});
    let config = directory.write("mcp.json", &servers.to_string());
    let text = run(&["tools", "off", "--config", &config]).await.failed(2);
    assert!(text.contains("`off` in "), "{text}");
    assert!(text.contains("the server is disabled"), "{text}");
    run(&["ping", "on", "--config", &config]).await.ok();
}

/// Prints a variable and its working directory, and exits, so that the failure message contains them.
#[cfg(unix)]
const SCRIPT: &str = r#"echo "[$A] [$B] [$C] in $(pwd -P)" >&2; exit 1"#;

#[cfg(unix)]
#[tokio::test]
async fn folder_of_the_project_and_environment_files_are_used() {
    let directory = TempDirectory::new("workspace");
    let folder = directory.0.canonicalize().expect("the directory exists");
    directory.write("secrets.env", "# secrets\nA=\"from file\"\nexport B=file\n");
    directory.write("sub/.empty", "");
    let servers = json!({"servers": {"x": {
        "command": "sh", "args": ["-c", SCRIPT], "envFile": "${workspaceFolder}/secrets.env",
        "env": {"B": "own", "C": "${workspaceFolder}/c"}, "cwd": "${workspaceFolder}/sub",
    }}});
    let config = directory.write(".vscode/mcp.json", &servers.to_string());
    let folder = folder.display();
    let name = directory.0.display();
    let expected = format!("[from file] [own] [{name}/c] in {folder}/sub\n");
    let text = run(&["tools", "x", "--config", &config]).await.failed(3);
    assert!(text.contains(&expected), "{expected}: {text}");
    let mut command = toolwire(&["tools", "x"]);
    command.current_dir(&directory.0);
    let text = run_command(command).await.failed(3);
    let expected = format!("[from file] [own] [{folder}/c] in {folder}/sub\n");
    assert!(text.contains(&expected), "{expected}: {text}");
    directory.write("secrets.env", "A=1\noops\n");
    let text = run(&["tools", "x", "--config", &config]).await.failed(2);
    assert!(text.contains("line 2 of its envFile"), "{text}");
}
