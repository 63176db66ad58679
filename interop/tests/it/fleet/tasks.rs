//! The tasks client of the TypeScript SDK. Most requests about a task reach a node that does not run it.

use toolwire_interop::{Peer, Wire};

use crate::fleet::check_all;
use crate::tasks::clients::expected;

fn check(revision: &str) {
    let expected = expected(Wire::Http, revision);
    check_all(Peer::TypeScriptTasks, revision, expected);
}

#[test]
fn typescript_tasks_use_all_nodes_in_2026_07_28() {
    check("2026-07-28");
}

#[test]
fn typescript_tasks_use_all_nodes_in_2025_11_25() {
    check("2025-11-25");
}
