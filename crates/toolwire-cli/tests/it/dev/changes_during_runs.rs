//! Files that change while the server is built or started.

use serde_json::{Value, json};

use super::project::{Project, start_with_client, until_build};
use crate::process::Era;

fn is_running(number: u64) -> impl Fn(&Value) -> bool {
    move |build| build["phase"] == "running" && build["number"] == number
}

#[tokio::test]
async fn build_that_writes_a_watched_file_ends() {
    let project = Project::new();
    project.extend_build("echo >> src/generated");
    let (client, page) = start_with_client(&project, Era::Modern).await;
    project
        .until_contains("stderr", "the build seems to write src/generated")
        .await;
    until_build(&page, is_running(3)).await;
    // From now on, each change of the developer causes one build.
    for number in [4, 5] {
        project.write_server("second", &format!("{number}"));
        until_build(&page, is_running(number)).await;
    }
    let message = "changed during the build and not built: src/generated; save it again";
    project.until_contains("stderr", message).await;
    drop(client);
    assert_eq!(project.builds(), 5);
    let messages = project.read("stderr").matches("seems to write").count();
    assert_eq!(messages, 1);
}

#[tokio::test]
async fn change_of_the_developer_during_a_build_is_built() {
    let project = Project::new();
    let (mut client, page) = start_with_client(&project, Era::Modern).await;
    until_build(&page, is_running(1)).await;
    project.write("hold", "");
    project.write_server("second", "");
    project.until_exists("holding").await;
    project.write_server("third", "");
    project.remove("hold");
    until_build(&page, is_running(3)).await;
    assert_eq!(client.call_text("third", json!({})).await, "third");
    assert_eq!(project.builds(), 3);
}

#[tokio::test]
async fn change_during_a_start_ends_the_start() {
    let project = Project::new();
    let (mut client, page) = start_with_client(&project, Era::Modern).await;
    until_build(&page, is_running(1)).await;
    // This server never responds.
    project.write(
        "src/server.sh",
        "echo > silent\nwhile read -r line; do :; done",
    );
    project.until_exists("silent").await;
    project.write_server("third", "");
    until_build(&page, is_running(3)).await;
    assert_eq!(client.call_text("third", json!({})).await, "third");
    // The start was not awaited until its timeout.
    assert!(!project.read("stderr").contains("did not start"));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn end_of_the_command_ends_all_processes_of_a_build() {
    use std::time::Duration;

    use crate::process::within;

    let project = Project::new();
    let (client, page) = start_with_client(&project, Era::Modern).await;
    until_build(&page, is_running(1)).await;
    // The build waits for a process that it starts.
    project.extend_build(
        "sh -c 'echo $$ > compiler.new; mv compiler.new compiler; exec sleep 600' & wait",
    );
    project.write_server("second", "");
    project.until_exists("compiler").await;
    let compiler = format!("/proc/{}/stat", project.read("compiler").trim());
    // A zombie process has ended.
    let is_alive = || {
        let stat = std::fs::read_to_string(&compiler).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    };
    assert!(is_alive());
    assert!(client.end().await.status.success());
    within(async {
        while is_alive() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}
