//! Hints for command lines that new users write.

use crate::client::{TempDirectory, run_command};
use crate::process::toolwire;

/// Runs `toolwire` without configuration files.
async fn message(arguments: &[&str]) -> String {
    let directory = TempDirectory::new("hints");
    let mut command = toolwire(arguments);
    command
        .current_dir(&directory.0)
        .env("HOME", &directory.0)
        .env_remove("XDG_CONFIG_HOME");
    run_command(command).await.failed(2)
}

#[tokio::test]
async fn missing_scheme_is_added_in_the_hint() {
    for (server, hint) in [
        ("example.com/mcp", "write https://example.com/mcp\n"),
        ("localhost:3000/mcp", "write http://localhost:3000/mcp\n"),
        (
            "htp://localhost:3000/mcp",
            "write http://localhost:3000/mcp\n",
        ),
        ("https//example.com/mcp", "write https://example.com/mcp\n"),
    ] {
        let text = message(&["tools", server]).await;
        assert!(text.contains(hint), "{server}: {text}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn missing_separator_is_added_in_the_hint() {
    for (line, hint) in [
        ("tools sh server.sh", "after --: -- sh server.sh\n"),
        ("call add a=1 sh server.sh", "after --: -- sh server.sh\n"),
        ("tools sh -c true", "try: toolwire tools -- sh -c true\n"),
        (
            "call add a=1 sh -c true",
            "try: toolwire call add a=1 -- sh -c true\n",
        ),
    ] {
        let text = message(&line.split(' ').collect::<Vec<_>>()).await;
        assert!(text.contains(hint), "{line}: {text}");
    }
}

#[tokio::test]
async fn hints_make_sense() {
    let text = message(&["tools", "htp://x"]).await;
    assert!(!text.contains("http://htp://"), "{text}");
    let text = message(&["call", "http://127.0.0.1:1", "add", "1"]).await;
    assert!(text.contains("`1` is not an argument"), "{text}");
    assert!(text.contains("name=1\n"), "{text}");
    assert!(!text.contains("1=1"), "{text}");
    let text = message(&["tools", "http://127.0.0.1:1", "--jsno"]).await;
    assert!(text.contains("'--json'"), "{text}");
    assert!(!text.contains("-- --jsno"), "{text}");
    let text = message(&["tools", "no-such-server"]).await;
    assert!(text.contains("give an address"), "{text}");
}
