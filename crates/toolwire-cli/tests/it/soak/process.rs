//! A proxy or a gateway in front of server processes, and its resources.

use std::sync::Arc;
use std::time::Duration;

use rustix::process::Pid;
use tokio::sync::{Mutex, MutexGuard};
use toolwire::{Client, ClientBuilder, Era};

use crate::client::TempDirectory;
use crate::http::HttpDemo;
use crate::process::{toolwire, within};

/// Adds its process group to the file of the first argument, and starts the server of the others.
const SERVER: &str = "echo $$ >> \"$1\"\nshift\nexec \"$@\"\n";

/// The command that serves the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Front {
    /// `toolwire proxy` with one server of both eras. Each legacy client has a server process.
    Proxy,
    /// `toolwire gateway` with a legacy and a modern server. All clients share a process of each.
    Gateway,
}

impl Front {
    /// Returns the names of the servers.
    pub(super) fn servers(self) -> &'static [&'static str] {
        match self {
            Self::Proxy => &["server"],
            Self::Gateway => &["legacy", "modern"],
        }
    }

    /// Returns the name of a tool of the demo, at the server that the call with this number is for.
    pub(super) fn tool(self, tool: &str, number: usize) -> String {
        match self {
            Self::Proxy => tool.to_owned(),
            Self::Gateway => {
                let server = self.servers()[number % 2];
                format!("{server}_{tool}")
            }
        }
    }
}

/// The running process.
pub(super) struct SoakedProcess {
    pub(super) front: Front,
    process: HttpDemo,
    directory: TempDirectory,
    /// Held while a session is opened, and while a lost one is opened again. So the server of a new session is the last one
    /// in the file.
    opening: Mutex<()>,
}

/// The resources of a process.
#[derive(Debug)]
pub(super) struct Resources {
    pub(super) descriptors: usize,
    children: usize,
    /// The resident memory that is not part of a file, in KiB. The pages of a program and its libraries are read when they
    /// are first used, also late.
    pub(super) memory: u64,
}

impl SoakedProcess {
    pub(super) async fn start(front: Front) -> Arc<Self> {
        let directory = TempDirectory::new("soak");
        let script = directory.write("server.sh", SERVER);
        let server = |name: &str| {
            let started = directory.0.join(name).display().to_string();
            let program = env!("CARGO_BIN_EXE_toolwire").to_owned();
            ["sh".to_owned(), script.clone(), started, program]
        };
        let mut command = match front {
            Front::Proxy => {
                let mut proxy = toolwire(&["proxy", "--lazy", "--listen", "127.0.0.1:0", "--"]);
                proxy.args(server("server")).args(["demo", "--stdio"]);
                proxy
            }
            Front::Gateway => {
                let upstream = |name: &str, revision: &str| {
                    let demo = ["demo", "--stdio", "--protocol-version", revision];
                    let demo = demo.map(str::to_owned);
                    let words = [server(name), demo].concat();
                    format!("[upstream.{name}]\ncommand = {words:?}\n")
                };
                let text = "listen = \"127.0.0.1:0\"\n".to_owned()
                    + &upstream("legacy", "2025-11-25")
                    + &upstream("modern", "2026-07-28");
                toolwire(&[
                    "gateway",
                    "--config",
                    &directory.write("gateway.toml", &text),
                ])
            }
        };
        // Nothing reads its standard error.
        command.env("RUST_LOG", "off");
        Arc::new(Self {
            front,
            process: HttpDemo::start_command(command).await,
            directory,
            opening: Mutex::default(),
        })
    }

    /// Waits until no client opens a session.
    pub(super) async fn open(&self) -> MutexGuard<'_, ()> {
        self.opening.lock().await
    }

    /// Connects a client. Returns the process group of its server, if it is the only client of it.
    pub(super) async fn connect(
        &self,
        era: Era,
        _opening: &MutexGuard<'_, ()>,
    ) -> (Client, Option<Pid>) {
        let client = within(async {
            loop {
                let client = ClientBuilder::new("soak", "1").with_era(era);
                if let Ok(client) = client.connect(self.process.url()).await {
                    return client;
                }
                // After several losses, the proxy pauses.
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        })
        .await;
        let is_alone = self.front == Front::Proxy && era == Era::Legacy;
        let group = is_alone.then(|| self.started("server").pop());
        (client, group.flatten())
    }

    /// Returns the process groups of all processes of a server so far.
    pub(super) fn started(&self, server: &str) -> Vec<Pid> {
        let text = std::fs::read_to_string(self.directory.0.join(server));
        let text = text.expect("a server was started");
        let ids = text.lines().filter_map(|id| id.parse().ok());
        ids.filter_map(Pid::from_raw).collect()
    }

    fn resources(&self) -> Resources {
        let id = self.process.process_id();
        let descriptors = std::fs::read_dir(format!("/proc/{id}/fd"));
        let status = std::fs::read_to_string(format!("/proc/{id}/status"));
        let status = status.expect("the process runs");
        let memory = status
            .lines()
            .find_map(|line| line.strip_prefix("RssAnon:"));
        let memory = memory.and_then(|line| line.trim().strip_suffix(" kB"));
        Resources {
            descriptors: descriptors.expect("the process runs").count(),
            children: children_of(id),
            memory: memory.and_then(|size| size.parse().ok()).expect("a size"),
        }
    }

    /// Waits until the process has at most these descriptors, and only the servers that clients share. Returns its
    /// resources.
    pub(super) async fn idle(&self, descriptors: usize) -> Resources {
        within(async {
            loop {
                let resources = self.resources();
                if resources.descriptors <= descriptors
                    && resources.children <= self.front.servers().len()
                {
                    return resources;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await
    }

    /// Waits until the number of descriptors does not change for a while. Returns the resources.
    pub(super) async fn settled(&self) -> Resources {
        let mut resources = self.idle(usize::MAX).await;
        let mut unchanged = 0;
        while unchanged < 10 {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let current = self.idle(usize::MAX).await;
            let is_same = current.descriptors == resources.descriptors;
            unchanged = if is_same { unchanged + 1 } else { 0 };
            resources = current;
        }
        resources
    }
}

/// Returns the number of child processes, also of those that have exited and were not waited for.
fn children_of(parent: u32) -> usize {
    let processes = std::fs::read_dir("/proc").expect("the system has /proc");
    let is_child = |stat: &str| {
        let fields = stat.rsplit_once(") ").map(|(_, fields)| fields);
        let field = fields.and_then(|fields| fields.split(' ').nth(1));
        field == Some(&*parent.to_string())
    };
    let stats = processes
        .flatten()
        .filter_map(|process| std::fs::read_to_string(process.path().join("stat")).ok());
    stats.filter(|stat| is_child(stat)).count()
}
