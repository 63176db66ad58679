//! The comparison with toolwire and the limits only: peers are built elsewhere.

use std::path::{Path, PathBuf};

use toolwire_bench::comparison::{self, Contestant, Lineup, Options, Report};
use toolwire_bench::counting;
use toolwire_bench::load::{self, Era, Kind, Plan, Workload};
use toolwire_bench::{Certificate, ServerProcess};

fn generator() -> PathBuf {
    env!("CARGO_BIN_EXE_load-generator").into()
}

fn ours() -> Lineup {
    // All programs of the package are in one directory.
    let generator = generator();
    Lineup::ours(generator.parent().expect("a program has a directory"))
}

/// Runs one round of these cases with minimal work.
async fn run(lineup: &Lineup, cases: &[&str]) -> Report {
    let mut options = Options::new(generator());
    options.rounds = 1;
    options.share = 100;
    options.cases = cases.iter().map(|case| (*case).to_owned()).collect();
    comparison::run(lineup, &options, |_| {})
        .await
        .expect("the cases exist")
}

#[tokio::test]
async fn every_server_case_measures_toolwire_and_the_limit() {
    let report = run(
        &ours(),
        &[
            "modern-c", "legacy-c", "argument", "result", "list", "scale", "progress", "stdio-",
            "idle", "fan-out", "threads",
        ],
    )
    .await;
    assert_eq!(report.failures(), Vec::<String>::new());
    assert_eq!(report.cases.len(), 22);
    for case in &report.cases {
        for row in &case.rows {
            let rounds = if case.name == "stdio-first-answer" {
                10
            } else {
                1
            };
            assert_eq!(
                row.samples.len(),
                rounds,
                "{}: {:?}",
                case.name,
                row.contestant
            );
        }
        let contestants: Vec<Contestant> = case.rows.iter().map(|row| row.contestant).collect();
        assert!(
            contestants.contains(&Contestant::Toolwire) && contestants.contains(&Contestant::Limit)
        );
    }
    let table = report.to_table();
    assert!(table.contains("### modern-c32: "), "{table}");
    assert!(
        table.contains("| stdio-first-answer | time ÷ limit's"),
        "{table}"
    );
}

/// The server with HTTP/2 and TLS needs features that the other programs must not have.
#[cfg(feature = "http2-tls")]
#[tokio::test]
async fn http2_and_tls_cases_measure_toolwire_and_the_limit() {
    let report = run(&ours(), &["http2", "tls"]).await;
    assert_eq!(report.failures(), Vec::<String>::new());
    let names: Vec<&str> = report.cases.iter().map(|case| case.name).collect();
    assert_eq!(names, ["http2-c32", "http2-c256", "tls-c32", "tls-connect"]);
    for case in &report.cases {
        let contestants: Vec<Contestant> = case.rows.iter().map(|row| row.contestant).collect();
        assert_eq!(contestants, [Contestant::Toolwire, Contestant::Limit]);
        for row in &case.rows {
            assert_eq!(row.samples.len(), 1, "{}: {:?}", case.name, row.contestant);
        }
    }
}

#[tokio::test]
async fn tls_needs_the_certificate_of_the_server() {
    let certificate = Certificate::create().expect("there is a temporary directory");
    let mut command = program("limit-server-http2-tls");
    command.args(["https", "0", "3"]);
    command.args([certificate.certificate(), certificate.key()]);
    let server = ServerProcess::start_command(command)
        .await
        .expect("the server starts");
    let plan = Plan::new(Workload::new(Era::Modern, Kind::Echo, 2), 1);
    let with = |trusted: Option<PathBuf>| plan.clone().with_trusted(trusted);

    let trusted = with(Some(certificate.certificate()));
    let load = load::warm_up(server.url(), &trusted).await.unwrap();
    assert_eq!(load.measure().await.first_error, None);

    assert!(load::warm_up(server.url(), &with(None)).await.is_err());
    let other = Certificate::create().expect("there is a temporary directory");
    let untrusted = with(Some(other.certificate()));
    assert!(load::warm_up(server.url(), &untrusted).await.is_err());
}

/// Without valgrind, the report must state it instead of showing no figures.
#[tokio::test]
async fn calls_are_counted_if_valgrind_is_available() {
    let report = run(
        &ours(),
        &[
            "counted-modern",
            "counted-in-process",
            // `counted-sessions` is counted in the same way. Its 1,000 sessions are slow to open without optimization.
            "counted-streams",
        ],
    )
    .await;
    assert_eq!(report.failures(), Vec::<String>::new());
    if !counting::is_available() {
        let table = report.to_table();
        assert!(table.contains("counted-modern was not run: "), "{table}");
        assert!(
            table.contains("counted-in-process was not run: "),
            "{table}"
        );
        return;
    }
    let rows = report.cases.iter().map(|case| case.rows.len());
    assert_eq!(rows.collect::<Vec<_>>(), [2, 4, 4]);
    for row in report.cases.iter().flat_map(|case| &case.rows) {
        let counted = (row.median.instructions, row.median.allocations);
        assert!(counted.0.is_some_and(|count| count > 1_000.0), "{row:?}");
        assert!(counted.1.is_some_and(|count| count >= 1.0), "{row:?}");
    }
}

#[tokio::test]
async fn contestants_that_cannot_start_are_reported() {
    let lineup = ours()
        .with_rmcp(Path::new("missing-directory"))
        .without(Contestant::Python, "not installed");
    let report = run(&lineup, &["list-1000"]).await;
    // A peer that fails is not a failure of toolwire.
    assert_eq!(report.failures(), Vec::<String>::new());
    let table = report.to_table();
    assert!(table.contains("python is absent: not installed"), "{table}");
    assert!(table.contains("rmcp: cannot start "), "{table}");
}

#[tokio::test]
async fn wrong_responses_are_failures() {
    // This server has neither a second tool nor `big` nor `progress`.
    let server = start("bench-server", "1").await;
    let check = async |era, kind| {
        let plan = Plan::new(Workload::new(era, kind, 2), 1);
        let error = load::warm_up(server.url(), &plan).await.unwrap_err();
        assert!(
            error.to_string().contains("not the expected result"),
            "{error}"
        );
    };
    check(Era::Modern, Kind::List).await;
    check(Era::Modern, Kind::Big).await;
    check(Era::Legacy, Kind::Progress).await;
}

#[tokio::test]
async fn limit_server_lists_the_same_tools() {
    for tools in ["1", "5"] {
        let ours = list(&start("bench-server", tools).await).await;
        let limit = list(&start("limit-server", tools).await).await;
        assert_eq!(ours, limit);
    }
}

async fn start(program: &str, tools: &str) -> ServerProcess {
    let mut command = self::program(program);
    command.args(["http", "0", tools]);
    ServerProcess::start_command(command)
        .await
        .expect("the server starts")
}

/// Returns a program of this package.
fn program(name: &str) -> std::process::Command {
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    std::process::Command::new(generator().with_file_name(file))
}

/// Returns the tools as a client reads them.
async fn list(server: &ServerProcess) -> String {
    let client = toolwire::Client::connect(server.url())
        .await
        .expect("the server responds");
    let tools = client
        .list_tools()
        .await
        .expect("the server lists its tools");
    serde_json::to_string(&tools).expect("tools are JSON")
}
