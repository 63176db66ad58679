//! `toolwire install`, `uninstall` and `installed` with the files of hosts in a home directory.

#[cfg(unix)]
mod current_crate;
#[cfg(unix)]
mod own_commands;

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::client::host_files::{Computer, applications};
use crate::client::small_server::SmallServer;
use crate::client::{CommandOutput, run_command};

const PROGRAM: &str = env!("CARGO_BIN_EXE_toolwire");

/// The hosts and their files, in the home directory and in a project.
fn files() -> [(&'static str, String, Option<&'static str>); 12] {
    let applications = applications();
    let zed = if cfg!(windows) {
        "AppData/Zed"
    } else {
        ".config/zed"
    };
    let goose = if cfg!(windows) {
        "AppData/Block/goose/config"
    } else {
        ".config/goose"
    };
    [
        (
            "claude-desktop",
            format!("{applications}/Claude/claude_desktop_config.json"),
            None,
        ),
        (
            "claude-code",
            "home/.claude.json".to_owned(),
            Some(".mcp.json"),
        ),
        (
            "codex",
            "home/.codex/config.toml".to_owned(),
            Some(".codex/config.toml"),
        ),
        (
            "cursor",
            "home/.cursor/mcp.json".to_owned(),
            Some(".cursor/mcp.json"),
        ),
        (
            "vscode",
            format!("{applications}/Code/User/mcp.json"),
            Some(".vscode/mcp.json"),
        ),
        (
            "gemini",
            "home/.gemini/settings.json".to_owned(),
            Some(".gemini/settings.json"),
        ),
        (
            "windsurf",
            "home/.codeium/windsurf/mcp_config.json".to_owned(),
            None,
        ),
        (
            "zed",
            format!("home/{zed}/settings.json"),
            Some(".zed/settings.json"),
        ),
        (
            "opencode",
            "home/.config/opencode/opencode.json".to_owned(),
            Some("opencode.json"),
        ),
        ("goose", format!("home/{goose}/config.yaml"), None),
        (
            "kiro",
            "home/.kiro/settings/mcp.json".to_owned(),
            Some(".kiro/settings/mcp.json"),
        ),
        ("lmstudio", "home/.lmstudio/mcp.json".to_owned(), None),
    ]
}

impl Computer {
    fn file(&self, path: &str) -> PathBuf {
        self.0.0.join(path)
    }

    /// Runs a command in the project, without the programs of hosts in `PATH`.
    async fn toolwire(&self, arguments: &[&str]) -> CommandOutput {
        let mut command = self.command(arguments);
        command.env("PATH", self.file("bin"));
        run_command(command).await
    }

    async fn install(&self, options: &[&str]) -> CommandOutput {
        let server = ["--", PROGRAM, "demo", "--stdio"];
        let words = [&["install", "--name", "demo"], options, &server].concat();
        self.toolwire(&words).await
    }

    async fn installed(&self) -> Vec<(String, String)> {
        let list = self.toolwire(&["installed", "--json"]).await.json();
        let text = |entry: &Value, member: &str| entry[member].as_str().map(str::to_owned);
        let entries = list.as_array().into_iter().flatten();
        entries
            .filter_map(|entry| Some((text(entry, "host")?, text(entry, "scope")?)))
            .collect()
    }
}

#[tokio::test]
async fn server_is_installed_in_every_host_and_removed_without_a_trace() {
    let computer = Computer::new("install-all");
    let hosts = files().map(|(id, ..)| id).join(",");
    let report = computer.install(&["--host", &hosts, "--json"]).await.json();
    for (position, (id, path, _)) in files().iter().enumerate() {
        assert_eq!(report[position]["host"], *id);
        assert_eq!(report[position]["change"], "added");
        let found = report[position]["found"].as_str().unwrap_or_default();
        assert!(found.contains("tools"), "{report}");
        assert!(computer.file(path).is_file(), "{path}");
    }
    let expected = files().map(|(id, ..)| (id.to_owned(), "user".to_owned()));
    assert_eq!(computer.installed().await, expected);
    // The entries are usable: the same program reads them.
    let listed = computer.toolwire(&["tools", "demo"]).await.ok();
    assert!(listed.contains("add"), "{listed}");
    let again = computer
        .install(&["--host", &hosts, "--json", "--no-check"])
        .await
        .json();
    assert_eq!(again[0]["change"], "unchanged");
    computer
        .toolwire(&["uninstall", "demo", "--host", &hosts])
        .await
        .ok();
    assert_eq!(computer.installed().await, []);
    for (_, path, _) in files() {
        assert!(!computer.file(&path).exists(), "{path}");
    }
}

#[tokio::test]
async fn files_of_a_project_are_used_with_the_scope_project() {
    let computer = Computer::new("install-project");
    for (id, _, path) in files() {
        let options = ["--host", id, "--scope", "project", "--no-check"];
        let installed = computer.install(&options).await;
        match path {
            Some(path) => {
                installed.ok();
                assert!(
                    computer.file(&format!("project/{path}")).is_file(),
                    "{path}"
                );
            }
            None => {
                let text = installed.failed(2);
                assert!(text.contains("no file for the scope project"), "{text}");
            }
        }
    }
}

#[tokio::test]
async fn existing_files_get_a_backup_and_their_bytes_back() {
    let computer = Computer::new("install-backup");
    let text = "{\r\n\t// mine\r\n\t\"mcpServers\": {\r\n\t\t\"other\": {\"command\": \"x\"},\r\n\t},\r\n}\r\n";
    let path = computer.0.write("home/.cursor/mcp.json", text);
    let backup = format!("{path}.toolwire-backup");
    let read = |path: &str| std::fs::read_to_string(path).expect("the file is readable");
    let options = ["--host", "cursor", "--no-check"];

    let shown = computer
        .install(&["--host", "cursor", "--dry-run"])
        .await
        .ok();
    assert!(shown.contains("@@ line 5 @@"), "{shown}");
    assert!(shown.contains("+\t\t\"demo\": {"), "{shown}");
    assert_eq!(read(&path), text);

    let shown = computer.install(&options).await.ok();
    assert!(shown.contains("added `demo` in"), "{shown}");
    assert!(shown.contains("Cursor: enable the server"), "{shown}");
    assert_eq!(read(&backup), text);
    assert!(read(&path).starts_with(&text[..40]), "{}", read(&path));
    computer
        .toolwire(&["uninstall", "demo", "--host", "cursor"])
        .await
        .ok();
    assert_eq!(read(&path), text);
    assert!(
        !computer
            .file("home/.cursor/mcp.json.toolwire-backup")
            .exists()
    );
    let shown = computer
        .toolwire(&["uninstall", "demo", "--host", "cursor"])
        .await
        .ok();
    assert!(shown.contains("no entry `demo`"), "{shown}");
}

#[tokio::test]
async fn entry_that_differs_is_replaced_only_on_request() {
    let computer = Computer::new("install-replace");
    let text = "{\"mcpServers\": {\"demo\": {\"command\": \"mine\"}}}\n";
    let path = computer.0.write("home/.cursor/mcp.json", text);
    let options = ["--host", "cursor", "--no-check"];
    let failed = computer.install(&options).await.failed(2);
    assert!(failed.contains("--replace"), "{failed}");
    computer
        .install(&[&options[..], &["--replace"]].concat())
        .await
        .ok();
    let replaced = std::fs::read_to_string(&path).expect("the file is readable");
    assert!(!replaced.contains("mine"), "{replaced}");
    computer
        .toolwire(&["uninstall", "demo", "--host", "cursor"])
        .await
        .ok();
    let restored = std::fs::read_to_string(&path).expect("the file is readable");
    assert_eq!(restored, text);
}

#[tokio::test]
async fn reports_are_json_also_without_a_change() {
    let computer = Computer::new("install-json");
    let other = r#"{"mcpServers": {"other": {"command": "a", "env": {"API_KEY": "hunter2"}}}}"#;
    let path = computer.0.write("home/.cursor/mcp.json", other);
    let options = ["--host", "cursor", "--json"];
    let report = computer
        .install(&[&options[..], &["--dry-run"]].concat())
        .await
        .json();
    assert_eq!(report[0]["change"], "added");
    let diff = report[0]["diff"].as_str().unwrap_or_default();
    assert!(diff.contains("+") && diff.contains("demo"), "{report}");
    // The line has the other server, too.
    assert!(
        diff.contains("API_KEY") && !diff.contains("hunter2"),
        "{report}"
    );
    let report = computer
        .install(&[&options[..], &["--print"]].concat())
        .await
        .json();
    assert_eq!(report[0]["entry"]["command"], PROGRAM);
    let text = report[0]["text"].as_str().unwrap_or_default();
    let text: Value = serde_json::from_str(text).expect("it is JSON");
    assert_eq!(text["mcpServers"]["demo"], report[0]["entry"]);
    let words = [
        "uninstall",
        "other",
        "--host",
        "cursor",
        "--dry-run",
        "--json",
    ];
    let report = computer.toolwire(&words).await.json();
    assert_eq!(report[0]["change"], "removed");
    assert!(report[0]["diff"].is_string(), "{report}");
    let after = std::fs::read_to_string(&path).expect("the file is readable");
    assert_eq!(after, other);
}

#[tokio::test]
async fn diff_shows_no_control_characters_of_the_file() {
    let computer = Computer::new("install-escapes");
    // The entry is in the line that changes. JSON has no escape for these two in its text: a comment may contain anything.
    let other =
        "{\"mcpServers\": {\"other\": {\"command\": \"a\"} /* \u{1b}[2J\u{9b}1m\u{202e}evil */}}";
    let path = computer.0.write("home/.cursor/mcp.json", other);
    let goose = "extensions:\n  other: # \u{85}\u{202e}evil\n    cmd: a\n";
    let mut goose_path = String::new();
    for (id, file, _) in files() {
        if id == "goose" {
            goose_path = computer.0.write(&file, goose);
        }
    }
    let uninstall = ["uninstall", "other", "--host", "cursor,goose", "--dry-run"];
    for shown in [
        computer
            .install(&["--host", "cursor,goose", "--dry-run"])
            .await
            .ok(),
        computer.toolwire(&uninstall).await.ok(),
    ] {
        assert!(shown.contains("evil"), "{shown:?}");
        for c in ['\u{1b}', '\u{9b}', '\u{85}', '\u{202e}'] {
            assert!(!shown.contains(c), "{c:?}: {shown:?}");
        }
    }
    let after = std::fs::read_to_string(&path).expect("the file is readable");
    assert_eq!(after, other);
    let after = std::fs::read_to_string(&goose_path).expect("the file is readable");
    assert_eq!(after, goose);
}

#[tokio::test]
async fn host_that_is_named_twice_is_changed_once() {
    let computer = Computer::new("install-twice");
    let options = ["--host", "cursor,cursor", "--no-check", "--json"];
    let report = computer.install(&options).await.json();
    assert_eq!(report.as_array().map(Vec::len), Some(1), "{report}");
    let words = ["uninstall", "demo", "--host", "cursor,cursor", "--json"];
    let report = computer.toolwire(&words).await.json();
    assert_eq!(report.as_array().map(Vec::len), Some(1), "{report}");
    assert_eq!(report[0]["change"], "removed");
}

#[tokio::test]
async fn file_that_cannot_be_parsed_is_not_changed() {
    let computer = Computer::new("install-broken");
    for (id, path, text) in [
        (
            "cursor",
            "home/.cursor/mcp.json",
            "{\n  \"mcpServers\": {\n",
        ),
        ("codex", "home/.codex/config.toml", "[a]\nb = = 1\n"),
    ] {
        let path = computer.0.write(path, text);
        // The other host is not changed either.
        let hosts = format!("kiro,{id}");
        let failed = computer.install(&["--host", &hosts]).await.failed(2);
        assert!(
            failed.contains("line 2") || failed.contains("line 3"),
            "{failed}"
        );
        assert!(failed.contains("column"), "{failed}");
        let after = std::fs::read_to_string(&path).expect("the file is readable");
        assert_eq!(after, text);
        assert!(!computer.file("home/.kiro/settings/mcp.json").exists());
        let listed = computer.toolwire(&["installed"]).await;
        assert!(listed.stderr.contains("cannot be read"), "{listed:?}");
    }
}

#[tokio::test]
async fn secrets_are_written_by_name_only() {
    let computer = Computer::new("install-secrets");
    let options = ["--host", "cursor", "--env", "KEY=hunter2"];
    let failed = computer.install(&options).await.failed(2);
    assert!(failed.contains("--inline-secrets"), "{failed}");
    let options = ["--host", "cursor", "--env", "KEY"];
    let installed = computer.install(&options).await;
    // The variable is not set here, so the server cannot be started as the host would.
    assert!(
        installed.stderr.contains("KEY is not set here"),
        "{installed:?}"
    );
    installed.ok();
    let path = computer.file("home/.cursor/mcp.json");
    let text = std::fs::read_to_string(&path).expect("the file is readable");
    assert!(text.contains("${env:KEY}"), "{text}");
    let options = [
        "--host",
        "kiro",
        "--env",
        "KEY=hunter2",
        "--inline-secrets",
        "--no-check",
    ];
    computer.install(&options).await.ok();
    let path = computer.file("home/.kiro/settings/mcp.json");
    let text = std::fs::read_to_string(&path).expect("the file is readable");
    assert!(text.contains("hunter2"), "{text}");
}

#[tokio::test]
async fn server_that_does_not_start_is_reported() {
    let computer = Computer::new("install-no-start");
    let words = [
        "install",
        "--host",
        "cursor",
        "--",
        "no-such-program-anywhere",
    ];
    let failed = computer.toolwire(&words).await.failed(3);
    assert!(failed.contains("the server does not start"), "{failed}");
    let url = "http://127.0.0.1:9/mcp";
    let failed = computer
        .toolwire(&["install", "--host", "kiro", url])
        .await
        .failed(3);
    assert!(failed.contains("the server does not start"), "{failed}");
}

#[tokio::test]
async fn check_uses_the_proxy_of_a_host_without_addresses() {
    let server = toolwire::Server::new("remote", "1.0.0");
    let server = SmallServer::start(server).await;
    let computer = Computer::new("install-checked-proxy");
    // The first host connects itself, and the others start the proxy.
    for (hosts, checks) in [("cursor,kiro", 1), ("zed,claude-desktop", 2)] {
        let install = ["install", "--host", hosts, "--name", "remote", server.url()];
        let printed = computer.toolwire(&install).await.ok();
        let checked = printed.matches("the server starts: remote 1.0.0").count();
        assert_eq!(checked, checks, "{hosts}: {printed}");
    }
}

#[tokio::test]
async fn address_becomes_a_proxy_for_hosts_without_addresses() {
    let computer = Computer::new("install-proxy");
    let words = [
        "install",
        "--print",
        "--host",
        "claude-desktop",
        "https://example.com/mcp",
    ];
    let printed = computer.toolwire(&words).await.ok();
    let printed: Value = serde_json::from_str(&printed).expect("it is JSON");
    let expected = json!({"command": PROGRAM, "args": ["proxy", "https://example.com/mcp"]});
    assert_eq!(printed, json!({"mcpServers": {"example": expected}}));
    let words = ["install", "--host", "cursor", "--print", "example"];
    let failed = computer.toolwire(&words).await.failed(2);
    assert!(failed.contains("`example` is not an address"), "{failed}");
}
