//! The files with which the documentation deploys servers: images, the compose file of the gateway, and the memory that
//! each container gets.

use std::fs;
use std::path::{Path, PathBuf};

use crate::fleet_files::{parsed, settings};

#[path = "../../examples/fleet/limits.rs"]
mod limits;

const IMAGES: [&str; 2] = ["deploy/Dockerfile", "examples/fleet/Dockerfile"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn images_have_fixed_bases_existing_sources_and_a_user() {
    for path in IMAGES {
        let image = read(path);
        let bases = settings(&image, "FROM");
        assert!(!bases.is_empty(), "{path}");
        for base in bases {
            let (_, tag) = base[0]
                .split_once(':')
                .unwrap_or_else(|| panic!("{path}: {base:?}"));
            assert_ne!(tag, "latest", "{path}");
        }
        for words in settings(&image, "COPY") {
            if !words.iter().any(|word| word.starts_with("--from=")) {
                assert!(root().join(words[0]).exists(), "{path}: {words:?}");
            }
        }
        // The program runs without the rights of root, and receives signals.
        let users = settings(&image, "USER");
        assert!(
            users
                .last()
                .is_some_and(|words| words[0] != "root" && !words[0].starts_with("0")),
            "{path}"
        );
        let start = settings(&image, "ENTRYPOINT");
        assert!(start[0][0].starts_with('['), "{path}: {start:?}");
    }
}

#[test]
fn compose_file_of_the_gateway_agrees_with_its_image_and_configuration() {
    let compose = parsed("compose.yaml", &read("deploy/compose.yaml"));
    let gateway = &compose["services"]["gateway"];
    assert_eq!(gateway["build"]["context"], "..");
    assert_eq!(gateway["build"]["dockerfile"], "deploy/Dockerfile");
    let image = read("deploy/Dockerfile");
    let port = settings(&image, "EXPOSE")[0][0].to_owned();
    assert!(read("deploy/gateway.toml").contains(&format!("listen = \"0.0.0.0:{port}\"")));
    assert_eq!(
        gateway["ports"][0],
        format!("127.0.0.1:{port}:{port}").as_str()
    );
    let command = settings(&image, "CMD").concat().concat();
    let volumes = gateway["volumes"].as_array().unwrap();
    for volume in volumes {
        let parts: Vec<&str> = volume.as_str().unwrap().split(':').collect();
        match parts[0].strip_prefix("./") {
            // The reader creates this file. The image must not contain it.
            Some("tokens") => {
                assert!(read("deploy/Dockerfile.dockerignore").contains("deploy/tokens"));
            }
            Some(file) => {
                assert!(root().join("deploy").join(file).is_file(), "{file}");
                assert!(command.contains(parts[1]), "{command}");
            }
            None => assert!(compose["volumes"].get(parts[0]).is_some(), "{parts:?}"),
        }
    }
    assert_eq!(gateway["read_only"], true);
    assert_eq!(gateway["stop_grace_period"], "30s");
}

#[test]
fn memory_of_a_node_exceeds_its_limits() {
    let values = parsed("values.yaml", &read("examples/fleet/chart/values.yaml"));
    let memory = values["memory"].as_str().unwrap();
    let megabytes: usize = memory.strip_suffix("Mi").unwrap().parse().unwrap();
    let limit = limits::limits().max_memory();
    assert!(limit < 384 << 20, "{limit}");
    assert!(
        limit + (128 << 20) <= megabytes << 20,
        "{limit} of {memory}"
    );
}
