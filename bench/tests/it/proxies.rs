//! The benchmark of proxies.

use std::path::Path;

use toolwire_bench::proxies::{self, Options, Program};

/// The command `toolwire` is beside the programs of this package, if the whole workspace is built.
#[tokio::test]
async fn every_proxy_serves_its_cases() {
    let programs = Path::new(env!("CARGO_BIN_EXE_bench-server"))
        .parent()
        .unwrap();
    let mut options = Options::new(programs.to_owned(), None);
    options.rounds = 1;
    options.share = 500;
    let report = proxies::run(&options, |_| ()).await.unwrap();
    let measured = |case: &str, proxy: Program| {
        let mut cases = report.cases.iter();
        let case = cases.find(|figures| figures.name == case).unwrap();
        let row = case.rows.iter().find(|row| row.program == proxy).unwrap();
        row.p50_us.is_some() && row.throughput_of_direct.is_some()
    };
    for case in &report.cases {
        assert!(measured(case.name, Program::Direct), "{}", case.name);
        assert!(measured(case.name, Program::Toolwire), "{}", case.name);
        assert!(!measured(case.name, Program::Nginx), "{}", case.name);
    }
    let small = "small call, 32 connections";
    for proxy in [
        Program::DecodingRelay,
        Program::ToolwireToLegacy,
        Program::ToolwireToStdio,
    ] {
        assert!(measured(small, proxy), "{}", report.to_table());
    }
}
