//! What an upstream must not get, and what no output has: the headers of callers, their models, their files, and secrets.

#![expect(deprecated, reason = "deprecated features are tested, too")]

use bytes::Bytes;
use http::StatusCode;
use http::request::Parts;
use toolwire::transport::http::{AuthorizationError, Authorizer};
use toolwire::types::Root;
use toolwire::{ClientBuilder, ErrorObject, ScopeSet, TokenInfo};

use super::*;

/// Permits every request, and stores its headers.
#[derive(Debug, Clone, Default)]
struct HeaderRecorder(Arc<Mutex<Vec<(String, String)>>>);

impl Authorizer for HeaderRecorder {
    fn authorize<'a>(
        &'a self,
        head: &'a Parts,
    ) -> BoxFuture<'a, Result<TokenInfo, AuthorizationError>> {
        let headers = head.headers.iter().map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes());
            (name.as_str().to_owned(), value.into_owned())
        });
        self.0.lock().unwrap().extend(headers);
        Box::pin(std::future::ready(Ok(TokenInfo::verified())))
    }

    fn insufficient_scope(&self, _needed: &ScopeSet, _token: &TokenInfo) -> AuthorizationError {
        AuthorizationError::new(StatusCode::FORBIDDEN, "unused")
    }

    fn document(&self, _path: &str) -> Option<Bytes> {
        None
    }
}

#[tokio::test]
async fn headers_of_a_caller_never_reach_an_upstream() {
    const CANARY: &str = "canary-0123456789abcdef";

    let scratch = Scratch::new("gateway");
    std::fs::write(scratch.path("tokens"), format!("ann {CANARY}")).unwrap();
    let recorder = HeaderRecorder::default();
    let options = HttpOptions::new()
        .without_signals()
        .with_authorizer(recorder.clone());
    let upstream = HttpListener::bind(server_with(&["read"]), "127.0.0.1:0", options).await;
    let upstream = upstream.expect("a port is free");
    let url = upstream.url().to_owned();
    let upstream = tokio::spawn(upstream.run()).abort_handle();
    let text = format!(
        "listen = \"127.0.0.1:0\"\n[auth]\nbearer_file = \"tokens\"\n[upstream.files]\nurl = {url:?}\n\
         headers = {{ X-Team = \"blue\" }}\n"
    );
    let gateway = start(&scratch, &text).await;
    let listener = gateway.bind(false).await.expect("a port is free");
    let front = listener.url().to_owned();
    let serving = tokio::spawn(listener.run());
    let mut builder = ClientBuilder::new("test", "1.0.0");
    let bearer = format!("Bearer {CANARY}");
    for (name, value) in [
        ("Authorization", bearer.as_str()),
        ("Cookie", CANARY),
        ("DPoP", CANARY),
        ("Proxy-Authorization", CANARY),
        ("Last-Event-ID", CANARY),
        ("X-Forwarded-For", CANARY),
        ("X-Custom", CANARY),
    ] {
        builder = builder.with_header(name, value).unwrap();
    }
    let client = within(builder.connect(&front)).await.expect("it is served");
    assert_eq!(call(&client, "files_read").await, Ok("read".to_owned()));
    client.close().await;
    let headers = recorder.0.lock().unwrap().clone();
    let team = ("x-team".to_owned(), "blue".to_owned());
    assert!(headers.contains(&team), "{headers:?}");
    for (name, value) in headers {
        assert!(!value.contains(CANARY), "{name}: {value}");
    }
    gateway.close().await;
    within(serving).await.expect("it ends").expect("no failure");
    upstream.abort();
}

#[tokio::test]
async fn upstream_sees_sampling_and_roots_only_if_the_operator_permits_them() {
    let scratch = Scratch::new("gateway");
    let sees = ToolHandler::typed("sees", |ctx: RequestContext, _: Value| async move {
        let capabilities = ctx.client_capabilities();
        let sampling = capabilities.sampling.is_some();
        format!("{sampling} {}", capabilities.roots.is_some())
    });
    let upstream = Server::new("upstream", "1.0.0").tool(sees);
    let upstream = TestUpstream::start(upstream).await;
    for (lines, expected) in [
        ("", "false false"),
        ("sampling = true", "true false"),
        ("roots = true", "false true"),
    ] {
        let gateway = start(&scratch, &table("files", &upstream, lines)).await;
        let builder = ClientBuilder::new("test", "1.0.0")
            .with_roots([Root::new("file:///home/ann")])
            .on_sampling(|_| async { Err(ErrorObject::internal("unused")) });
        let client = within(builder.in_process(gateway.server())).await;
        let client = client.expect("the server is in this process");
        let seen = call(&client, "files_sees").await;
        assert_eq!(seen, Ok(expected.to_owned()), "{lines}");
        gateway.close().await;
    }
}

#[tokio::test]
async fn planted_secrets_are_in_no_output_of_a_gateway() {
    const CANARY: &str = "canary-fedcba9876543210";

    let scratch = Scratch::new("gateway");
    std::fs::write(scratch.path("tokens"), format!("ann {CANARY}")).unwrap();
    let echo = ToolHandler::typed("echo", |_: RequestContext, _: Value| async { "done" });
    let upstream = TestUpstream::start(Server::new("upstream", "1.0.0").tool(echo)).await;
    let credentials =
        format!("credentials = {{ bearer = \"{CANARY}\" }}\nheaders = {{ X-Key = \"{CANARY}\" }}");
    let text = format!(
        "[auth]\nbearer_file = \"tokens\"\n[audit]\nfile = \"audit.jsonl\"\n{}\
         [upstream.gone]\nurl = \"http://127.0.0.1:9/mcp?key={CANARY}\"\n\
         [upstream.command]\ncommand = [\"no-such-server-command\", \"{CANARY}\"]\nenv = {{ KEY = \"{CANARY}\" }}\n",
        table("files", &upstream, &credentials)
    );
    let config = parse(&scratch, &text);
    let mut outputs = vec![format!("{config:?}")];
    let gateway = start(&scratch, &text).await;
    outputs.push(format!("{gateway:?} {:?}", gateway.report().await));
    let client = client(&gateway).await;
    let arguments = serde_json::json!({ "password": CANARY });
    let called = call_with(&client, "files_echo", arguments.clone()).await;
    assert_eq!(called, Ok("done".to_owned()));
    for name in ["gone_x", "command_x", "none"] {
        outputs.push(format!(
            "{:?}",
            call_with(&client, name, arguments.clone()).await
        ));
    }
    let broken = text.replace("[audit]", "[audits]");
    let file = scratch.path("gateway.toml").display().to_string();
    let error = GatewayConfig::parse(&file, &broken, &|_| None).unwrap_err();
    outputs.push(format!("{error} {error:?}"));
    gateway.close().await;
    outputs.push(std::fs::read_to_string(scratch.path("audit.jsonl")).expect("there is a log"));
    assert!(
        outputs.last().is_some_and(|log| log.contains("files_echo")),
        "{outputs:?}"
    );
    for output in outputs {
        assert!(!output.contains(CANARY), "{output}");
    }
}
