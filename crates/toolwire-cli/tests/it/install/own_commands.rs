//! The commands of hosts, which scripts stand for.

use std::os::unix::fs::PermissionsExt as _;

use super::*;

/// Adds a program to `PATH` with this script.
fn add_script(computer: &Computer, name: &str, script: &str) {
    let path = computer.0.write(&format!("bin/{name}"), script);
    let permissions = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(path, permissions).expect("the file is ours");
}

/// Adds a program to `PATH` that records its arguments.
fn add_program(computer: &Computer, name: &str, exit: i32) {
    let log = computer.file("log");
    let script = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$@\" >> '{}'\necho 'from {name}' >&2\nexit {exit}\n",
        log.display()
    );
    add_script(computer, name, &script);
}

fn log(computer: &Computer) -> Vec<String> {
    let text = std::fs::read_to_string(computer.file("log")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn command_of_the_host_is_preferred() {
    let computer = Computer::new("install-claude");
    add_program(&computer, "claude", 0);
    add_program(&computer, "code", 0);
    let options = ["--host", "claude-code,vscode", "--no-check"];
    let entry = json!({
        "type": "stdio", "command": PROGRAM, "args": ["demo", "--stdio"],
    });
    let shown = computer
        .install(&[&options[..], &["--dry-run"]].concat())
        .await
        .ok();
    assert!(shown.contains("$ claude mcp add-json demo"), "{shown}");
    assert!(shown.contains("$ code --add-mcp"), "{shown}");
    assert!(log(&computer).is_empty());
    computer.install(&options).await.ok();
    let words = log(&computer);
    assert_eq!(words[..3], ["mcp", "add-json", "demo"]);
    let added: Value = serde_json::from_str(&words[3]).expect("it is JSON");
    assert_eq!(added, entry);
    assert_eq!(words[4..7], ["--scope", "user", "--add-mcp"]);
    let added: Value = serde_json::from_str(&words[7]).expect("it is JSON");
    assert_eq!(added["name"], "demo");
    assert_eq!(added["command"], PROGRAM);
    assert!(!computer.file("home/.claude.json").exists());

    // With an entry in the file, the command removes it.
    let file = json!({"mcpServers": {"demo": entry}}).to_string();
    computer.0.write("home/.claude.json", &file);
    computer
        .toolwire(&["uninstall", "demo", "--host", "claude-code"])
        .await
        .ok();
    assert_eq!(
        log(&computer)[8..],
        ["mcp", "remove", "demo", "--scope", "user"]
    );
    computer
        .toolwire(&["uninstall", "demo", "--host", "claude-code", "--edit-file"])
        .await
        .ok();
    assert_eq!(log(&computer).len(), 13);
}

#[tokio::test]
async fn values_are_not_arguments_of_the_command_of_the_host() {
    let computer = Computer::new("install-claude-secret");
    add_program(&computer, "claude", 0);
    let options = [
        "--host",
        "claude-code",
        "--env",
        "KEY=hunter2",
        "--inline-secrets",
        "--no-check",
    ];
    computer.install(&options).await.ok();
    assert!(log(&computer).is_empty(), "{:?}", log(&computer));
    let path = computer.file("home/.claude.json");
    let text = std::fs::read_to_string(path).expect("the file is readable");
    assert!(text.contains("hunter2"), "{text}");
}

#[tokio::test]
async fn entry_is_restored_if_it_cannot_be_replaced() {
    let computer = Computer::new("install-claude-restore");
    let existing = r#"{"a": 1, "mcpServers": {"demo": {"command": "mine", "env": {"K": "v"}}}}"#;
    let path = computer.0.write("home/.claude.json", existing);
    // `claude mcp remove` succeeds, and `claude mcp add-json` fails.
    let script = format!(
        "#!/bin/sh\ncase \"$2\" in\nremove) echo '{{\"a\": 1, \"mcpServers\": {{}}}}' > '{path}';;\n*) exit 1;;\nesac\n"
    );
    add_script(&computer, "claude", &script);
    let options = ["--host", "claude-code", "--replace", "--no-check"];
    let failed = computer.install(&options).await.failed(2);
    assert!(failed.contains("is restored"), "{failed}");
    let after = std::fs::read_to_string(&path).expect("the file is readable");
    let after: Value = serde_json::from_str(&after).expect("it is JSON");
    let existing: Value = serde_json::from_str(existing).expect("it is JSON");
    assert_eq!(after, existing);
}

#[tokio::test]
async fn failed_command_of_the_host_is_reported() {
    let computer = Computer::new("install-claude-fails");
    add_program(&computer, "claude", 1);
    let failed = computer.install(&["--host", "claude-code"]).await.failed(2);
    assert!(failed.contains("from claude"), "{failed}");
    assert!(failed.contains("--edit-file"), "{failed}");
    let options = ["--host", "claude-code", "--edit-file", "--no-check"];
    computer.install(&options).await.ok();
    assert!(computer.file("home/.claude.json").is_file());
}

#[tokio::test]
async fn entry_that_the_host_wrote_is_removed_and_the_rest_stays() {
    let computer = Computer::new("install-code");
    let before = "{\n\t// mine\n\t\"servers\": {\n\t\t\"other\": {\n\t\t\t\"command\": \"x\"\n\t\t}\n\t},\n\t\"inputs\": []\n}";
    let (_, path, _) = files()
        .into_iter()
        .find(|(id, ..)| *id == "vscode")
        .unwrap();
    let path = computer.0.write(&path, before);
    // As VS Code does: the entry becomes the last one, and the text around it stays.
    let entry = format!(
        "\t\t\"demo\": {{\n\t\t\t\"type\": \"stdio\",\n\t\t\t\"command\": \"{PROGRAM}\",\n\t\t\t\"args\": [\n\t\t\t\t\"demo\",\n\t\t\t\t\"--stdio\"\n\t\t\t]\n\t\t}}\n\t}},\n\t\"inputs\""
    );
    let after = before.replace("\t\t}\n\t},\n\t\"inputs\"", &format!("\t\t}},\n{entry}"));
    assert_ne!(after, before);
    let written = computer.0.write("written.json", &after);
    let cp = "/bin/cp";
    add_script(
        &computer,
        "code",
        &format!("#!/bin/sh\nexec {cp} '{written}' '{path}'\n"),
    );
    let options = ["--host", "vscode", "--no-check"];
    computer.install(&options).await.ok();
    let read = || std::fs::read_to_string(&path).expect("the file is readable");
    assert_eq!(read(), after);
    let listed = computer.installed().await;
    assert!(
        listed.contains(&("vscode".to_owned(), "user".to_owned())),
        "{listed:?}"
    );
    // The entry is that of an installation, so another one changes nothing.
    let again = computer
        .install(&[&options[..], &["--json"]].concat())
        .await
        .json();
    assert_eq!(again[0]["change"], "unchanged", "{again}");
    computer
        .toolwire(&["uninstall", "demo", "--host", "vscode"])
        .await
        .ok();
    assert_eq!(read(), before);
}
