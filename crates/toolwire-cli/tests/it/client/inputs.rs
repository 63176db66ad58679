//! Values that a configuration file asks the user for.
#![cfg(unix)]

use serde_json::json;

use crate::client::{TempDirectory, run, run_command};
use crate::process::toolwire;

/// Prints the values and exits, so that the failure message contains them.
const SCRIPT: &str = r#"echo "key [$KEY] region [$REGION]" >&2; exit 1"#;

fn config(directory: &TempDirectory) -> String {
    let servers = json!({
        "inputs": [
            {"id": "api-key", "type": "promptString", "description": "The key of the service", "password": true},
            {"id": "region", "type": "pickString", "description": "Region", "options": ["eu", "us"], "default": "eu"},
        ],
        "servers": {"x": {
            "command": "sh", "args": ["-c", SCRIPT],
            "env": {"KEY": "${input:api-key}", "REGION": "${input:region}"},
        }},
    });
    directory.write(".vscode/mcp.json", &servers.to_string())
}

#[tokio::test]
async fn inputs_come_from_options_and_the_environment() {
    let directory = TempDirectory::new("inputs");
    let config = config(&directory);
    let start = ["tools", "x", "--config", &config];
    let inputs = ["--input", "api-key=s3", "--input", "region=us"];
    let text = run(&[&start[..], &inputs].concat()).await.failed(3);
    assert!(text.contains("key [s3] region [us]"), "{text}");
    let mut command = toolwire(&start);
    command.env("TOOLWIRE_INPUT_API_KEY", "exported");
    let text = run_command(command).await.failed(3);
    // Without a terminal, the default is used.
    assert!(text.contains("key [exported] region [eu]"), "{text}");
}

#[tokio::test]
async fn missing_and_invalid_inputs_are_named() {
    let directory = TempDirectory::new("missing-inputs");
    let config = config(&directory);
    let start = ["tools", "x", "--config", &config];
    let text = run(&start).await.failed(2);
    for part in [
        "needs the input api-key (The key of the service)",
        "no terminal",
        "TOOLWIRE_INPUT_API_KEY",
        "--input api-key=value",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    for (input, part) in [
        ("region=mars", "type one of eu, us"),
        ("other=1", "no input `other`"),
        ("api-key", "ID=VALUE"),
    ] {
        let inputs = ["--input", "api-key=1", "--input", input];
        let text = run(&[&start[..], &inputs].concat()).await.failed(2);
        assert!(text.contains(part), "{input}: {text}");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn user_is_asked_and_secrets_are_not_shown() {
    use crate::client::terminal::run_at_terminal;

    let directory = TempDirectory::new("asked-inputs");
    let config = config(&directory);
    let command = toolwire(&["tools", "x", "--config", &config]);
    let script: &[_] = &[
        ("The key of the service: ", "t0p-secret"),
        ("Region (eu, us) [eu]: ", "moon"),
        ("type one of eu, us", "us"),
    ];
    let ended = run_at_terminal(command, script).await;
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(
        ended.shown.contains("key [t0p-secret] region [us]"),
        "{ended:?}"
    );
    // The terminal showed it only in the output of the server.
    assert_eq!(ended.shown.matches("t0p-secret").count(), 1, "{ended:?}");
}
