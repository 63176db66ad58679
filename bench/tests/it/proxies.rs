//! The benchmark of proxies and gateways.

use std::path::Path;

use toolwire_bench::proxies::{self, CaseFigures, Options, Program, ProgramFigures, Report};

/// Runs one round of these cases with minimal work, without nginx.
async fn run(cases: &[&str]) -> Report {
    // The command `toolwire` is beside the programs of this package, if the whole workspace is built.
    let programs = Path::new(env!("CARGO_BIN_EXE_bench-server"))
        .parent()
        .expect("a program has a directory");
    let mut options = Options::new(programs.to_owned(), None);
    options.rounds = 1;
    options.share = 500;
    options.cases = cases.iter().map(|case| (*case).to_owned()).collect();
    proxies::run(&options, |_| ()).await.expect("the case runs")
}

fn row<'a>(report: &'a Report, case: &str, program: Program) -> Option<&'a ProgramFigures> {
    let mut cases = report.cases.iter();
    let case: &CaseFigures = cases
        .find(|figures| figures.name.contains(case))
        .expect("the case was run");
    case.rows.iter().find(|row| row.program == program)
}

#[tokio::test]
async fn every_proxy_serves_its_cases() {
    let report = run(&["call", "argument", "result", "notifications"]).await;
    let is_measured = |case: &str, program: Program| {
        let row = row(&report, case, program);
        row.is_some_and(|row| row.p50_us.is_some() && row.throughput_of_direct.is_some())
    };
    let loads = report.cases.iter().map(|case| case.name);
    for case in loads.filter(|name| name.contains("connection")) {
        assert!(is_measured(case, Program::Direct), "{case}");
        assert!(is_measured(case, Program::Toolwire), "{case}");
        assert!(!is_measured(case, Program::Nginx), "{case}");
    }
    let small = "small call, 32 connections";
    for program in [
        Program::DecodingRelay,
        Program::ToolwireToLegacy,
        Program::ToolwireToStdio,
    ] {
        assert!(is_measured(small, program), "{}", report.to_table());
    }
    #[cfg(target_os = "linux")]
    for case in ["argument", "result", "parked"] {
        let row = row(&report, case, Program::Toolwire).unwrap();
        assert!(row.bytes_each.is_some(), "{case}");
    }
}

#[tokio::test]
async fn gateway_serves_its_cases() {
    let report = run(&["list", "rules", "audit"]).await;
    for (case, program) in [
        ("list", Program::OwnServer),
        ("list", Program::Gateway),
        ("rules", Program::Gateway),
        ("rules", Program::GatewayWithRules),
    ] {
        let row = row(&report, case, program).unwrap();
        assert!(row.p50_us.is_some(), "{case}, {program:?}");
    }
    #[cfg(target_os = "linux")]
    {
        let row = row(&report, "1,000,000 lines", Program::GatewayWithRules).unwrap();
        assert!(row.growth_bytes.is_some(), "{}", report.to_table());
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn idle_sessions_and_starts_are_measured() {
    let report = run(&["idle sessions", "start"]).await;
    for (case, program) in [
        ("10,000 idle sessions", Program::Gateway),
        ("with a stream to the server", Program::Toolwire),
    ] {
        let sessions = row(&report, case, program).unwrap();
        assert!(sessions.bytes_each.is_some(), "{}", report.to_table());
    }
    for program in [Program::StdioReader, Program::ToolwireOnStdio] {
        let start = row(&report, "start", program).unwrap();
        assert!(start.first_read_ms.is_some(), "{}", report.to_table());
    }
}

#[tokio::test]
async fn unknown_case_is_an_error_that_names_the_cases() {
    let mut options = Options::new("no-directory".into(), None);
    options.cases = vec!["no-case".to_owned()];
    let error = proxies::run(&options, |_| ()).await.unwrap_err();
    assert!(error.to_string().contains("; start"), "{error}");
}
