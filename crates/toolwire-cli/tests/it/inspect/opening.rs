//! `--open`: the browser gets no secret on its command line.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;

use super::{DEMO, InspectCommand};
use crate::client::TempDirectory;
use crate::process::{toolwire, within};

/// A directory with a browser that only records its arguments.
struct FakeBrowser(TempDirectory);

impl FakeBrowser {
    fn new(name: &str) -> Self {
        let directory = TempDirectory::new(name);
        let trace = directory.0.join("opened");
        let script = format!(
            "#!/bin/sh\nfor word in \"$@\"; do echo \"$word\"; done > '{0}.new'\nmv '{0}.new' '{0}'\n",
            trace.display()
        );
        let program = directory.write("programs/xdg-open", &script);
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(program, executable).expect("the file belongs to the test");
        // `toolwire dev` watches it.
        directory.write("src/tool", "");
        Self(directory)
    }

    /// Starts a command that opens this browser.
    async fn start(&self, words: &[&str]) -> InspectCommand {
        let path = std::env::var("PATH").unwrap_or_default();
        let programs = self.0.0.join("programs");
        let mut command = toolwire(words);
        command
            .env("BROWSER", "any")
            .env("PATH", format!("{}:{path}", programs.display()))
            .current_dir(&self.0.0);
        InspectCommand::start_command(command).await
    }

    /// Waits until the browser was started, and returns its arguments.
    async fn arguments(&self) -> Vec<String> {
        let opened = self.0.0.join("opened");
        let text = within(async {
            loop {
                if let Ok(text) = std::fs::read_to_string(&opened) {
                    return text;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
        text.await.lines().map(str::to_owned).collect()
    }
}

/// Returns the permissions of a file or directory.
fn mode(path: &Path) -> u32 {
    let metadata = std::fs::metadata(path).expect("it exists");
    metadata.permissions().mode() & 0o777
}

#[tokio::test]
async fn opened_file_leads_to_the_page_and_is_deleted_after_its_first_use() {
    let build_free = [
        "dev",
        "--json",
        "--listen",
        "127.0.0.1:0",
        "--build",
        "true",
        "--open",
    ];
    let commands = [
        (
            "open-inspect",
            [&InspectCommand::WORDS[..], &["--open"], &DEMO].concat(),
        ),
        ("open-dev", [&build_free[..], &DEMO].concat()),
    ];
    for (name, words) in commands {
        let browser = FakeBrowser::new(name);
        let command = browser.start(&words).await;
        let arguments = browser.arguments().await;
        let [file] = &arguments[..] else {
            panic!("{name}: {arguments:?}");
        };
        assert!(!file.contains(command.secret()), "{file}");
        let file = PathBuf::from(file);
        let directory = file.parent().expect("a directory");
        assert_eq!((mode(&file), mode(directory)), (0o600, 0o700), "{name}");
        let text = std::fs::read_to_string(&file).expect("only the user can read it");
        let (_, rest) = text.split_once("0;url=").expect("the address");
        assert_eq!(rest.split_once('"').expect("its end").0, command.url);
        // The browser follows the address, and the page exchanges the secret.
        assert_eq!(command.send("GET", "/", &[], None).await.status, 200);
        let body = json!({ "secret": command.secret() });
        let opened = command.send("POST", "/api/session", &[], Some(&body)).await;
        assert_eq!(opened.status, 200, "{name}: {opened:?}");
        assert!(!directory.exists(), "{name}");
    }
}
