//! The address of a gateway, and who may use it.

use toolwire::Client;
use toolwire::ClientBuilder;

use super::*;
use crate::gateway::START_WAIT;

const TOKEN: &str = "0123456789abcdef";

#[tokio::test]
async fn address_beyond_loopback_needs_authorization() {
    let scratch = Scratch::new("gateway");
    let upstream = TestUpstream::start(server_with(&["read"])).await;
    let open = "listen = \"0.0.0.0:0\"\n".to_owned() + &table("files", &upstream, "");
    let gateway = Gateway::new(parse(&scratch, &open), GatewayOptions::new()).unwrap();
    let error = gateway.bind(false).await.unwrap_err();
    assert!(
        error.to_string().contains("without authorization"),
        "{error}"
    );
    assert!(gateway.bind(true).await.is_ok());
    gateway.close().await;

    std::fs::write(scratch.path("tokens"), format!("ann {TOKEN}")).unwrap();
    let protected = open + "[auth]\nbearer_file = \"tokens\"\n";
    let gateway = Gateway::new(parse(&scratch, &protected), GatewayOptions::new()).unwrap();
    assert!(gateway.bind(false).await.is_ok());
    gateway.close().await;
}

#[tokio::test]
async fn bearer_token_is_required_at_every_path() {
    let scratch = Scratch::new("gateway");
    std::fs::write(scratch.path("tokens"), format!("ann {TOKEN} admin")).unwrap();
    let upstream = TestUpstream::start(server_with(&["read", "delete"])).await;
    let text = "listen = \"127.0.0.1:0\"\n[auth]\nbearer_file = \"tokens\"\n".to_owned()
        + &table("files", &upstream, "")
        + "[[rule]]\ndeny = { tool = \"delete\" }\nunless = { scope = \"root\" }\n"
        + "[[rule]]\nallow = { principal = \"ann\" }\n";
    let gateway = start(&scratch, &text).await;
    let listener = gateway.bind(false).await.expect("a port is free");
    let url = listener.url().to_owned();
    let serving = tokio::spawn(listener.run());
    for (path, expected) in [("", "files_read"), ("/files", "read")] {
        let url = format!("{url}{path}");
        assert!(within(Client::connect(&url)).await.is_err(), "{path}");
        let builder = ClientBuilder::new("test", "1.0.0");
        let builder = builder
            .with_header("Authorization", &format!("Bearer {TOKEN}"))
            .unwrap();
        let client = within(builder.connect(&url))
            .await
            .expect("the token is known");
        assert_eq!(tools(&client).await, [expected]);
        assert!(call(&client, expected).await.is_ok());
        client.close().await;
    }
    gateway.close().await;
    within(serving).await.expect("it ends").expect("no failure");
}

#[tokio::test]
async fn each_client_address_has_a_limit() {
    let scratch = Scratch::new("gateway");
    let upstream = TestUpstream::start(server_with(&["read"])).await;
    let limit = "limit = { calls = 1, per = \"1h\", key = \"address\" }";
    for (proxies, expected) in [
        // The outermost trusted proxy saw 1.2.3.4, 1.2.3.5 and 1.2.3.4.
        (1, [true, true, false]),
        // What a client writes is not used.
        (0, [true, false, false]),
    ] {
        let text = format!("listen = \"127.0.0.1:0\"\ntrusted_proxies = {proxies}\n")
            + &table("files", &upstream, limit);
        let gateway = start(&scratch, &text).await;
        let listener = gateway.bind(false).await.expect("a port is free");
        let url = listener.url().to_owned();
        let serving = tokio::spawn(listener.run());
        let mut permitted = Vec::new();
        for forwarded in ["9.9.9.9, 1.2.3.4", "9.9.9.9, 1.2.3.5", "8.8.8.8, 1.2.3.4"] {
            let builder = ClientBuilder::new("test", "1.0.0");
            let builder = builder.with_header("X-Forwarded-For", forwarded).unwrap();
            let client = within(builder.connect(&url)).await.expect("it is served");
            let called = call(&client, "files_read").await;
            permitted.push(called.is_ok());
            client.close().await;
        }
        assert_eq!(permitted, expected, "{proxies} proxies");
        gateway.close().await;
        within(serving).await.expect("it ends").expect("no failure");
    }
}

#[tokio::test(start_paused = true)]
async fn upstream_that_never_responds_delays_the_start_by_2_s() {
    let scratch = Scratch::new("gateway");
    // The system accepts its connections, and nothing reads them.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = silent.local_addr().expect("it is bound");
    let text = format!("[upstream.silent]\nurl = \"http://{address}/mcp\"\n");
    let gateway = Gateway::new(parse(&scratch, &text), GatewayOptions::new());
    let gateway = gateway.expect("the configuration is valid");
    let start = tokio::time::Instant::now();
    within(gateway.connect()).await.expect("it is not required");
    assert_eq!(start.elapsed().as_secs(), START_WAIT.as_secs());
    let client = client(&gateway).await;
    assert_eq!(tools(&client).await, Vec::<String>::new());
    assert_eq!(start.elapsed().as_secs(), START_WAIT.as_secs());
    client.close().await;
    gateway.close().await;
}
