//! The benchmark of the HTTP clients.

use std::path::Path;

use toolwire_bench::ServerProcess;
use toolwire_bench::http_clients::{self, Options};

fn options() -> Options {
    let mut options = Options::default();
    options.calls = 20;
    options.at_once = 8;
    options.rounds = 2;
    options
}

#[tokio::test]
async fn both_clients_make_all_calls() {
    let program = Path::new(env!("CARGO_BIN_EXE_stream-server"));
    let server = ServerProcess::start(program).await.unwrap();
    let report = http_clients::run(server.url(), &options()).await.unwrap();
    for contest in [report.one_at_a_time, report.many_at_once] {
        assert_eq!(contest.calls, 20);
        assert!(contest.own_seconds.is_finite());
        assert!(contest.reqwest_seconds.is_finite());
    }
    assert_eq!(report.failures(0.0), Vec::<String>::new());
}

#[tokio::test]
async fn rejected_calls_end_the_run() {
    let program = Path::new(env!("CARGO_BIN_EXE_stream-server"));
    let server = ServerProcess::start(program).await.unwrap();
    let missing = format!("{}/missing", server.url());
    let error = http_clients::run(&missing, &options()).await.unwrap_err();
    assert!(error.to_string().contains("status 404"), "{error}");
}
