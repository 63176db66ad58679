//! A proxy, its server or its client is killed in each phase of a conversation: no process stays, no request waits for its
//! timeout, and the server gets no call twice.

use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::client::TempDirectory;
use crate::process::{Demo, Era, toolwire, within};

/// Starts the demo, with its process group in one file and the messages that it gets in another one.
const SERVER: &str = r#"echo $$ >> "$1/groups"; tee -a "$1/messages" | "$2" demo --stdio"#;

/// How far the conversation has come.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Phase {
    Opening,
    Listed,
    CallRunning,
    InputRequested,
    Listening,
}

const PHASES: [Phase; 5] = [
    Phase::Opening,
    Phase::Listed,
    Phase::CallRunning,
    Phase::InputRequested,
    Phase::Listening,
];

/// The revision of the client, and the options of the proxy for the revision of the server.
const PAIRS: [(Era, &[&str]); 3] = [
    (Era::Modern, &[]),
    (Era::Modern, &["--era", "legacy"]),
    (Era::Legacy, &[]),
];

/// Which process is killed.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Killed {
    Proxy,
    Server,
    /// A killed client closes both pipes.
    Client,
}

/// The servers that a proxy has started.
struct Servers(TempDirectory);

impl Servers {
    /// Returns the process groups of all servers, also of those that have ended.
    fn groups(&self) -> Vec<i32> {
        let text = std::fs::read_to_string(self.0.0.join("groups")).unwrap_or_default();
        // The last line may be incomplete.
        let lines = text.split_inclusive('\n');
        let lines = lines.filter_map(|line| line.strip_suffix('\n'));
        lines.map(|id| id.parse().expect("a process id")).collect()
    }

    /// Returns the number of calls that the servers got, without further rounds.
    fn calls(&self) -> usize {
        let text = std::fs::read_to_string(self.0.0.join("messages")).unwrap_or_default();
        let messages = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        let calls = messages.filter(|message: &Value| {
            message["method"] == "tools/call" && message["params"].get("requestState").is_none()
        });
        calls.count()
    }

    async fn expect_one(&self) {
        within(async {
            while self.groups().is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
    }

    /// Waits until no process of a server runs.
    async fn expect_none(&self) {
        within(async {
            while self.groups().into_iter().any(has_running_process) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
    }
}

/// Returns `true` if a process of a group has not exited. A zombie process has exited.
fn has_running_process(group: i32) -> bool {
    let processes = std::fs::read_dir("/proc").expect("the system has /proc");
    processes.flatten().any(|process| {
        let stat = std::fs::read_to_string(process.path().join("stat")).unwrap_or_default();
        let Some((_, fields)) = stat.rsplit_once(") ") else {
            return false;
        };
        let mut fields = fields.split(' ');
        let (state, group_of_process) = (fields.next(), fields.nth(1));
        state != Some("Z") && group_of_process == Some(&*group.to_string())
    })
}

/// A client, a proxy and its server.
struct Conversation {
    servers: Servers,
    /// The proxy, as the client sees it.
    proxy: Demo,
    /// The call that has not ended.
    open_call: Option<i64>,
}

impl Conversation {
    async fn start(era: Era, options: &[&str], phase: Phase) -> Self {
        let servers = Servers(TempDirectory::new("kills"));
        let mut command = toolwire(&["proxy", "--lazy"]);
        command
            .args(options)
            .args(["--", "sh", "-c", SERVER, "sh"])
            .arg(&servers.0.0)
            .arg(env!("CARGO_BIN_EXE_toolwire"))
            .stderr(Stdio::null());
        let mut proxy = Demo::start_command(era, command).await;
        let open_call = reach(&mut proxy, phase).await;
        servers.expect_one().await;
        Self {
            servers,
            proxy,
            open_call,
        }
    }

    async fn kill(mut self, killed: Killed, case: &str) {
        match killed {
            Killed::Proxy => {
                let id = self.proxy.process_id().cast_signed();
                let id = Pid::from_raw(id).expect("a process id is not zero");
                kill_process(id, Signal::KILL).expect("the proxy runs");
                self.proxy.close_output();
            }
            Killed::Client => self.proxy.close_output(),
            Killed::Server => {
                self.kill_server(case).await;
                self.proxy.close_output();
            }
        }
        self.proxy.end().await;
        self.servers.expect_none().await;
        let expected = usize::from(self.open_call.is_some());
        assert!(self.servers.calls() <= 1, "{case}");
        assert!(self.servers.calls() >= expected, "{case}");
    }

    /// Kills the server. Its call ends, and later requests reach another server.
    async fn kill_server(&mut self, case: &str) {
        for group in self.servers.groups() {
            let group = Pid::from_raw(group).expect("a process id is not zero");
            // The group of an earlier server may be gone.
            let _ = kill_process_group(group, Signal::KILL);
        }
        if let Some(call) = self.open_call {
            let response = self.proxy.response(call).await;
            let reason = &response["error"]["data"]["reason"];
            assert_eq!(reason, "upstream_unreachable", "{case}: {response}");
        }
        // Requests fail until the proxy has noticed the loss, and during the pause after it.
        while let Some(error) = self.proxy.ask("prompts/list", json!({})).await.get("error") {
            let reason = &error["data"]["reason"];
            assert_eq!(reason, "upstream_unreachable", "{case}: {error}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// Continues a conversation up to a phase. Returns the call that has not ended.
async fn reach(proxy: &mut Demo, phase: Phase) -> Option<i64> {
    match (phase, proxy.era()) {
        (Phase::Opening, _) => {
            proxy.request("tools/list", json!({})).await;
        }
        (Phase::Listed, _) => {
            proxy.ask("tools/list", json!({})).await;
        }
        (Phase::CallRunning, _) => return Some(proxy.start_countdown(100_000, 5).await),
        (Phase::InputRequested, Era::Modern) => {
            let question = json!({"question": "Go?"});
            let required = proxy.call("approve", question).await;
            assert_eq!(required["resultType"], "input_required");
        }
        (Phase::InputRequested, Era::Legacy) => {
            let question = json!({"question": "Go?"});
            let call = proxy.start_call("approve", question).await;
            let is_request = |message: &Value| message["method"] == "elicitation/create";
            proxy.next_unsolicited(is_request).await;
            return Some(call);
        }
        (Phase::Listening, Era::Modern) => {
            let filter = json!({"notifications": {"toolsListChanged": true}});
            proxy.request("subscriptions/listen", filter).await;
            let method = "notifications/subscriptions/acknowledged";
            let is_acknowledgement = |message: &Value| message["method"] == method;
            proxy.next_unsolicited(is_acknowledgement).await;
        }
        (Phase::Listening, Era::Legacy) => {
            let listed = proxy.ask("resources/list", json!({})).await;
            let uri = &listed["result"]["resources"][0]["uri"];
            let subscribed = proxy.ask("resources/subscribe", json!({"uri": uri})).await;
            assert!(subscribed.get("result").is_some(), "{subscribed}");
        }
    }
    None
}

async fn check(killed: Killed) {
    for (era, options) in PAIRS {
        let mut conversations = JoinSet::new();
        for phase in PHASES {
            conversations.spawn(async move {
                let case = format!("{killed:?} killed, {era:?} client, {options:?}, {phase:?}");
                let conversation = Conversation::start(era, options, phase).await;
                conversation.kill(killed, &case).await;
            });
        }
        while let Some(ended) = conversations.join_next().await {
            ended.expect("no conversation failed");
        }
    }
}

#[tokio::test]
async fn killed_proxy_leaves_no_server() {
    check(Killed::Proxy).await;
}

#[tokio::test]
async fn killed_client_leaves_no_proxy_and_no_server() {
    check(Killed::Client).await;
}

#[tokio::test]
async fn killed_server_fails_its_call_and_is_replaced() {
    check(Killed::Server).await;
}
