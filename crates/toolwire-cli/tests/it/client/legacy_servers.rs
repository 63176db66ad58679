//! Commands whose servers do not survive the probe: the next run does not send it.
#![cfg(unix)]

use crate::client::{CommandOutput, TempDirectory, run_command};
use crate::process::toolwire;

/// A legacy server that exits when it receives `server/discover`. It writes the methods that it receives to the file
/// `received` of its directory. With a file `broken` there, it also exits when it receives `initialize`.
const SERVER: &str = r#"
respond() {
    id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"
}
while read -r line; do
    case $line in
        *'"server/discover"'*) echo server/discover >> received; exit 1 ;;
        *'"initialize"'*)
            echo initialize >> received
            [ ! -e broken ] || exit 1
            respond '{"protocolVersion":"2025-03-26","capabilities":{},"serverInfo":{"name":"old","version":"1"}}'
            ;;
        *'"ping"'*) echo ping >> received; respond '{}' ;;
    esac
done
"#;

/// The methods that are received when the era is not recorded.
const PROBED: [&str; 3] = ["server/discover", "initialize", "ping"];

/// A directory for the server, with the home directory of `toolwire` in it.
struct OldServer(TempDirectory);

impl OldServer {
    /// Runs `toolwire ping`. Returns its outcome and the methods that the server received.
    async fn ping(&self, options: &[&str]) -> (CommandOutput, Vec<String>) {
        let server = ["--", "sh", "-c", SERVER, "--token=s3cret"];
        let mut command = toolwire(&[&["ping"], options, &server].concat());
        command
            .env("TOOLWIRE_HOME", self.0.0.join("home"))
            .current_dir(&self.0.0);
        let outcome = run_command(command).await;
        let received = self.0.0.join("received");
        let methods = std::fs::read_to_string(&received).expect("the server has started");
        std::fs::remove_file(received).expect("the directory is writable");
        (outcome, methods.lines().map(str::to_owned).collect())
    }

    async fn check(&self, expected: &[&str]) {
        let (outcome, received) = self.ping(&[]).await;
        assert_eq!(outcome.stderr, "");
        outcome.ok();
        assert_eq!(received, expected);
    }
}

#[tokio::test]
async fn command_that_does_not_survive_the_probe_is_probed_once() {
    let server = OldServer(TempDirectory::new("legacy-servers"));
    server.check(&PROBED).await;
    server.check(&PROBED[1..]).await;
    let file = server.0.0.join("home/legacy-servers.json");
    let content = std::fs::read_to_string(&file).unwrap();
    assert!(!content.contains("s3cret"), "{content}");

    // The option has precedence, and its failure is not evidence.
    let (outcome, received) = server.ping(&["--era", "modern"]).await;
    outcome.failed(3);
    assert_eq!(received, PROBED[..1]);
    server.check(&PROBED[1..]).await;

    // A connection that fails removes the entry.
    let broken = server.0.write("broken", "");
    let (outcome, received) = server.ping(&[]).await;
    outcome.failed(3);
    assert_eq!(received, ["initialize"]);
    std::fs::remove_file(broken).unwrap();
    server.check(&PROBED).await;

    server.0.write("home/legacy-servers.json", "{");
    server.check(&PROBED).await;
    server.check(&PROBED[1..]).await;

    // With little time the probe may fail for another reason.
    std::fs::remove_file(&file).unwrap();
    let (outcome, received) = server.ping(&["--timeout", "9s"]).await;
    outcome.ok();
    assert_eq!(received, PROBED);
    assert!(!file.exists());
}
