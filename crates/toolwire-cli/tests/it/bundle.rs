//! `toolwire bundle` and `toolwire publish` with a small crate.

use std::fs::{self, File};
use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::client::{TempDirectory, run, run_command};
use crate::demo_crate::{DemoCrate, VERSION};
use crate::process::toolwire;

fn unpack(bundle: &Path, directory: &Path) {
    let file = File::open(bundle).expect("the bundle exists");
    let mut archive = zip::ZipArchive::new(file).expect("it is an archive");
    archive.extract(directory).expect("it is valid");
}

#[tokio::test]
async fn bundle_is_reproducible_and_its_server_responds() {
    let demo = DemoCrate::new("bundle");
    let report = demo
        .toolwire(&["bundle", "--json", "-o", "a.mcpb"])
        .await
        .json();
    let bytes = fs::read(demo.file("a.mcpb")).expect("the bundle exists");
    let digest = Sha256::digest(&bytes);
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(report["sha256"], json!(digest));
    demo.toolwire(&["bundle"]).await.ok();
    let platform = if cfg!(target_os = "macos") {
        "darwin"
    } else {
        std::env::consts::OS
    };
    let name = format!(
        "weather-{VERSION}-{platform}-{}.mcpb",
        std::env::consts::ARCH
    );
    let again = fs::read(demo.file(&name)).expect("the name has platform and architecture");
    assert_eq!(again, bytes);

    let directory = demo.file("unpacked");
    unpack(&demo.file("a.mcpb"), &directory);
    let manifest: Value =
        serde_json::from_str(&demo.read("unpacked/manifest.json")).expect("it is JSON");
    assert_eq!(manifest["manifest_version"], "0.3");
    assert_eq!(
        manifest["author"],
        json!({"name": "Ada", "email": "ada@example.com"})
    );
    assert_eq!(manifest["server"]["type"], "binary");
    assert_eq!(manifest["user_config"]["api_key"]["sensitive"], true);
    let tools = manifest["tools"].as_array().map(Vec::len);
    assert_eq!(json!(tools), report["tools"]);
    let config = &manifest["server"]["mcp_config"];
    assert_eq!(config["env"], json!({"API_KEY": "${user_config.api_key}"}));
    // As a host does: the directory replaces the variable, and the era has a handshake.
    let command = config["command"].as_str().expect("there is a command");
    let command = command.replace("${__dirname}", &directory.display().to_string());
    let found = run(&["discover", "--era", "legacy", "--", &command])
        .await
        .ok();
    assert!(found.contains(VERSION), "{found}");
}

#[tokio::test]
async fn bundle_needs_a_built_crate_with_an_author() {
    let demo = DemoCrate::new("bundle-fails");
    let manifest = demo.read("Cargo.toml");
    demo.write(
        "Cargo.toml",
        &manifest.replace("authors = [", "keywords = ["),
    );
    let failed = demo.toolwire(&["bundle"]).await.failed(2);
    assert!(failed.contains("Cargo.toml has no `authors`"), "{failed}");
    fs::remove_file(demo.file("target/release/weather")).expect("the file exists");
    let failed = demo.toolwire(&["bundle"]).await.failed(2);
    assert!(failed.contains("cargo build --release"), "{failed}");
    let scratch = TempDirectory::new("bundle-no-crate");
    let mut command = toolwire(&["bundle"]);
    command.current_dir(&scratch.0);
    let failed = run_command(command).await.failed(2);
    assert!(
        failed.contains("there is no crate in this directory"),
        "{failed}"
    );
}

#[tokio::test]
async fn server_json_is_written_and_checked() {
    let demo = DemoCrate::new("publish");
    let failed = demo.toolwire(&["publish"]).await.failed(2);
    assert!(failed.contains("publish --write"), "{failed}");
    let wrote = demo.toolwire(&["publish", "--write"]).await.ok();
    assert!(wrote.contains("io.github.ada/weather"), "{wrote}");
    let document: Value = serde_json::from_str(&demo.read("server.json")).expect("it is JSON");
    assert_eq!(document["name"], "io.github.ada/weather");
    assert_eq!(document["repository"]["source"], "github");
    let package = &document["packages"][0];
    assert_eq!(package["registryType"], "cargo");
    assert_eq!(package["version"], VERSION);
    assert_eq!(package["environmentVariables"][0]["isSecret"], true);
    demo.toolwire(&["publish", "--check"]).await.ok();

    // A bundle is offered with its digest.
    demo.write("x.mcpb", "bundle");
    let url = "https://example.com/x.mcpb";
    let words = [
        "publish",
        "--write",
        "--no-start",
        "--mcpb",
        url,
        "--bundle",
        "x.mcpb",
    ];
    demo.toolwire(&words).await.ok();
    let document: Value = serde_json::from_str(&demo.read("server.json")).expect("it is JSON");
    let digest = document["packages"][1]["fileSha256"].as_str();
    assert_eq!(digest.map(str::len), Some(64));

    // All problems are shown together.
    demo.write(
        "README.md",
        "# Weather\n<!-- mcp-name: io.github.ada/weather -->\n",
    );
    let changed = demo.read("server.json").replace("Weather reports", "Other");
    demo.write("server.json", &changed);
    let failed = demo.toolwire(&["publish", "--no-start"]).await.failed(2);
    assert!(failed.contains("`description` differs"), "{failed}");
    assert!(failed.contains("in a comment"), "{failed}");
}
