//! The stores on Valkey. The other tests use one engine, which is Redis if it is installed.

use redis::cmd;

use crate::engine::Engine;
use crate::{
    bus, client_cache, event_log, mailboxes, nonces, proxy, sessions, subscriptions, tasks, tokens,
};

#[tokio::test]
async fn contracts_hold_on_valkey() {
    let engine = Engine::start_valkey();
    let mut commands = engine.commands().await;
    let mut ask = cmd("INFO");
    let info: String = ask.arg("server").query_async(&mut commands).await.unwrap();
    assert!(info.contains("valkey_version:"), "{info}");

    sessions::check_contract(&engine).await;
    event_log::check_contract(&engine).await;
    bus::check_contract(&engine).await;
    mailboxes::check_contract(&engine).await;
    nonces::check_contract(&engine).await;
    tasks::check_contract(&engine).await;
    subscriptions::check_contract(&engine).await;
    proxy::check_contract(&engine).await;
    tokens::check_contract(&engine).await;
    client_cache::check_contract(&engine).await;
}
