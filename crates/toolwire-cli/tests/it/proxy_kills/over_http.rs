//! A proxy or a gateway listens, and has started the server. The client is a process that connects over HTTP.

use rustix::process::Signal;
use tokio::process::Command;

use crate::client::run;
use crate::http::HttpDemo;
use crate::process::{Era, toolwire};
use crate::proxy_kills::conversation::Conversation;
use crate::proxy_kills::servers::Servers;
use crate::proxy_kills::{Killed, Pair, Phase, kill, run_all};

/// The phases in which a process has state of a request, or of a subscription.
const PHASES: [Phase; 4] = [
    Phase::CallRunning,
    Phase::InputRequested,
    Phase::OutcomePending,
    Phase::Listening,
];

/// A relay that listens.
#[derive(Debug, Clone, Copy)]
enum Relay {
    Proxy,
    Gateway,
}

impl Relay {
    /// Returns the command of the relay in front of servers.
    fn command(self, servers: &Servers) -> Command {
        match self {
            Self::Proxy => proxy(servers),
            Self::Gateway => gateway(servers),
        }
    }

    /// Returns the eras to test. All pairs run over stdio.
    const fn pairs(self) -> [Pair; 2] {
        match self {
            Self::Proxy => [
                Pair::new(Era::Modern, Era::Legacy),
                Pair::new(Era::Legacy, Era::Modern),
            ],
            Self::Gateway => [
                Pair::new(Era::Modern, Era::Legacy),
                Pair::new(Era::Legacy, Era::Legacy),
            ],
        }
    }
}

fn proxy(servers: &Servers) -> Command {
    let mut command = toolwire(&["proxy", "--listen", "127.0.0.1:0", "--"]);
    command.args(servers.command());
    command
}

fn gateway(servers: &Servers) -> Command {
    let command = servers.command();
    let config =
        format!("listen = \"127.0.0.1:0\"\n[upstream.demo]\nflat = true\ncommand = {command:?}\n");
    toolwire(&[
        "gateway",
        "--config",
        &servers.write("gateway.toml", &config),
    ])
}

async fn check(relay: Relay, killed: Killed) {
    for pair in relay.pairs() {
        run_all(
            PHASES
                .map(|phase| check_phase(relay, pair, phase, killed))
                .into_iter(),
        )
        .await;
    }
}

async fn check_phase(relay: Relay, pair: Pair, phase: Phase, killed: Killed) {
    let case = format!("{killed:?} killed, {relay:?}, {pair:?}, {phase:?}");
    let servers = Servers::new(pair.server);
    let relay = HttpDemo::start_command(relay.command(&servers)).await;
    let client = toolwire(&["proxy", "--lazy", &relay.url()]);
    let mut conversation = Conversation::start(pair, phase, servers, client).await;
    match killed {
        Killed::Relay => {
            kill(relay.process_id());
            conversation.expect_failed_call(&case).await;
        }
        Killed::Server => {
            conversation.kill_server(&case).await;
            kill(relay.process_id());
        }
        Killed::Client => {
            kill(conversation.client.process_id());
            expect_served(&conversation, &relay, pair, phase).await;
            kill(relay.process_id());
        }
    }
    conversation.client.close_output();
    conversation.end(&case).await;
}

/// Waits until the call of a killed client is cancelled, and checks that another client is served.
async fn expect_served(conversation: &Conversation, relay: &HttpDemo, pair: Pair, phase: Phase) {
    let has_stream = matches!(phase, Phase::CallRunning | Phase::OutcomePending);
    // The call of a session goes on until the session expires. An input request waits for the next round.
    if pair.client == Era::Modern && has_stream {
        let servers = &conversation.servers;
        servers.expect_message("notifications/cancelled").await;
    }
    conversation.servers.signal(Signal::CONT);
    let add = ["call", &relay.url(), "add", "a=1", "b=2"];
    assert!(run(&add).await.ok().contains('3'), "{pair:?}, {phase:?}");
}

#[tokio::test]
async fn killed_proxy_leaves_no_server() {
    check(Relay::Proxy, Killed::Relay).await;
}

#[tokio::test]
async fn killed_gateway_leaves_no_server() {
    check(Relay::Gateway, Killed::Relay).await;
}

#[tokio::test]
async fn killed_client_of_a_proxy_ends_its_call_only() {
    check(Relay::Proxy, Killed::Client).await;
}

#[tokio::test]
async fn killed_client_of_a_gateway_ends_its_call_only() {
    check(Relay::Gateway, Killed::Client).await;
}

#[tokio::test]
async fn killed_server_of_a_proxy_fails_its_call_and_is_replaced() {
    check(Relay::Proxy, Killed::Server).await;
}

#[tokio::test]
async fn killed_server_of_a_gateway_fails_its_call_and_is_replaced() {
    check(Relay::Gateway, Killed::Server).await;
}
