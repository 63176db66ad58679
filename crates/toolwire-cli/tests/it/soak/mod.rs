//! Many calls through a proxy, with cancelled calls and killed servers: the proxy ends with the resources that it started
//! with.
//!
//! `TOOLWIRE_SOAK_CALLS` sets the number of calls, for example 10000.

use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::json;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use toolwire::{Client, ClientBuilder, Era};

use crate::client::TempDirectory;
use crate::http::HttpDemo;
use crate::process::{toolwire, within};

/// The number of calls without the variable.
const DEFAULT_CALLS: usize = 400;

/// The number of clients at a time. The half of them is legacy, and each of these has a server process.
const CLIENTS: usize = 4;

/// One of this number of calls is cancelled.
const CALLS_PER_FAILURE: usize = 100;

/// The calls of these numbers, of each [`CALLS_PER_FAILURE`] of a legacy client, lose their server. Only the half of the
/// clients is legacy, so a server is killed in one of [`CALLS_PER_FAILURE`] calls of all clients.
const LOSSES: [usize; 2] = [55, 77];

/// How much more memory the proxy may use at the end, in KiB.
const MEMORY_MARGIN: u64 = 16 * 1024;

/// Starts the demo, and writes its process group to a file.
const SERVER: &str = r#"echo $$ >> "$1/groups"; exec "$2" demo --stdio"#;

/// A proxy with a command as its server.
struct Proxy {
    process: HttpDemo,
    directory: TempDirectory,
    /// Held while a session is opened, so that its server is the last one in the file.
    opening: Mutex<()>,
}

/// The resources of a process.
#[derive(Debug)]
struct Resources {
    descriptors: usize,
    children: usize,
    /// In KiB.
    memory: u64,
}

impl Proxy {
    async fn start() -> Arc<Self> {
        let directory = TempDirectory::new("soak");
        let mut command = toolwire(&["proxy", "--lazy", "--listen", "127.0.0.1:0"]);
        command.args(["--", "sh", "-c", SERVER, "sh"]);
        command
            .arg(&directory.0)
            .arg(env!("CARGO_BIN_EXE_toolwire"))
            // Nothing reads its standard error.
            .env("RUST_LOG", "off");
        Arc::new(Self {
            process: HttpDemo::start_command(command).await,
            directory,
            opening: Mutex::default(),
        })
    }

    /// Connects a client. Returns the process group of its server, if it is the only client of it.
    async fn connect(&self, era: Era) -> (Client, Option<Pid>) {
        let _opening = self.opening.lock().await;
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
        let text = std::fs::read_to_string(self.directory.0.join("groups"));
        let text = text.expect("a server was started");
        let last = text.lines().last().and_then(|id| id.parse().ok());
        let group = last.and_then(Pid::from_raw);
        (client, group.filter(|_| era == Era::Legacy))
    }

    fn resources(&self) -> Resources {
        let id = self.process.process_id();
        let descriptors = std::fs::read_dir(format!("/proc/{id}/fd"));
        let status = std::fs::read_to_string(format!("/proc/{id}/status"));
        let status = status.expect("the proxy runs");
        let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let memory = memory.and_then(|line| line.trim().strip_suffix(" kB"));
        Resources {
            descriptors: descriptors.expect("the proxy runs").count(),
            children: children_of(id),
            memory: memory.and_then(|size| size.parse().ok()).expect("a size"),
        }
    }

    /// Waits until the proxy has at most these descriptors, and only the server that modern clients share. Returns its
    /// resources.
    async fn idle(&self, descriptors: usize) -> Resources {
        within(async {
            loop {
                let resources = self.resources();
                if resources.descriptors <= descriptors && resources.children <= 1 {
                    return resources;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await
    }

    /// Waits until the number of descriptors does not change for a while. Returns the resources.
    async fn settled(&self) -> Resources {
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

/// Makes calls as one client after the other. A client whose server was killed is replaced.
async fn make_calls(proxy: Arc<Proxy>, era: Era, count: usize) {
    let (mut client, mut group) = proxy.connect(era).await;
    for number in 0..count {
        let failure = number % CALLS_PER_FAILURE;
        if failure == 33 {
            let endless = client.call_tool("countdown", json!({"from": 60_000, "delay_ms": 1000}));
            let cancelled = tokio::time::timeout(Duration::from_millis(5), async { endless.await });
            assert!(cancelled.await.is_err(), "the call does not end by itself");
        } else if let Some(killed) = group.filter(|_| LOSSES.contains(&failure)) {
            let running = client.call_tool("countdown", json!({"from": 5, "delay_ms": 100}));
            let kill = async {
                tokio::time::sleep(Duration::from_millis(50)).await;
                kill_process_group(killed, Signal::KILL).expect("the server runs");
            };
            // A call that arrives after the loss reaches another server.
            let (_outcome, ()) =
                within(async { tokio::join!(async { running.await }, kill) }).await;
            within(client.close()).await;
            (client, group) = proxy.connect(era).await;
        } else {
            let sum = client.call_tool("add", json!({"a": number, "b": 1}));
            let sum = within(async { sum.await }).await.expect("a sum");
            let sum = sum.structured_content.and_then(|sum| sum.to_value().ok());
            let sum = sum.expect("a structured result");
            assert_eq!(sum["sum"], number + 1);
        }
    }
    within(client.close()).await;
}

/// Makes calls as several clients at a time.
async fn make_calls_in_parallel(proxy: &Arc<Proxy>, count: usize) {
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let era = if number % 2 == 0 {
            Era::Legacy
        } else {
            Era::Modern
        };
        clients.spawn(make_calls(Arc::clone(proxy), era, count / CLIENTS));
    }
    while let Some(ended) = clients.join_next().await {
        ended.expect("no client failed");
    }
}

#[tokio::test]
async fn proxy_ends_with_the_resources_that_it_started_with() {
    let calls = std::env::var("TOOLWIRE_SOAK_CALLS").ok();
    let calls = calls.and_then(|calls| calls.parse().ok());
    let calls: usize = calls.unwrap_or(DEFAULT_CALLS);
    let proxy = Proxy::start().await;
    // The first calls allocate what stays for the life of the proxy.
    make_calls_in_parallel(&proxy, CLIENTS * 20).await;
    let start = proxy.settled().await;
    make_calls_in_parallel(&proxy, calls).await;
    let end = proxy.idle(start.descriptors).await;
    assert!(
        end.memory <= start.memory + MEMORY_MARGIN,
        "{start:?} {end:?}"
    );
}
