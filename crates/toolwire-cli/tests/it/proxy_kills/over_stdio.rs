//! The client has started the proxy, and the proxy has started the server.

use crate::process::toolwire;
use crate::proxy_kills::conversation::Conversation;
use crate::proxy_kills::servers::Servers;
use crate::proxy_kills::{Killed, PAIRS, Pair, Phase, kill, run_all};

const PHASES: [Phase; 6] = [
    Phase::Opening,
    Phase::Listed,
    Phase::CallRunning,
    Phase::InputRequested,
    Phase::OutcomePending,
    Phase::Listening,
];

async fn check(killed: Killed) {
    for pair in PAIRS {
        run_all(
            PHASES
                .map(|phase| check_phase(pair, phase, killed))
                .into_iter(),
        )
        .await;
    }
}

async fn check_phase(pair: Pair, phase: Phase, killed: Killed) {
    let case = format!("{killed:?} killed, {pair:?}, {phase:?}");
    let servers = Servers::new(pair.server);
    let mut command = toolwire(&["proxy", "--lazy", "--"]);
    command.args(servers.command());
    let mut conversation = Conversation::start(pair, phase, servers, command).await;
    match killed {
        Killed::Relay => kill(conversation.client.process_id()),
        // A killed client closes both pipes.
        Killed::Client => {}
        Killed::Server => conversation.kill_server(&case).await,
    }
    conversation.client.close_output();
    conversation.end(&case).await;
}

#[tokio::test]
async fn killed_proxy_leaves_no_server() {
    check(Killed::Relay).await;
}

#[tokio::test]
async fn killed_client_leaves_no_proxy_and_no_server() {
    check(Killed::Client).await;
}

#[tokio::test]
async fn killed_server_fails_its_call_and_is_replaced() {
    check(Killed::Server).await;
}
