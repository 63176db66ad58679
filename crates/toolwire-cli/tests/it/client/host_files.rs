//! The configuration files of other applications, and their list.

use serde_json::{Value, json};
use tokio::process::Command;

use crate::client::{TempDirectory, run_command};
use crate::process::toolwire;

const PROGRAM: &str = env!("CARGO_BIN_EXE_toolwire");

/// A home directory and a project with the files of several applications.
pub(crate) struct Computer(pub(crate) TempDirectory);

impl Computer {
    pub(crate) fn new(name: &str) -> Self {
        let computer = Self(TempDirectory::new(name));
        std::fs::create_dir_all(computer.0.0.join("project")).expect("the directory is writable");
        std::fs::create_dir_all(computer.0.0.join("home")).expect("the directory is writable");
        computer
    }

    fn write(&self, path: &str, content: &Value) {
        self.0.write(path, &content.to_string());
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let home = self.0.0.join("home");
        let mut command = toolwire(arguments);
        command
            .current_dir(self.0.0.join("project"))
            .env("HOME", &home)
            .env("USERPROFILE", &home)
            .env("APPDATA", home.join("AppData"))
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("CODEX_HOME");
        command
    }

    async fn list(&self) -> Value {
        run_command(self.command(&["servers", "--json"]))
            .await
            .json()
    }
}

/// The directory of applications in the home directory.
pub(crate) fn applications() -> &'static str {
    if cfg!(target_os = "macos") {
        "home/Library/Application Support"
    } else if cfg!(windows) {
        "home/AppData"
    } else {
        "home/.config"
    }
}

fn demo() -> Value {
    json!({"command": PROGRAM, "args": ["demo", "--stdio"]})
}

#[tokio::test]
async fn servers_of_all_applications_are_usable() {
    let computer = Computer::new("host-files");
    let applications = applications();
    for (path, key, name) in [
        (
            "project/.mcp.json".to_owned(),
            "mcpServers",
            "claude-code-project",
        ),
        (
            "project/.cursor/mcp.json".to_owned(),
            "mcpServers",
            "cursor-project",
        ),
        (
            "project/.vscode/mcp.json".to_owned(),
            "servers",
            "code-project",
        ),
        ("home/.claude.json".to_owned(), "mcpServers", "claude-code"),
        ("home/.cursor/mcp.json".to_owned(), "mcpServers", "cursor"),
        (
            "home/.codeium/windsurf/mcp_config.json".to_owned(),
            "mcpServers",
            "windsurf",
        ),
        (
            "home/.gemini/settings.json".to_owned(),
            "mcpServers",
            "gemini",
        ),
        (
            format!("{applications}/Claude/claude_desktop_config.json"),
            "mcpServers",
            "claude-desktop",
        ),
        (
            format!("{applications}/Code/User/mcp.json"),
            "servers",
            "code",
        ),
        #[cfg(not(windows))]
        (
            "home/.config/zed/settings.json".to_owned(),
            "context_servers",
            "zed",
        ),
    ] {
        computer.write(&path, &json!({key: {name: demo()}, "theme": "dark"}));
        let call = computer.command(&["call", name, "echo", "text=hi"]);
        assert_eq!(run_command(call).await.ok(), "hi\n", "{name}");
        let listed = computer.list().await;
        let listed = listed.as_array().expect("a list");
        let server = listed.iter().find(|server| server["name"] == name);
        let server = server.unwrap_or_else(|| panic!("{name}: {listed:?}"));
        assert_eq!(server["transport"], "stdio");
        assert_eq!(server["command"], json!([PROGRAM, "demo", "--stdio"]));
    }
    let text = run_command(computer.command(&["tools", "cursr"]))
        .await
        .failed(2);
    assert!(text.contains("did you mean `cursor`"), "{text}");
}

#[tokio::test]
async fn servers_of_codex_are_usable() {
    let computer = Computer::new("codex");
    let servers = format!(
        "model = \"x\"\n[mcp_servers.demo]\ncommand = {PROGRAM:?}\nargs = [\"demo\", \"--stdio\"]\n\
         [mcp_servers.web]\nurl = \"https://example.com/mcp\"\nenabled = false\n",
    );
    computer.0.write("home/.codex/config.toml", &servers);
    let call = computer.command(&["call", "demo", "echo", "text=hi"]);
    assert_eq!(run_command(call).await.ok(), "hi\n");
    let listed = computer.list().await;
    assert_eq!(listed[0]["application"], "Codex");
    assert_eq!(listed[1]["disabled"], true);
    let config = computer
        .0
        .write("other.toml", "[mcp_servers]\nkey = hunter2\n");
    let text = run_command(computer.command(&["servers", "--config", &config]));
    let text = text.await.failed(2);
    assert!(text.contains("at line 2"), "{text}");
    assert!(text.contains("[mcp_servers.name]"), "{text}");
    assert!(!text.contains("hunter2"), "{text}");
}

#[tokio::test]
async fn list_shows_where_servers_are_and_no_secrets() {
    let computer = Computer::new("listed");
    computer.write(
        "project/mcp.json",
        &json!({"mcpServers": {
            "notes": {"command": "npx", "args": ["notes", "--api-key", "hunter2"], "env": {"KEY": "hunter2"}},
            "web": {"url": "https://example.com/mcp?key=hunter2", "headers": {"Authorization": "Bearer hunter2"}},
        }}),
    );
    computer.write(
        "home/.cursor/mcp.json",
        &json!({"mcpServers": {
            "notes": {"command": "other"},
            "old": {"type": "sse", "url": "https://example.com/sse", "disabled": true},
        }}),
    );
    let ran = run_command(computer.command(&["servers"])).await;
    assert_eq!(ran.stderr, "", "{ran:?}");
    let text = ran.ok();
    let lines: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let cursor = if cfg!(windows) {
        "~\\.cursor/mcp.json"
    } else {
        "~/.cursor/mcp.json"
    };
    assert_eq!(
        lines[1],
        [
            "notes",
            "stdio",
            "mcp.json",
            "npx",
            "notes",
            "--api-key",
            "***"
        ]
    );
    assert_eq!(
        lines[2],
        ["web", "http", "mcp.json", "https://example.com/mcp?***"]
    );
    assert_eq!(lines[3], ["notes", "stdio", "overridden", cursor, "other"]);
    assert_eq!(
        lines[4],
        ["old", "sse", "disabled", cursor, "https://example.com/sse"]
    );
    assert_eq!(lines.len(), 5, "{text}");
    let listed = computer.list().await;
    assert!(
        !text.contains("hunter2") && !listed.to_string().contains("hunter2"),
        "{listed}"
    );
    assert_eq!(listed[3]["disabled"], true);
    assert_eq!(listed[3]["application"], "Cursor");
}

#[tokio::test]
async fn invalid_file_of_another_application_does_not_prevent_a_call() {
    let computer = Computer::new("one-broken");
    computer.0.write("home/.cursor/mcp.json", "{ oops");
    computer.write(
        "home/.claude.json",
        &json!({"mcpServers": {"demo": demo()}}),
    );
    let ran = run_command(computer.command(&["ping", "demo"])).await;
    assert!(ran.stderr.contains("warning: "), "{ran:?}");
    assert!(ran.stderr.contains(".cursor"), "{ran:?}");
    ran.ok();
    let ran = run_command(computer.command(&["servers"])).await;
    assert!(
        ran.stderr.contains("is not a valid server configuration"),
        "{ran:?}"
    );
    assert!(ran.ok().contains("demo "));
}

#[tokio::test]
async fn without_servers_the_searched_files_are_named() {
    let computer = Computer::new("no-servers");
    let ran = run_command(computer.command(&["servers"])).await;
    assert!(
        ran.stderr.contains("searched mcp.json, .mcp.json, "),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("claude_desktop_config.json"), "{ran:?}");
    assert_eq!(ran.ok(), "no servers\n");
    assert_eq!(computer.list().await, json!([]));
}
