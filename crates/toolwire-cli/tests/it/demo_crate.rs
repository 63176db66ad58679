//! A small crate whose server is that of `toolwire demo`.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use tokio::process::Command;

use crate::client::{CommandOutput, TempDirectory, run_command};
use crate::process::toolwire;

const PROGRAM: &str = env!("CARGO_BIN_EXE_toolwire");

/// The version that the demo server reports.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A crate whose release binary is the demo server.
pub(crate) struct DemoCrate(TempDirectory);

impl DemoCrate {
    pub(crate) fn new(name: &str) -> Self {
        let scratch = TempDirectory::new(name);
        scratch.write(
            "Cargo.toml",
            &format!(
                "[package]\nname = \"weather\"\nversion = \"{VERSION}\"\nedition = \"2024\"\n\
                 description = \"Weather reports\"\nauthors = [\"Ada <ada@example.com>\"]\nlicense = \"MIT\"\n\
                 repository = \"https://github.com/ada/weather\"\nreadme = \"README.md\"\n\n\
                 [package.metadata.toolwire]\nmcp-name = \"io.github.ada/weather\"\n\n\
                 [package.metadata.toolwire.settings.API_KEY]\ndescription = \"The key\"\nsensitive = true\n\n\
                 [workspace]\n"
            ),
        );
        scratch.write(
            "README.md",
            "# Weather\n\nmcp-name: io.github.ada/weather\n",
        );
        scratch.write("src/main.rs", "fn main() {}\n");
        let script = format!("#!/bin/sh\nexec '{PROGRAM}' demo --stdio\n");
        let binary = scratch.write("target/release/weather", &script);
        fs::set_permissions(binary, Permissions::from_mode(0o755)).expect("the file is ours");
        Self(scratch)
    }

    pub(crate) fn file(&self, path: &str) -> PathBuf {
        self.0.0.join(path)
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.file(path)).expect("the file is readable")
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = toolwire(words);
        command
            .current_dir(&self.0.0)
            .env_remove("CARGO_TARGET_DIR");
        command
    }

    pub(crate) async fn toolwire(&self, words: &[&str]) -> CommandOutput {
        run_command(self.command(words)).await
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        self.0.write(path, content);
    }
}
