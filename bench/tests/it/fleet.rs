//! The benchmark of several nodes.

use std::path::Path;
use std::time::Duration;

use toolwire_bench::fleet::{self, Options};

#[tokio::test]
async fn nodes_share_an_engine_and_no_operation_exceeds_its_goal() {
    let mut options = Options::default();
    options.repetitions = 10;
    // Longer than the 5 s between two renewals of a mailbox.
    options.idle = Duration::from_secs(6);
    options.changes = 3;
    options.requests = 30;
    options.rounds = 1;
    options.sessions = 20;
    let program = Path::new(env!("CARGO_BIN_EXE_fleet-server"));
    let report = fleet::run(program, &options).await.unwrap();
    let commands = |name: &str| {
        let mut operations = report.operations.iter();
        let operation = operations.find(|operation| operation.operation == name);
        operation.unwrap().commands
    };
    let failures = report.failures(1024);
    assert!(failures.is_empty(), "{failures:?}\n{}", report.to_table());
    for needs_engine in [
        "modern call: second round",
        "modern request with DPoP",
        "request",
        "resume on another node",
        "cancel at another node",
    ] {
        // The commands of an idle fleet are subtracted, so the figure can be slightly below a whole number.
        let commands = commands(needs_engine).round();
        assert!(commands >= 1.0, "{needs_engine}\n{}", report.to_table());
    }
    assert!(report.memory.per_session > 0);
}
