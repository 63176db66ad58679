use proptest::prelude::*;

use super::*;

const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const RESOURCE: &str = "https://mcp.example.com/mcp";

fn parameters(text: &str) -> Parameters {
    Parameters::read(text).unwrap()
}

fn read_params(text: &str) -> Result<AuthorizationParams, AuthorizationParamsError> {
    let resource = ResourceIndicator::parse(RESOURCE).unwrap();
    let scopes = ScopeSet::parse("read write").unwrap();
    let default_scopes = ScopeSet::parse("read").unwrap();
    let policy = ServerPolicy {
        resource: &resource,
        scopes: &scopes,
        default_scopes: &default_scopes,
    };
    AuthorizationParams::read(&parameters(text), &policy)
}

fn with(rest: &str) -> String {
    format!("response_type=code&code_challenge={CHALLENGE}&code_challenge_method=S256{rest}")
}

#[test]
fn client_id_and_redirect_uri_are_required() {
    let check = |text: &str, expected: AuthorizationClientError| {
        assert_eq!(
            AuthorizationClient::read(&parameters(text)),
            Err(expected),
            "{text}"
        );
    };
    check(
        "redirect_uri=r",
        AuthorizationClientError::Missing("client_id"),
    );
    check(
        "client_id=c",
        AuthorizationClientError::Missing("redirect_uri"),
    );
    check(
        "client_id=c&redirect_uri=",
        AuthorizationClientError::Missing("redirect_uri"),
    );
    let duplicate = |name| AuthorizationClientError::Parameters(ParametersError::Duplicate(name));
    check("client_id=c&client_id=d", duplicate("client_id"));
    check(
        "client_id=c&redirect_uri=r&redirect_uri=s",
        duplicate("redirect_uri"),
    );
}

#[test]
fn length_of_ids_and_uris_is_limited() {
    let read = |id: usize, uri: usize| {
        let text = format!(
            "client_id={}&redirect_uri={}",
            "c".repeat(id),
            "r".repeat(uri)
        );
        AuthorizationClient::read(&parameters(&text)).map(|_| ())
    };
    assert_eq!(read(LONGEST_CLIENT_ID, LONGEST_REDIRECT_URI), Ok(()));
    let (id, uri) = (LONGEST_CLIENT_ID + 1, LONGEST_REDIRECT_URI + 1);
    assert_eq!(
        read(id, 1),
        Err(AuthorizationClientError::TooLong("client_id"))
    );
    assert_eq!(
        read(1, uri),
        Err(AuthorizationClientError::TooLong("redirect_uri"))
    );
}

#[test]
fn redirect_uri_must_be_registered() {
    let registered = ["http://127.0.0.1/cb".to_owned(), "https://a/cb".to_owned()];
    let check = |uri: &str, expected: Option<&str>| {
        let text = format!("client_id=c&redirect_uri={uri}");
        let parameters = parameters(&text);
        let sender = AuthorizationClient::read(&parameters).unwrap();
        assert_eq!(sender.check_redirect(&registered).ok(), expected, "{uri}");
    };
    check("https://a/cb", Some("https://a/cb"));
    check("http://127.0.0.1:51004/cb", Some("http://127.0.0.1/cb"));
    check("https://a/cb/", None);
    check("https://a.evil.test/cb", None);
    check("javascript:alert(1)", None);
}

#[test]
fn complete_request_is_parsed() {
    let read = read_params(&with(
        "&scope=write+other&resource=https://mcp.example.com/mcp",
    ))
    .unwrap();
    assert_eq!(read.code_challenge, CHALLENGE);
    assert_eq!(read.scopes.to_string(), "write");
    assert_eq!(read_params(&with("")).unwrap().scopes.to_string(), "read");
}

#[test]
fn invalid_requests_are_rejected_with_their_code() {
    #[track_caller]
    fn check(text: &str, expected: AuthorizationParamsError, code: &str) {
        let error = read_params(text).unwrap_err();
        assert_eq!(error, expected, "{text}");
        assert_eq!(error.code(), code);
    }
    use AuthorizationParamsError::{NoPkce, OtherResource, ResponseMode, ResponseType, Scope};
    let pkce = format!("code_challenge={CHALLENGE}&code_challenge_method=S256");
    check(&pkce, ResponseType, "unsupported_response_type");
    check(
        &format!("response_type=token&{pkce}"),
        ResponseType,
        "unsupported_response_type",
    );
    check(
        &with("&response_mode=form_post"),
        ResponseMode,
        "invalid_request",
    );
    for pkce in [
        String::new(),
        format!("code_challenge={CHALLENGE}"),
        format!("code_challenge={CHALLENGE}&code_challenge_method=plain"),
        format!("code_challenge={CHALLENGE}&code_challenge_method=s256"),
        format!("code_challenge={CHALLENGE}a&code_challenge_method=S256"),
        format!(
            "code_challenge={}&code_challenge_method=S256",
            "%2B".repeat(43)
        ),
        "code_challenge_method=S256".to_owned(),
    ] {
        check(
            &format!("response_type=code&{pkce}"),
            NoPkce,
            "invalid_request",
        );
    }
    let other = with("&resource=https://mcp.example.com/mcp&resource=https://evil.test");
    check(&other, OtherResource, "invalid_target");
    check(&with("&scope=admin"), Scope, "invalid_scope");
    check(&with("&scope=%22"), Scope, "invalid_scope");
    let duplicate = read_params(&with("&x=1&x=2")).unwrap_err();
    assert_eq!(duplicate.code(), "invalid_request");
}

#[test]
fn server_without_scopes_ignores_requested_scopes() {
    let resource = ResourceIndicator::parse(RESOURCE).unwrap();
    let none = ScopeSet::new();
    let policy = ServerPolicy {
        resource: &resource,
        scopes: &none,
        default_scopes: &none,
    };
    let read = AuthorizationParams::read(&parameters(&with("&scope=a+b")), &policy).unwrap();
    assert!(read.scopes.is_empty());
}

#[test]
fn length_of_state_is_limited() {
    let of = |length: usize| with(&format!("&state={}", "s".repeat(length)));
    assert!(read_params(&of(LONGEST_STATE)).is_ok());
    let longer = of(LONGEST_STATE + 1);
    assert_eq!(read_params(&longer), Err(AuthorizationParamsError::State));
    assert_eq!(state(&parameters(&longer)), None);
    assert_eq!(state(&parameters("state=a%20~")), Some("a ~"));
    for foreign in ["a%0D%0Ab", "%00", "%C3%BC", "%7F"] {
        let text = with(&format!("&state={foreign}"));
        assert_eq!(
            read_params(&text),
            Err(AuthorizationParamsError::State),
            "{foreign}"
        );
        assert_eq!(state(&parameters(&text)), None);
    }
    assert_eq!(state(&parameters("state=a&state=b")), None);
}

proptest! {
    #[test]
    fn pkce_is_required(
        text in "((response_type=code|code_challenge_method=(S256|plain)|code_challenge=[a-zA-Z0-9]{40,45}|x=y)&){0,5}"
    ) {
        if read_params(&text).is_ok() {
            prop_assert!(text.contains("code_challenge_method=S256"));
        }
    }
}
