//! Checks that the server does not return memory to the system and allocate it again for each request.

use toolwire_bench::ServerProcess;
use toolwire_bench::load::{self, Era, Kind, Plan, Workload};

/// The accepted number of page faults per request. A message of this length alone has 25 pages, and a request with its
/// response has 50. Some faults remain: each connection touches the memory for its first messages once, and how many
/// do so after the warm-up depends on the load of the machine.
const MAX_PAGE_FAULTS: u64 = 10;

#[tokio::test]
async fn long_messages_reuse_memory() {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_bench-server"));
    command.args(["http", "0", "3"]);
    let server = ServerProcess::start_command(command).await.unwrap();
    let requests = 500;
    let workload = Workload::new(Era::Modern, Kind::Echo, 100_000);
    let plan = Plan::new(workload, requests)
        .with_connections(32)
        .with_warm_up(100);
    let load = load::warm_up(server.url(), &plan).await.unwrap();
    let before = server.page_faults().unwrap();
    let outcome = load.measure().await;
    assert_eq!(outcome.first_error, None);
    let faults = server.page_faults().unwrap() - before;
    assert!(
        faults < requests as u64 * MAX_PAGE_FAULTS,
        "{faults} page faults for {requests} requests"
    );
}
