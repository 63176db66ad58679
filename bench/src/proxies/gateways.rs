//! The configurations of `toolwire gateway`.

use std::fmt::Write as _;
use std::path::Path;

use crate::process::ServerProcess;

/// The number of rules, none of which matches a call of the load.
const RULES: usize = 100;

/// The size of the audit log, after which a new file begins. One older file remains, so the disk needs twice as much.
const AUDIT_BYTES: u64 = 64 * 1024 * 1024;

/// Returns the configuration of a gateway in front of the servers. One server keeps the names of its tools.
pub(super) fn plain(address: &str, servers: &[ServerProcess]) -> String {
    upstreams(address, servers, "")
}

/// Returns the same configuration with rules, a rate limit that is never reached, and an audit log.
pub(super) fn with_rules(address: &str, servers: &[ServerProcess], audit_file: &Path) -> String {
    let limit = "limit = { calls = 1000000, per = \"1s\" }\n";
    let mut config = upstreams(address, servers, limit);
    for number in 0..RULES {
        let _ = writeln!(
            config,
            "[[rule]]\ndeny = {{ upstream = \"s*\", tool = \"delete_*_{number}\" }}"
        );
    }
    let file = audit_file.display().to_string();
    let _ = writeln!(
        config,
        "[audit]\nfile = {file:?}\nmax_bytes = {AUDIT_BYTES}\nfiles = 1"
    );
    config
}

fn upstreams(address: &str, servers: &[ServerProcess], options: &str) -> String {
    let is_flat = servers.len() == 1;
    let mut config = format!("listen = \"{address}\"\n");
    for (number, server) in servers.iter().enumerate() {
        let url = server.url();
        let _ = write!(
            config,
            "[upstream.s{number}]\nurl = \"{url}\"\nflat = {is_flat}\n{options}"
        );
    }
    config
}
