//! The environment of a server command.
#![cfg(unix)]

use crate::client::{TempDirectory, run, run_command};
use crate::process::toolwire;

/// Prints a variable and exits, so that the failure message contains the variable.
const SCRIPT: &str = r#"echo "key is [$(printenv TOOLWIRE_TEST_KEY || echo unset)]" >&2; exit 1"#;

/// Runs a command with a key in the environment of `toolwire`, and returns its message.
async fn message(arguments: &[&str]) -> String {
    let mut command = toolwire(&[arguments, &["--", "sh", "-c", SCRIPT]].concat());
    command.env("TOOLWIRE_TEST_KEY", "s3cret");
    run_command(command).await.failed(3)
}

#[tokio::test]
async fn command_gets_only_named_variables() {
    for (arguments, expected) in [
        (&["tools"][..], "key is [unset]\n"),
        (
            &["tools", "--env", "TOOLWIRE_TEST_KEY"],
            "key is [s3cret]\n",
        ),
        (&["tools", "-e", "TOOLWIRE_TEST_KEY=a=b"], "key is [a=b]\n"),
        (&["tools", "--inherit-env"], "key is [s3cret]\n"),
        (
            &["tools", "--inherit-env", "-e", "TOOLWIRE_TEST_KEY="],
            "key is []\n",
        ),
    ] {
        let text = message(arguments).await;
        assert!(text.contains(expected), "{arguments:?}: {text}");
    }
    let text = message(&["tools"]).await;
    assert!(text.contains("--env VARIABLE"), "{text}");
}

#[tokio::test]
async fn configured_command_gets_its_own_variables_too() {
    let directory = TempDirectory::new("environment");
    let entry = serde_json::json!({"mcpServers": {"x": {
        "command": "sh", "args": ["-c", SCRIPT], "env": {"TOOLWIRE_TEST_KEY": "configured"},
    }}});
    let file = directory.write("mcp.json", &entry.to_string());
    let text = run(&["tools", "x", "--config", &file]).await.failed(3);
    assert!(text.contains("key is [configured]\n"), "{text}");
    let given = ["tools", "x", "--config", &file, "-e", "TOOLWIRE_TEST_KEY=1"];
    let text = run(&given).await.failed(3);
    assert!(text.contains("key is [1]\n"), "{text}");
}

#[tokio::test]
async fn variables_that_cannot_be_passed_are_an_error() {
    let text = run(&["tools", "--env", "TOOLWIRE_NOT_SET", "--", "true"]).await;
    let text = text.failed(2);
    assert!(text.contains("TOOLWIRE_NOT_SET is not set"), "{text}");
    for option in ["--env=A=b", "--inherit-env"] {
        let text = run(&["tools", "http://localhost", option]).await.failed(2);
        assert!(
            text.contains("--env and --inherit-env need a command"),
            "{text}"
        );
    }
}
