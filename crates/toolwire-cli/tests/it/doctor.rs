//! `toolwire doctor`: working servers, and servers that are broken in one way each.

use serde_json::Value;
use tokio::process::Command;

use crate::client::fake_http::FakeHttp;
use crate::client::{TempDirectory, run, run_command, tls};
use crate::http::HttpDemo;
use crate::process::toolwire;

const PROGRAM: &str = env!("CARGO_BIN_EXE_toolwire");

/// Runs the doctor and checks that it fails at this step with this code, with a remedy. Returns the detail of the step.
pub(crate) async fn check_failed(arguments: &[&str], step: &str, code: i32) -> String {
    let mut command = toolwire(&["doctor", "--json"]);
    command.args(arguments);
    let failed = check_failed_command(command, step, code).await;
    failed["detail"].as_str().expect("a text").to_owned()
}

/// Checks like [`check_failed`]. Returns the failed step.
async fn check_failed_command(command: Command, step: &str, code: i32) -> Value {
    let output = run_command(command).await;
    assert_eq!(output.code, Some(code), "{output:?}");
    let report: Value = serde_json::from_str(&output.stdout).expect("JSON");
    assert_eq!(report["passed"], false, "{report}");
    let steps = report["steps"].as_array().expect("a list of steps");
    let failed = steps.iter().find(|step| step["result"] == "failed");
    let failed = failed.expect("a step failed");
    assert_eq!(failed["name"], step, "{report}");
    assert!(
        failed["remedy"]
            .as_str()
            .is_some_and(|text| !text.is_empty()),
        "{report}"
    );
    assert!(failed["milliseconds"].is_number(), "{report}");
    failed.clone()
}

fn names(report: &Value) -> Vec<&str> {
    let steps = report["steps"].as_array().expect("a list of steps");
    steps
        .iter()
        .filter_map(|step| step["name"].as_str())
        .collect()
}

#[tokio::test]
async fn working_servers_pass_every_step() {
    let demo = HttpDemo::start(&[]).await;
    for era in ["modern", "legacy"] {
        let report = run(&["doctor", &demo.url(), "--json", "--era", era])
            .await
            .json();
        assert_eq!(report["passed"], true, "{report}");
        let expected = ["name", "TCP", "TLS", "era", "metadata", "token", "lists"];
        assert_eq!(names(&report), expected);
        let mut command = toolwire(&["doctor", "--json", "--era", era]);
        command.args(["--", PROGRAM, "demo", "--stdio"]);
        let report = run_command(command).await.json();
        assert_eq!(report["passed"], true, "{report}");
        assert_eq!(names(&report), ["command", "start", "era", "lists", "end"]);
        let detail = report["steps"][2]["detail"].as_str().expect("a text");
        assert!(detail.starts_with(era), "{detail}");
    }
    let text = run(&["doctor", &demo.url()]).await.ok();
    assert!(text.starts_with("ok      name "), "{text}");
}

#[tokio::test]
async fn unreachable_addresses_fail_before_http() {
    // The name is longer than a name can be, so no name server is asked.
    let name = format!("{}.invalid", "a".repeat(64));
    let detail = check_failed(&[&format!("http://{name}/mcp")], "name", 3).await;
    assert!(detail.contains(&name), "{detail}");
    let detail = check_failed(&["http://127.0.0.1:9/mcp"], "TCP", 3).await;
    assert!(detail.contains("127.0.0.1:9"), "{detail}");
}

#[tokio::test]
async fn proxy_is_considered_only_for_its_addresses() {
    let check = async |url: &str, variable: &str, step: &str| {
        let mut command = toolwire(&["doctor", "--json", "--timeout", "5s", url]);
        command.env(variable, "http://127.0.0.1:9");
        check_failed_command(command, step, 3).await
    };
    let name = format!("http://{}.invalid/mcp", "a".repeat(64));
    check(&name, "HTTP_PROXY", "era").await;
    check(&name, "HTTPS_PROXY", "name").await;
    // Addresses of this machine use no proxy.
    check("http://127.0.0.1:9/mcp", "HTTP_PROXY", "TCP").await;
}

#[tokio::test]
async fn certificate_faults_fail_the_step_tls() {
    let (secure, _) = tls::start_with("127.0.0.1", Default::default()).await;
    let detail = check_failed(&[secure.url()], "TLS", 3).await;
    assert!(
        detail.to_lowercase().contains("certificate") || detail.contains("issuer"),
        "{detail}"
    );
    let (other, _) = tls::start_with("other.example", Default::default()).await;
    check_failed(&[other.url()], "TLS", 3).await;
    let text = run(&["doctor", secure.url(), "--insecure"]).await.ok();
    assert!(text.contains("the certificate was not verified"), "{text}");
    // Plain HTTP where TLS is expected, and TLS where plain HTTP is expected.
    let demo = HttpDemo::start(&[]).await;
    check_failed(&[&demo.url().replace("http://", "https://")], "TLS", 3).await;
    check_failed(&[&secure.url().replace("https://", "http://")], "era", 3).await;
}

#[tokio::test]
async fn authorization_without_metadata_is_a_fault() {
    let unauthorized = "HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n";
    let without = FakeHttp::responding(unauthorized).await;
    let detail = check_failed(&[&without.url()], "metadata", 6).await;
    assert!(detail.contains("does not say where to log in"), "{detail}");
}

#[tokio::test]
async fn challenge_names_the_metadata() {
    let body = r#"{"authorization_servers":["https://login.example"]}"#;
    let length = body.len();
    let metadata = FakeHttp::responding(&format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    ))
    .await;
    let url = metadata.url();
    let server = FakeHttp::responding(&format!(
        "HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Bearer resource_metadata=\"{url}\"\r\ncontent-length: 0\r\n\r\n"
    ))
    .await;
    check_failed(&[&server.url()], "token", 6).await;
    let text = run(&["doctor", &server.url()]).await.stdout;
    assert!(
        text.contains("logins are at https://login.example"),
        "{text}"
    );
    assert!(text.contains("toolwire login "), "{text}");
}

#[tokio::test]
async fn other_responses_are_not_mcp() {
    let html = "<html>\u{1b}[2J</html>";
    let length = html.len();
    for response in [
        format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {length}\r\n\r\n{html}"
        ),
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\nok".to_owned(),
        "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_owned(),
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n[]"
            .to_owned(),
    ] {
        let server = FakeHttp::responding(&response).await;
        check_failed(&[&server.url()], "era", 4).await;
        let text = run(&["doctor", &server.url()]).await.stdout;
        assert!(!text.contains('\u{1b}'), "{text}");
    }
    let silent = FakeHttp::silent().await;
    check_failed(&[&silent.url(), "--timeout", "1s"], "era", 5).await;
}

#[tokio::test]
async fn broken_command_fails_the_step_that_it_reached() {
    check_failed(&["--", "no-such-server-command"], "command", 3).await;
    let directory = TempDirectory::new("doctor");
    let file = directory.write("notes.txt", "no program");
    check_failed(&["--", &file], "command", 3).await;
    let detail = check_failed(&["--", "sh", "-c", "echo broken >&2; exit 3"], "start", 3).await;
    assert!(detail.contains("broken"), "{detail}");
    let garbage = "while echo '\u{1b}[2Jnot a message'; do sleep 0.05; done";
    let timeout = ["--timeout", "1s"];
    check_failed(
        &[&timeout[..], &["--", "sh", "-c", garbage]].concat(),
        "era",
        5,
    )
    .await;
}

#[tokio::test]
async fn command_that_outlives_its_input_is_a_fault() {
    let script = format!("'{PROGRAM}' demo --stdio; exec sleep 600");
    let detail = check_failed(&["--", "sh", "-c", &script], "end", 1).await;
    assert!(detail.contains("was terminated"), "{detail}");
}
