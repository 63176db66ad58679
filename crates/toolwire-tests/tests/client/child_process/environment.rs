//! The environment of a server process.

use toolwire::ServerCommand;
use toolwire_tests::peer::within;

use super::ending::shell;
use super::{StderrLines, builder};

/// Cargo sets this variable for its tests. Here it represents a secret of the parent process.
const SECRET: &str = "CARGO_MANIFEST_DIR";

/// Returns the values of some variables in a server process; `unset` stands for a variable that it does not have.
async fn variables(change: impl FnOnce(ServerCommand) -> ServerCommand) -> [String; 3] {
    let script = format!(
        r#"for value in "${{{SECRET}-unset}}" "${{GIVEN-unset}}" "${{HOME-unset}}"; do echo "value $value" >&2; done; cat"#
    );
    let (command, mut stderr) = StderrLines::of(change(shell(&script)));
    let client = builder().spawn(command).await.expect("a connection");
    let mut values = Vec::new();
    for _ in 0..3 {
        values.push(stderr.wait_for("value ").await);
    }
    within(client.close()).await;
    values.try_into().expect("three values")
}

#[tokio::test]
async fn server_process_gets_default_variables_and_those_of_its_command() {
    let own_secret = std::env::var(SECRET).unwrap();
    let own_home = std::env::var("HOME");

    let [secret, given, home] = variables(|command| command).await;
    assert_eq!([secret, given], ["unset", "unset"]);
    if let Ok(own_home) = own_home {
        assert_eq!(home, own_home);
    }

    let [secret, given, _] = variables(|command| command.env("GIVEN", "1").env(SECRET, "2")).await;
    assert_eq!([secret, given], ["2", "1"]);

    let [secret, given, _] = variables(ServerCommand::with_inherited_env).await;
    assert_eq!([secret.as_str(), given.as_str()], [&own_secret, "unset"]);

    // Without PATH the shell would not find `cat`.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let cleared = |command: ServerCommand| command.with_inherited_env().env_clear();
    let [secret, ..] = variables(|command| cleared(command).env("PATH", path)).await;
    assert_eq!(secret, "unset");
}
