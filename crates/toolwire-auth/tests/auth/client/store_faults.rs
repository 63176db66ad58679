//! Token stores that fail or hang: no request waits for ever, and no login is lost without a message.

use std::sync::Arc;
use std::time::Duration;

use toolwire::store::contract::{Fault, Faulty};
use toolwire::transport::http_client::{HttpClient as _, HttpError};
use toolwire_auth::client::{AuthError, MemoryTokenStore, OAuthHttpClient};

use super::fake_servers::{FakeServers, SERVER, call};

type Store = Arc<Faulty<MemoryTokenStore>>;

/// Longer than the deadlines of the store together. The time passes at once.
const TIMEOUT: Duration = Duration::from_secs(3600);

fn store() -> Store {
    Arc::new(Faulty::new(Arc::new(MemoryTokenStore::new())))
}

fn client(servers: &FakeServers, store: &Store) -> Arc<OAuthHttpClient<FakeServers>> {
    servers.client(servers.oauth().with_store(Arc::clone(store)))
}

/// Makes a call, which must end in time. Returns its status, or the reason of its failure.
async fn outcome(client: &OAuthHttpClient<FakeServers>) -> Result<u16, String> {
    let sent = tokio::time::timeout(TIMEOUT, client.send(call("add"))).await;
    let sent = sent.expect("the call ends");
    sent.map(|response| response.status().as_u16())
        .map_err(reason)
}

fn reason(error: HttpError) -> String {
    let source = std::error::Error::source(&error).unwrap();
    source.downcast_ref::<AuthError>().unwrap().to_string()
}

fn logins(servers: &FakeServers) -> usize {
    servers.request_count("GET /authorize")
}

#[tokio::test(start_paused = true)]
async fn store_that_hangs_blocks_no_login() {
    for (method, expected) in [
        ("get", Err("the token store did not respond within 150 s")),
        ("put", Err("the token store did not respond within 150 s")),
        ("lock", Err("the token store did not respond within 660 s")),
        // No login removes anything.
        ("remove", Ok(200)),
    ] {
        let (servers, store) = (FakeServers::default(), store());
        store.inject(method, Fault::Hang, usize::MAX);
        let client = client(&servers, &store);
        let hanging = outcome(&client).await;
        assert_eq!(hanging, expected.map_err(str::to_owned), "{method}");
        store.heal();
        assert_eq!(outcome(&client).await, Ok(200), "{method}");
        assert_eq!(logins(&servers), 1, "{method}");
    }
}

#[tokio::test(start_paused = true)]
async fn token_of_a_store_that_hangs_is_used() {
    let (servers, store) = (FakeServers::default(), store());
    let oauth = servers.oauth().with_store(Arc::clone(&store));
    let client = servers.client(oauth.with_registration_store(MemoryTokenStore::new()));
    store.inject("put", Fault::Hang, usize::MAX);
    for refreshes in 0..3 {
        assert_eq!(outcome(&client).await, Ok(200));
        assert_eq!(servers.request_count("POST /token"), 1 + refreshes);
        servers.revoke_all(false);
    }
    assert_eq!(logins(&servers), 1);
}

#[tokio::test(start_paused = true)]
async fn short_outage_loses_no_refreshed_token() {
    for method in ["get", "put", "lock"] {
        for fault in [Fault::Error, Fault::LostReply, Fault::Twice] {
            let (servers, store) = (FakeServers::default(), store());
            let one = client(&servers, &store);
            assert_eq!(outcome(&one).await, Ok(200));
            for times in [1, 2] {
                servers.revoke_all(false);
                store.inject(method, fault, times);
                let during = outcome(&one).await;
                let is_expected = during.is_ok() || method != "put";
                assert!(is_expected, "{method} {fault:?}: {during:?}");
                store.heal();
                assert_eq!(outcome(&one).await, Ok(200), "{method} {fault:?}");
                // Another process has the token that can be refreshed.
                servers.revoke_all(false);
                let other = client(&servers, &store);
                assert_eq!(outcome(&other).await, Ok(200), "{method} {fault:?}");
                assert_eq!(logins(&servers), 1, "{method} {fault:?}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn login_that_cannot_be_stored_is_reported() {
    for (fault, expected) in [
        (Fault::Error, "the call failed on purpose"),
        (Fault::Hang, "the token store did not respond within 150 s"),
    ] {
        let (servers, store) = (FakeServers::default(), store());
        let oauth = servers.oauth().with_http_client(servers.clone());
        let oauth = oauth.with_store(Arc::clone(&store));
        let oauth = oauth.with_registration_store(MemoryTokenStore::new());
        store.inject("put", fault, usize::MAX);
        let logging_in = tokio::time::timeout(TIMEOUT, oauth.log_in(SERVER)).await;
        let error = logging_in.expect("the login ends").unwrap_err();
        assert_eq!(error.to_string(), expected);
        store.heal();
        assert!(oauth.log_in(SERVER).await.is_ok());
        assert!(oauth.account(SERVER).await.unwrap().is_some());

        store.inject("remove", fault, usize::MAX);
        let logging_out = tokio::time::timeout(TIMEOUT, oauth.log_out(SERVER)).await;
        let error = logging_out.expect("the logout ends").unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}
