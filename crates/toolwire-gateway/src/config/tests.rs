//! The keys of a configuration, and the errors of mistakes.

use std::time::Duration;

use toolwire_proto::relay::pins::PinMode;

use super::*;

fn parse(text: &str) -> Result<GatewayConfig, ConfigError> {
    let environment = |name: &str| (name == "KEY").then(|| "s3cret".to_owned());
    GatewayConfig::parse("dir/gateway.toml", text, &environment)
}

fn config(text: &str) -> GatewayConfig {
    parse(text).unwrap_or_else(|error| panic!("{error}"))
}

/// Checks the line and a part of the message and the advice.
#[track_caller]
fn check_error(text: &str, line: Option<usize>, part: &str) {
    let error = parse(text).expect_err(text);
    let shown = format!("{error}; {}", error.advice().unwrap_or_default());
    assert!(shown.contains(part), "{shown}");
    assert_eq!(error.line(), line, "{shown}");
}

#[test]
fn every_key_is_read() {
    let config = config(
        r#"
listen = "127.0.0.1:0"
public_hosts = ["tools.example.com"]
trusted_proxies = 1
lock_file = "other.lock"
[auth]
issuer = "https://id.example.com"
audience = "https://tools.example.com/mcp"
scopes = ["tools"]
[upstream.zeta]
url = "https://api.example.com/mcp"
headers = { X-Key = "${KEY}" }
credentials = { bearer = "${KEY}" }
tools = { allow = ["get_*"], deny = ["get_secret"] }
prefix = "z"
limit = { calls = 60, per = "1m", key = "upstream" }
pin = "block"
required = true
sampling = { calls = 5, per = "1h" }
strip_invisible = true
roots = true
secret_forms = true
timeout = "30s"
sessions = 100
idle_sessions = 0
idle_timeout = "1m"
[upstream.alpha]
command = ["server", "--key", "${KEY}"]
env = { API_KEY = "${KEY}" }
directory = "work"
children = 4
sharing = "shared"
flat = true
sampling = true
limit = [{ calls = 1, per = "1m", tools = ["write_*"] }, { calls = 9, per = "1m", key = "address" }]
[[rule]]
deny = { tool = "*", hint = "destructive" }
unless = { scope = "admin" }
[[rule]]
allow = { upstream = "zeta", principal = "a*", claim = { name = "team", value = "blue" }, argument = { path = "a.b", starts_with = "/x/" } }
[audit]
file = "audit.jsonl"
arguments = ["path"]
digest_key = "0123456789abcdef"
max_bytes = 4096
files = 2
on_full = "drop"
[limits]
calls_at_once = 10
result_bytes = 1000
call_timeout = "5m"
"#,
    );
    // The order of the file, not of the alphabet.
    let names: Vec<&str> = config
        .upstreams
        .iter()
        .map(|upstream| &*upstream.name)
        .collect();
    assert_eq!(names, ["zeta", "alpha"]);
    let zeta = &config.upstreams[0];
    assert_eq!(zeta.prefix.as_deref(), Some("z"));
    assert_eq!(zeta.pin, Some(PinMode::Block));
    assert!(zeta.is_required && zeta.may_sample && zeta.sees_roots && zeta.strips_invisible);
    assert!(zeta.may_use_secret_forms);
    assert_eq!(zeta.timeout, Some(Duration::from_secs(30)));
    assert_eq!((zeta.sessions, zeta.idle_sessions), (Some(100), Some(0)));
    assert_eq!(zeta.idle_timeout, Some(Duration::from_secs(60)));
    let sampling = zeta.sampling_limit.expect("sampling has a limit");
    assert_eq!(
        (sampling.calls, sampling.period),
        (5, Duration::from_secs(3600))
    );
    let limit = &zeta.limits[0];
    assert_eq!((limit.calls, limit.key), (60, LimitKey::Upstream));
    let of_alpha = &config.upstreams[1].limits;
    let patterns: Vec<usize> = of_alpha.iter().map(|limit| limit.tools.len()).collect();
    assert_eq!(patterns, [1, 0]);
    assert_eq!(of_alpha[1].key, LimitKey::Address);
    assert_eq!(config.trusted_proxies, 1);
    let alpha = &config.upstreams[1];
    assert_eq!(alpha.prefix, None);
    assert!(alpha.may_sample && alpha.sampling_limit.is_none());
    assert_eq!(alpha.children, Some(4));
    assert_eq!(alpha.sharing, toolwire::relay::Sharing::Shared);
    let UpstreamTransport::Command(command) = &alpha.transport else {
        panic!("{alpha:?}");
    };
    assert_eq!(command.arguments, ["--key", "s3cret"]);
    assert_eq!(command.environment["API_KEY"].expose(), "s3cret");
    assert_eq!(command.directory.as_deref(), Some(Path::new("dir/work")));
    assert_eq!(config.lock_file, Path::new("dir/other.lock"));
    let audit = config.audit.as_ref().expect("an audit log");
    assert_eq!(audit.file, Path::new("dir/audit.jsonl"));
    assert_eq!(audit.on_full, OnFull::Drop);
    assert!(audit.digest_key.is_some());
    assert_eq!(config.limits.calls_at_once, Some(10));
    assert!(config.policy.depends_on_caller());
}

#[test]
fn defaults_need_one_upstream() {
    let config = config("[upstream.a]\nurl = \"https://a.example\"");
    assert_eq!(config.listen, DEFAULT_LISTEN);
    assert_eq!(config.upstreams[0].prefix.as_deref(), Some("a"));
    assert_eq!(config.lock_file, Path::new("dir/toolwire.lock"));
    check_error("", None, "1 to 256 upstreams");
}

#[test]
fn secrets_are_not_printed() {
    let config = config(
        "[upstream.a]\nurl = \"https://u:${KEY}@a.example/${KEY}\"\nheaders = { X = \"${KEY}\" }\n\
         credentials = { bearer = \"${KEY}\" }\n\
         [upstream.b]\ncommand = [\"${KEY}\", \"${KEY}\"]\nenv = { K = \"${KEY}\" }\ndirectory = \"${KEY}\"\n\
         [upstream.c]\nurl = \"https://c.example\"\n\
         credentials = { client = { id = \"i\", secret = \"${KEY}\", issuer = \"https://id.example\" } }",
    );
    assert!(!format!("{config:?}").contains("s3cret"));
}

#[test]
fn client_secret_needs_the_issuer_that_gets_it() {
    for key in ["client", "exchange"] {
        let upstream = |client: &str| {
            let client = format!("credentials = {{ {key} = {{ {client} }} }}");
            format!("[upstream.a]\nurl = \"https://a.example\"\n{client}")
        };
        let missing = upstream("id = \"i\", secret = \"s\"");
        check_error(&missing, Some(3), "needs `id`, `secret` and `issuer`");
        let complete = upstream("id = \"i\", secret = \"s\", issuer = \"https://id.example\"");
        let config = config(&complete);
        let UpstreamTransport::Http(http) = &config.upstreams[0].transport else {
            panic!("{config:?}");
        };
        let issuer = match &http.credentials {
            Some(UpstreamCredentials::Client { issuer, .. }) if key == "client" => issuer,
            Some(UpstreamCredentials::Exchange { issuer, .. }) if key == "exchange" => issuer,
            _ => panic!("{http:?}"),
        };
        assert_eq!(issuer, "https://id.example");
    }
}

#[test]
fn exchange_may_have_an_identity_provider_of_its_own() {
    let exchange = |provider: &str| {
        let client = "id = \"i\", secret = \"${KEY}\", issuer = \"https://as.example\"";
        let exchange =
            format!("credentials = {{ exchange = {{ {client}, provider = {{ {provider} }} }} }}");
        format!("[upstream.a]\nurl = \"https://a.example\"\n{exchange}")
    };
    let missing = exchange("id = \"i\", secret = \"s\"");
    check_error(&missing, Some(3), "`credentials.exchange.provider` needs");
    let keys = "id = \"p\", secret = \"${KEY}\", issuer = \"https://id.example\"";
    let other = exchange(&format!("{keys}, token = \"refresh_token\""));
    check_error(&other, Some(3), "must be \"access_token\" or \"id_token\"");
    for (token, has_id_tokens) in [("", false), (", token = \"id_token\"", true)] {
        let config = config(&exchange(&format!("{keys}{token}")));
        assert!(!format!("{config:?}").contains("s3cret"));
        let UpstreamTransport::Http(http) = &config.upstreams[0].transport else {
            panic!("{config:?}");
        };
        let Some(UpstreamCredentials::Exchange { provider, .. }) = &http.credentials else {
            panic!("{http:?}");
        };
        let provider = provider.as_ref().expect("it is set");
        assert_eq!(provider.issuer, "https://id.example");
        assert_eq!(provider.has_id_tokens, has_id_tokens);
    }
}

#[test]
fn identity_provider_needs_its_users() {
    let auth = |lines: &str| format!("[auth]\n{lines}\n[upstream.a]\nurl = \"https://a.example\"");
    let provider =
        |keys: &str| format!("provider = {{ id = \"i\", secret = \"${{KEY}}\", {keys} }}");
    let audience = "audience = \"https://tools.example.com/mcp\"\n";
    let missing = provider("issuer = \"github\"");
    check_error(
        &auth(&format!("{audience}{missing}")),
        Some(3),
        "needs `issuer`, `id`, `secret` and `users`",
    );
    let complete = provider("issuer = \"github\", users = [\"ann\"]");
    check_error(&auth(&complete), Some(1), "needs `audience`");
    let read = |keys: &str| {
        let config = config(&auth(&format!("{audience}{}", provider(keys))));
        assert!(!format!("{config:?}").contains("s3cret"));
        match config.auth {
            Some(AuthConfig::Login { provider, .. }) => provider,
            other => panic!("{other:?}"),
        }
    };
    let github = read("issuer = \"github\", users = [\"ann\"]");
    assert_eq!(
        (github.user_claim.as_str(), github.secret.expose()),
        ("login", "s3cret")
    );
    let other = read("issuer = \"https://id.example.com\", users = [\"*@example.com\"]");
    assert_eq!(other.user_claim, "email");
    let chosen =
        read("issuer = \"google\", users = [\"*\"], user_claim = \"hd\", scopes = [\"profile\"]");
    assert_eq!((chosen.user_claim.as_str(), chosen.scopes.len()), ("hd", 1));
}

#[test]
fn logins_of_users_have_a_client_scopes_and_a_file() {
    let upstream = |login: &str| {
        format!("[upstream.a]\nurl = \"https://a.example\"\ncredentials = {{ login = {login} }}\n")
    };
    let read = |login: &str| {
        let config = config(&upstream(login));
        assert!(!format!("{config:?}").contains("s3cret"));
        match &config.upstreams[0].transport {
            UpstreamTransport::Http(http) => http.credentials.clone(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(read("true"), Some(UpstreamCredentials::Login));
    let registered = UpstreamCredentials::UserLogin {
        client: None,
        scopes: None,
    };
    assert_eq!(read("{}"), Some(registered));
    let client = "id = \"gw\", secret = \"s3cret\", issuer = \"https://id.example\"";
    match read(&format!("{{ {client}, scopes = [\"a\", \"b\"] }}")) {
        Some(UpstreamCredentials::UserLogin {
            client: Some(client),
            scopes,
        }) => {
            assert_eq!(client.id, "gw");
            assert_eq!(scopes.as_deref(), Some("a b"));
        }
        other => panic!("{other:?}"),
    }
    check_error(&upstream("false"), Some(3), "must be true, or a table");
    for keys in [
        "id = \"gw\"",
        "secret = \"s3cret\"",
        "issuer = \"https://id.example\"",
    ] {
        let text = upstream(&format!("{{ {keys} }}"));
        check_error(&text, Some(3), "needs `id` and `issuer` together");
    }
    let invalid = upstream("{ scopes = [\"a\\\"\"] }");
    check_error(&invalid, Some(3), "has a scope that is not valid");

    let with = |lines: &str| format!("{lines}\n{}", upstream("{}"));
    let key = "0f".repeat(32);
    let valid = config(&with(&format!(
        "public_url = \"http://127.0.0.1:8080\"\n[logins]\nfile = \"l\"\nkey = \"{key}\""
    )));
    assert_eq!(valid.public_url.as_deref(), Some("http://127.0.0.1:8080"));
    assert!(!format!("{valid:?}").contains(&key));
    let plain = with("public_url = \"http://tools.example.com\"");
    check_error(&plain, Some(1), "is not an https URL");
    check_error(
        &with("[logins]\nfile = \"l\""),
        Some(1),
        "needs `file` and `key`",
    );
    let short = with("[logins]\nfile = \"l\"\nkey = \"0f\"");
    check_error(&short, Some(3), "64 hexadecimal digits");
}

#[test]
fn unknown_keys_have_a_line_and_a_suggestion() {
    let upstream = "[upstream.a]\nurl = \"https://a.example\"\n";
    check_error(
        &format!("{upstream}tols = {{}}\n"),
        Some(3),
        "unknown key `tols` in `upstream.a`; did you mean `tools`?",
    );
    check_error(
        &format!("lisen = \"\"\n{upstream}"),
        Some(1),
        "did you mean `listen`?",
    );
    check_error(
        &format!("{upstream}tools = {{ alow = [] }}"),
        Some(3),
        "did you mean `allow`?",
    );
    check_error(
        &format!("{upstream}[[rule]]\ndeny = {{ tol = \"x\" }}"),
        Some(4),
        "did you mean `tool`?",
    );
    check_error(
        &format!("{upstream}[audit]\nfiel = \"x\""),
        Some(4),
        "unknown key `fiel` in `audit`; did you mean `file`?",
    );
    check_error(
        "[upstream.a]\ncomand = [\"x\"]",
        Some(2),
        "unknown key `comand` in `upstream.a`; did you mean `command`?",
    );
    check_error(
        &format!("{upstream}limit = {{ cals = 3, per = \"1m\" }}"),
        Some(3),
        "did you mean `calls`?",
    );
}

#[test]
fn mistakes_are_named() {
    let with = |lines: &str| format!("[upstream.a]\nurl = \"https://a.example\"\n{lines}");
    check_error("[upstream.a]\n", Some(1), "needs `url` or `command`");
    check_error(
        "[upstream.a]\nurl = 5",
        Some(2),
        "`upstream.a.url` must be a text",
    );
    check_error(
        "[upstream.a]\nurl = \"ftp://a\"",
        Some(2),
        "not a valid URL",
    );
    check_error("[upstream.a]\ncommand = []", Some(2), "is empty");
    check_error(
        "[upstream.\"a b\"]\nurl = \"https://a\"",
        Some(1),
        "letters, digits",
    );
    check_error(&with("command = [\"x\"]"), Some(3), "beside `url`");
    check_error(&with("env = { A = \"b\" }"), Some(3), "with `command`");
    check_error(
        "[upstream.a]\ncommand = [\"x\"]\nheaders = { A = \"b\" }",
        Some(3),
        "with `url`",
    );
    check_error(
        &with("headers = { \"a b\" = \"c\" }"),
        Some(3),
        "HTTP header",
    );
    check_error(&with("headers = { a = \"c\\nd\" }"), Some(3), "HTTP header");
    check_error(
        &with("credentials = { bearer = \"${NOPE}\" }"),
        Some(3),
        "NOPE, which is not set",
    );
    check_error(
        &with("credentials = { bearer = \"a b\" }"),
        Some(3),
        "bearer token",
    );
    check_error(&with("credentials = { }"), Some(3), "exactly one of");
    check_error(
        &with("credentials = { bearer_file = \"none\" }"),
        Some(3),
        "cannot be read",
    );
    check_error(
        &with("limit = { calls = 0, per = \"1m\" }"),
        Some(3),
        "from 1 to 1000000",
    );
    check_error(
        &with("limit = { calls = 1, per = \"soon\" }"),
        Some(3),
        "a duration",
    );
    check_error(
        &with("limit = { calls = 1 }"),
        Some(3),
        "needs `calls` and `per`",
    );
    check_error(
        &with("sampling = { calls = 1 }"),
        Some(3),
        "`sampling` needs `calls` and `per`",
    );
    check_error(&with("sampling = 1"), Some(3), "true or false");
    check_error(&with("sessions = 0"), Some(3), "from 1 to");
    check_error(
        &with("pin = \"maybe\""),
        Some(3),
        "one of \"ask\", \"block\", \"warn\"",
    );
    check_error(&with("children = 2"), Some(3), "with `command`");
    check_error(&with("sharing = \"all\""), Some(3), "\"shared\"");
    check_error(
        "trusted_proxies = 17\n[upstream.a]\nurl = \"https://a.example\"",
        Some(1),
        "from 0 to 16",
    );
    check_error(&with("required = 1"), Some(3), "true or false");
    check_error(&with("tools = { allow = [\"\"] }"), Some(3), "is invalid");
    check_error(
        &with("[[rule]]\nunless = {}"),
        Some(3),
        "exactly one of `allow` and `deny`",
    );
    check_error(
        &with("[[rule]]\ndeny = { hint = \"x\" }"),
        Some(4),
        "one of \"read-only\"",
    );
    check_error(
        &with("[auth]\nissuer = \"x\""),
        Some(3),
        "`issuer` and `audience`",
    );
    check_error(
        &with("[audit]\nfile = \"a\"\ndigest_key = \"0123456789abcde\""),
        Some(5),
        "less than 16 bytes",
    );
    check_error(&with("[limits]\ncalls_at_once = 0"), Some(4), "from 1 to");
    check_error("[upstream.a]\nurl = \n", Some(2), "");
}

#[test]
fn sizes_are_limited() {
    let tools = |count: usize| {
        let names = vec!["\"a\""; count].join(",");
        format!("[upstream.a]\nurl = \"https://a\"\ntools = {{ allow = [{names}] }}")
    };
    assert!(parse(&tools(MAX_LIST)).is_ok());
    check_error(&tools(MAX_LIST + 1), Some(3), "more than 256");
    let limits = |count: usize| {
        let limits = vec!["{ calls = 1, per = \"1m\" }"; count].join(",");
        format!("[upstream.a]\nurl = \"https://a\"\nlimit = [{limits}]")
    };
    assert!(parse(&limits(16)).is_ok());
    check_error(&limits(17), Some(3), "more than 16");
    let upstreams = |count: usize| {
        let tables = (0..count).map(|n| format!("[upstream.u{n}]\nurl = \"https://a\"\n"));
        tables.collect::<String>()
    };
    assert!(parse(&upstreams(MAX_UPSTREAMS)).is_ok());
    check_error(&upstreams(MAX_UPSTREAMS + 1), None, "and not 257");
}

#[test]
fn large_files_are_not_read() {
    let path = std::env::temp_dir().join(format!("toolwire-gateway-{}.toml", std::process::id()));
    let comment = "#".repeat(usize::try_from(MAX_FILE_BYTES).unwrap());
    std::fs::write(&path, comment + "#").unwrap();
    let error = GatewayConfig::load(&path).unwrap_err();
    std::fs::remove_file(&path).unwrap();
    assert!(
        error.to_string().contains("more than 1048576 bytes"),
        "{error}"
    );
}

/// Returns the TOML of a page.
fn toml_of(page: &str) -> &str {
    let (_, after) = page.split_once("```toml\n").expect("a block");
    after.split_once("```").expect("the end of the block").0
}

#[test]
fn configurations_of_the_documentation_are_valid() {
    let environment = |_: &str| Some("0123456789abcdef".to_owned());
    let texts = [
        (toml_of(include_str!("../guide/gateway.md")), 2),
        (toml_of(include_str!("../guide/moving.md")), 2),
        (include_str!("../../../../examples/gateway/gateway.toml"), 2),
        (include_str!("../../../../deploy/gateway.toml"), 1),
        (include_str!("../../../../deploy/systemd-gateway.toml"), 1),
    ];
    for (text, upstreams) in texts {
        let parsed = GatewayConfig::parse("gateway.toml", text, &environment);
        let config = parsed.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(config.upstreams.len(), upstreams, "{text}");
    }
}
