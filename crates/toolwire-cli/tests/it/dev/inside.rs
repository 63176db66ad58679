//! The inside view of a developed server, through the server of the command.

use serde_json::json;

use super::project::{Project, start_command_with_client, until_build, until_connected};
use crate::inspect::inside::{report_of, until_announced};
use crate::process::Era;

const PROGRAM: &str = env!("CARGO_BIN_EXE_toolwire");

#[tokio::test]
async fn page_has_the_reports_of_the_developed_server() {
    for era in Era::BOTH {
        let project = Project::empty();
        let record = ["--record", "session.mcplog"];
        let arguments = [&record[..], &["--", PROGRAM, "demo", "--stdio"]].concat();
        let (mut client, page) = start_command_with_client(&project, era, &arguments).await;
        until_build(&page, |build| build["phase"] == "running").await;
        until_connected(&page).await;
        until_announced(&page).await;
        let outcome = page.call("add", json!({"a": 40, "b": 2})).await;
        let report = report_of(&page, &outcome).await;
        assert_eq!(
            (&report["name"], &report["outcome"]),
            (&json!("add"), &json!("ok"))
        );
        // A call of another client is only in the log, and the client gets no report.
        let sum = client.call("add", json!({"a": 1, "b": 2})).await;
        assert_eq!(sum["structuredContent"]["sum"], 3, "{sum}");
        let is_report = |message: &serde_json::Value| message.to_string().contains("inspection");
        assert!(
            !client.unsolicited.iter().any(is_report),
            "{:?}",
            client.unsolicited
        );
        let stderr = project.read("stderr");
        assert!(!stderr.contains("toolwire-inspection"), "{stderr}");
        let record = project.read("session.mcplog");
        assert!(!record.contains("toolwire-inspection"), "{record}");
    }
}
