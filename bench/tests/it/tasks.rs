//! The benchmark of the tasks.

use std::path::Path;
use std::time::Duration;

use toolwire_bench::ServerProcess;
use toolwire_bench::tasks::{self, Options};

fn options() -> Options {
    let mut options = Options::default();
    options.tasks = 100;
    options.requests = 200;
    options.rounds = 1;
    options.idle = Duration::ZERO;
    options
}

#[tokio::test]
async fn all_tasks_wait_and_are_polled() {
    let program = Path::new(env!("CARGO_BIN_EXE_task-server"));
    let mut parked = std::process::Command::new(program);
    parked.arg("parked");
    for command in [std::process::Command::new(program), parked] {
        let server = ServerProcess::start_command(command).await.unwrap();
        let report = tasks::run(&server, &options()).await.unwrap();
        assert_eq!(report.tasks, 100);
        assert_eq!(
            report.failures(u64::MAX, f64::INFINITY),
            Vec::<String>::new()
        );
        assert_eq!(report.server.is_some(), cfg!(target_os = "linux"));
    }
}

#[tokio::test]
async fn server_without_tasks_ends_the_run() {
    let program = Path::new(env!("CARGO_BIN_EXE_stream-server"));
    let server = ServerProcess::start(program).await.unwrap();
    let error = tasks::run(&server, &options()).await.unwrap_err();
    assert!(error.to_string().contains("approve"), "{error}");
}
