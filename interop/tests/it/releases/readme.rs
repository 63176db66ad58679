//! The README and the manifests state the versions of the list.

use std::fs;
use std::path::Path;

use toolwire_interop::{RELEASES, Release, ServerWire};

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()))
}

#[test]
fn manifests_pin_the_versions() {
    for release in RELEASES {
        let (manifest, pin) = release.pin();
        let text = read(&format!("peers/releases/{manifest}"));
        assert!(
            text.contains(&pin),
            "{manifest} does not contain {}",
            pin.trim()
        );
    }
}

#[test]
fn readme_lists_every_release() {
    let readme = read("README.md");
    for release in RELEASES {
        let row = row_of(release);
        assert!(
            readme.lines().any(|line| line == row),
            "README.md does not contain\n{row}"
        );
    }
}

/// Returns the row of the release in the table of the README.
fn row_of(release: &Release) -> String {
    let servers = release.servers.iter();
    let clients = release.clients.iter();
    format!(
        "| {} | `{}` | {} | {} | {} |",
        release.name,
        release.package,
        release.version,
        transports(servers.map(|role| (role.wire, role.revision))),
        transports(clients.map(|role| (role.wire, role.revision))),
    )
}

fn transports<'a>(roles: impl Iterator<Item = (ServerWire, &'a str)>) -> String {
    let names: Vec<String> = roles
        .map(|(wire, revision)| {
            let wire = match wire {
                ServerWire::Stdio => "stdio",
                ServerWire::Sse => "HTTP+SSE",
                _ => "Streamable HTTP",
            };
            format!("{wire} {revision}")
        })
        .collect();
    if names.is_empty() {
        "–".to_owned()
    } else {
        names.join(", ")
    }
}
