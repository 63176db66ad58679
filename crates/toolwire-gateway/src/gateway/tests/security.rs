//! What an upstream must not get, and what no output has: the headers of callers, their models, their files, and secrets.

#![expect(deprecated, reason = "deprecated features are tested, too")]

use bytes::Bytes;
use http::StatusCode;
use http::request::Parts;
use serde::Deserialize;
use toolwire::transport::http::{AuthorizationError, Authorizer};
use toolwire::types::{
    CreateMessageRequestParams, CreateMessageResult, ElicitResult, ProtocolVersion, Root,
    SamplingMessage, SamplingMessageContentBlock,
};
use toolwire::{ClientBuilder, Elicit, ErrorObject, ScopeSet, TokenInfo};
use toolwire_tests::traces::Traces;

use super::*;

const LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;
const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;

/// The revisions of a client and an upstream.
const PAIRS_OF_ERAS: [[ProtocolVersion; 2]; 4] = [
    [LEGACY, LEGACY],
    [LEGACY, MODERN],
    [MODERN, LEGACY],
    [MODERN, MODERN],
];

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
async fn sampling_of_an_upstream_has_a_limit_for_each_caller() {
    let scratch = Scratch::new("gateway");
    // Modern requests without a principal have nothing that tells callers apart, so they share a limit.
    let callers: [&[&str]; 4] = [&["ann", "bob"], &["ann", "bob"], &["all"], &["all"]];
    for ([front, behind], callers) in PAIRS_OF_ERAS.into_iter().zip(callers) {
        let think = ToolHandler::typed("think", |ctx: RequestContext, _: Value| async move {
            let request = CreateMessageRequestParams::new([SamplingMessage::user("hi")], 10);
            let message = ctx.ask_model("k", request).await?;
            Ok::<_, toolwire::Error>(message.content.text())
        });
        let upstream = Server::new("upstream", "1.0.0").with_versions([behind]);
        let upstream = TestUpstream::start(upstream.tool(think)).await;
        let lines = "sampling = { calls = 2, per = \"1h\" }";
        let gateway = start(&scratch, &table("files", &upstream, lines)).await;
        for caller in callers {
            let asked = Arc::new(AtomicUsize::new(0));
            let counter = Arc::clone(&asked);
            let builder = ClientBuilder::new(*caller, "1.0.0")
                .with_versions([front])
                .on_sampling(move |_| {
                    counter.fetch_add(1, Ordering::Relaxed);
                    let text = SamplingMessageContentBlock::text("thought");
                    async { Ok(CreateMessageResult::new("model", text)) }
                });
            let client = within(builder.in_process(gateway.server())).await;
            let client = client.expect("the server is in this process");
            let case = format!("{caller}: {front} {behind}");
            for _ in 0..2 {
                let called = call(&client, "files_think").await;
                assert_eq!(called, Ok("thought".to_owned()), "{case}");
            }
            let called = call(&client, "files_think").await;
            let text = called.unwrap_or_else(|message| message);
            assert!(text.contains("too many calls"), "{case}: {text}");
            assert_eq!(asked.load(Ordering::Relaxed), 2, "{case}");
            client.close().await;
        }
        gateway.close().await;
    }
}

#[tokio::test]
async fn planted_secrets_are_in_no_output_of_a_gateway() {
    const CANARY: &str = "canary-fedcba9876543210";
    const ARGUMENT: &str = "canary-of-a-password";

    let (traces, _recording) = Traces::record();
    let scratch = Scratch::new("gateway");
    std::fs::write(scratch.path("tokens"), format!("ann {CANARY}")).unwrap();
    let echo = ToolHandler::typed("echo", |_: RequestContext, _: Value| async { "done" });
    let upstream = TestUpstream::start(Server::new("upstream", "1.0.0").tool(echo)).await;
    let credentials =
        format!("credentials = {{ bearer = \"{CANARY}\" }}\nheaders = {{ X-Key = \"{CANARY}\" }}");
    let text = format!(
        "listen = \"127.0.0.1:0\"\n[auth]\nbearer_file = \"tokens\"\n[audit]\nfile = \"audit.jsonl\"\n{}\
         [upstream.gone]\nurl = \"http://127.0.0.1:9/mcp?key={CANARY}\"\n\
         [upstream.command]\ncommand = [\"no-such-server-command\", \"{CANARY}\"]\nenv = {{ KEY = \"{CANARY}\" }}\n",
        table("files", &upstream, &credentials)
    );
    let config = parse(&scratch, &text);
    let mut outputs = vec![format!("{config:?}")];
    let gateway = start(&scratch, &text).await;
    outputs.push(format!("{gateway:?} {:?}", gateway.report().await));
    let listener = gateway.bind(false).await.expect("a port is free");
    let front = listener.url().to_owned();
    let serving = tokio::spawn(listener.run());
    let connect = async |token: &str| {
        let builder = ClientBuilder::new("test", "1.0.0");
        let builder = builder.with_header("Authorization", &format!("Bearer {token}"));
        within(builder.unwrap().connect(&front)).await
    };
    let rejected = connect(&format!("other-{CANARY}")).await;
    let rejected = rejected.expect_err("the token is unknown");
    assert_eq!(rejected.http_status(), Some(401), "{rejected}");
    outputs.push(format!("{rejected} {rejected:?}"));
    let client = connect(CANARY).await.expect("the token is that of ann");
    let arguments = serde_json::json!({ "password": ARGUMENT });
    let called = call_with(&client, "files_echo", arguments.clone()).await;
    assert_eq!(called, Ok("done".to_owned()));
    for name in ["gone_x", "command_x", "none"] {
        let called = client.call_tool(name, arguments.clone()).into_future();
        let error = within(called).await.expect_err("there is no such tool");
        let rejection = error.rpc().expect("the gateway rejects the call");
        let message = serde_json::to_string(rejection).expect("an error is JSON");
        outputs.push(format!("{message} {error:?}"));
    }
    client.close().await;
    let broken = text.replace("[audit]", "[audits]");
    let file = scratch.path("gateway.toml").display().to_string();
    let error = GatewayConfig::parse(&file, &broken, &|_| None).unwrap_err();
    outputs.push(format!("{error} {error:?}"));
    gateway.close().await;
    within(serving).await.expect("it ends").expect("no failure");
    let traced = traces.text();
    assert!(traced.contains("no-such-server-command"), "{traced}");
    // The messages of `toolwire::wire` have the arguments of calls, and no headers.
    assert!(!traced.contains(CANARY), "{traced}");
    outputs.push(std::fs::read_to_string(scratch.path("audit.jsonl")).expect("there is a log"));
    assert!(
        outputs.last().is_some_and(|log| log.contains("files_echo")),
        "{outputs:?}"
    );
    for output in outputs {
        for secret in [CANARY, ARGUMENT] {
            assert!(!output.contains(secret), "{output}");
        }
    }
}

#[derive(Deserialize, Elicit)]
struct Login {
    user: String,
    password: String,
}

#[tokio::test]
async fn form_that_asks_for_a_password_is_rejected_unless_the_operator_permits_it() {
    let scratch = Scratch::new("gateway");
    for [front, behind] in PAIRS_OF_ERAS {
        let login = ToolHandler::typed("login", |ctx: RequestContext, _: Value| async move {
            let login: Login = ctx.ask("login", "Who are you?").await?;
            Ok::<_, toolwire::Error>(format!("{} {}", login.user, login.password))
        });
        let upstream = Server::new("upstream", "1.0.0").with_versions([behind]);
        let upstream = TestUpstream::start(upstream.tool(login)).await;
        for (lines, expected) in [("", 0), ("secret_forms = true", 1)] {
            let gateway = start(&scratch, &table("files", &upstream, lines)).await;
            let shown = Arc::new(AtomicUsize::new(0));
            let counter = Arc::clone(&shown);
            let builder = ClientBuilder::new("test", "1.0.0")
                .with_versions([front])
                .on_elicitation(move |_| {
                    counter.fetch_add(1, Ordering::Relaxed);
                    async {
                        let content = [("user", "ann"), ("password", "secret")];
                        Ok(ElicitResult::accept().with_content(content))
                    }
                });
            let client = within(builder.in_process(gateway.server())).await;
            let client = client.expect("the server is in this process");
            let called = call(&client, "files_login").await;
            let case = format!("{front} {behind} {lines}");
            assert_eq!(shown.load(Ordering::Relaxed), expected, "{case}");
            let is_logged_in = called == Ok("ann secret".to_owned());
            assert_eq!(is_logged_in, expected == 1, "{case}: {called:?}");
            if front == behind {
                // Between the eras, the upstream learns that the user did not respond.
                let text = called.unwrap_or_else(|message| message);
                assert_eq!(text.contains("`password`"), expected == 0, "{case}: {text}");
            }
            client.close().await;
            gateway.close().await;
        }
    }
}

#[tokio::test]
async fn upstream_gets_its_own_token_only() {
    let scratch = Scratch::new("gateway");
    let mut text = String::new();
    let mut upstreams = Vec::new();
    for name in ["files", "mail"] {
        let recorder = HeaderRecorder::default();
        let options = HttpOptions::new()
            .without_signals()
            .with_authorizer(recorder.clone());
        let listener = HttpListener::bind(server_with(&["read"]), "127.0.0.1:0", options).await;
        let listener = listener.expect("a port is free");
        text += &format!(
            "[upstream.{name}]\nurl = {:?}\ncredentials = {{ bearer = \"token-of-{name}\" }}\n",
            listener.url()
        );
        let serving = tokio::spawn(listener.run()).abort_handle();
        upstreams.push((name, recorder, serving));
    }
    let gateway = start(&scratch, &text).await;
    let client = client(&gateway).await;
    for tool in ["files_read", "mail_read"] {
        assert_eq!(call(&client, tool).await, Ok("read".to_owned()));
    }
    client.close().await;
    gateway.close().await;
    for (name, recorder, serving) in upstreams {
        serving.abort();
        let headers = recorder.0.lock().unwrap().clone();
        let own = format!("Bearer token-of-{name}");
        let tokens = headers
            .iter()
            .filter(|(_, value)| value.contains("token-of-"));
        let tokens: Vec<_> = tokens.collect();
        assert!(!tokens.is_empty(), "{name}");
        for (header, value) in tokens {
            assert_eq!((header.as_str(), value), ("authorization", &own), "{name}");
        }
    }
}

#[cfg(unix)]
#[tokio::test]
async fn command_of_an_upstream_does_not_inherit_the_environment_of_the_gateway() {
    // cargo sets it for every test.
    const INHERITED: &str = "CARGO_MANIFEST_DIR";

    let secret = std::env::var(INHERITED).expect("the test runs in cargo");
    let scratch = Scratch::new("gateway");
    let written = scratch.path("environment");
    let script = format!("env > {}", written.display());
    let text = format!(
        "[upstream.files]\ncommand = [\"/bin/sh\", \"-c\", {script:?}]\nenv = {{ KEY = \"of the entry\" }}\n"
    );
    let gateway = start(&scratch, &text).await;
    gateway.close().await;
    let environment = std::fs::read_to_string(written).expect("the command has run");
    assert!(environment.contains("KEY=of the entry"), "{environment}");
    assert!(environment.contains("PATH="), "{environment}");
    assert!(!environment.contains(INHERITED), "{environment}");
    let values = environment.lines().filter(|line| !line.starts_with("PWD="));
    for line in values {
        assert!(!line.ends_with(&format!("={secret}")), "{line}");
    }
}
