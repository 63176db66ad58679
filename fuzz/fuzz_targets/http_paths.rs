//! Sends the input to a listener with the fast path and to one without it. The responses must be equal.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tokio::runtime::{Builder, Runtime};
use toolwire::transport::http::HttpOptions;
use toolwire_tests::http::connection_paths::ConnectionPaths;
use toolwire_tests::http::fixture::Fixture;

/// The listeners and the runtime on which they run.
struct Target {
    runtime: Runtime,
    paths: ConnectionPaths,
    /// The tools of the server report their events to the fixture.
    _fixture: Fixture,
}

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("the system has the resources of a runtime");
    let fixture = Fixture::new();
    let paths = runtime.block_on(ConnectionPaths::serve(&fixture.server, HttpOptions::new()));
    Target {
        runtime,
        paths,
        _fixture: fixture,
    }
});

fuzz_target!(|input: &[u8]| {
    let target = &*TARGET;
    target.runtime.block_on(target.paths.expect_equal(input));
});
