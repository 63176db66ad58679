use proptest::prelude::*;
use serde_json::json;

use super::*;

const PUBLIC: ClientAuthentication<'_> = ClientAuthentication::Public { client_id: "app" };

#[track_caller]
fn check(request: &TokenRequest, expected: &[(&str, &str)]) {
    let parameters: Vec<_> = request.parameters().collect();
    assert_eq!(parameters, expected);
    let body = form::decode(request.body().expose()).unwrap();
    let body: Vec<_> = body
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    assert_eq!(body, expected);
}

#[test]
fn code_request_has_verifier_and_resource() {
    let (code, verifier) = (Secret::new("c+1"), Verifier::from_random([9; 32]));
    let grant = Grant::AuthorizationCode {
        code: &code,
        redirect_uri: "http://127.0.0.1:3000/cb",
        verifier: &verifier,
    };
    let resource = ResourceIndicator::parse("https://MCP.example.com/").unwrap();
    check(
        &TokenRequest::new(grant, PUBLIC).with_resource(&resource),
        &[
            ("grant_type", "authorization_code"),
            ("code", "c+1"),
            ("redirect_uri", "http://127.0.0.1:3000/cb"),
            ("code_verifier", verifier.as_secret().expose()),
            ("client_id", "app"),
            ("resource", "https://MCP.example.com/"),
        ],
    );
}

#[test]
fn refresh_and_client_credentials_requests_have_scopes() {
    let token = Secret::new("r");
    let scopes = ScopeSet::parse("a b").unwrap();
    let resource = ResourceIndicator::parse("https://a").unwrap();
    check(
        &TokenRequest::new(Grant::RefreshToken(&token), PUBLIC)
            .with_resource(&resource)
            .with_scopes(&scopes),
        &[
            ("grant_type", "refresh_token"),
            ("refresh_token", "r"),
            ("client_id", "app"),
            ("resource", "https://a"),
            ("scope", "a b"),
        ],
    );
    let secret = Secret::new("s");
    let client = ClientAuthentication::Post {
        client_id: "app",
        client_secret: &secret,
    };
    check(
        &TokenRequest::new(Grant::ClientCredentials, client).with_scopes(&ScopeSet::new()),
        &[
            ("grant_type", "client_credentials"),
            ("client_id", "app"),
            ("client_secret", "s"),
        ],
    );
}

#[test]
fn assertion_identifies_the_client() {
    let assertion = Secret::new("e30.e30.sig");
    let client = ClientAuthentication::Assertion(&assertion);
    let request = TokenRequest::new(Grant::ClientCredentials, client);
    check(
        &request,
        &[
            ("grant_type", "client_credentials"),
            (
                "client_assertion_type",
                "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
            ),
            ("client_assertion", "e30.e30.sig"),
        ],
    );
    assert_eq!(request.authorization(), None);
}

#[test]
fn access_tokens_are_exchanged_for_a_resource() {
    let token = Secret::new("caller");
    let resource = ResourceIndicator::parse("https://mcp.example.com/mcp").unwrap();
    let access_token = "urn:ietf:params:oauth:token-type:access_token";
    check(
        &TokenRequest::new(Grant::ExchangeAccessToken(&token), PUBLIC).with_resource(&resource),
        &[
            (
                "grant_type",
                "urn:ietf:params:oauth:grant-type:token-exchange",
            ),
            ("requested_token_type", access_token),
            ("subject_token", "caller"),
            ("subject_token_type", access_token),
            ("client_id", "app"),
            ("resource", "https://mcp.example.com/mcp"),
        ],
    );
}

#[test]
fn identity_assertions_are_exchanged_and_redeemed() {
    let (id_token, secret) = (Secret::new("id"), Secret::new("s"));
    let resource = ResourceIndicator::parse("https://mcp.example.com/mcp").unwrap();
    let exchange = Grant::ExchangeForAssertion {
        subject_token: &id_token,
        subject_token_type: SubjectTokenType::Id,
        audience: "https://auth.example.com",
    };
    check(
        &TokenRequest::new(exchange, PUBLIC).with_resource(&resource),
        &[
            (
                "grant_type",
                "urn:ietf:params:oauth:grant-type:token-exchange",
            ),
            (
                "requested_token_type",
                "urn:ietf:params:oauth:token-type:id-jag",
            ),
            ("audience", "https://auth.example.com"),
            ("subject_token", "id"),
            (
                "subject_token_type",
                "urn:ietf:params:oauth:token-type:id_token",
            ),
            ("client_id", "app"),
            ("resource", "https://mcp.example.com/mcp"),
        ],
    );
    let assertion = Secret::new("jag");
    let client = ClientAuthentication::Basic {
        client_id: "app",
        client_secret: &secret,
    };
    let request = TokenRequest::new(Grant::JwtBearer(&assertion), client);
    check(
        &request,
        &[
            ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"),
            ("assertion", "jag"),
        ],
    );
    assert!(request.authorization().is_some());
}

#[test]
fn client_secrets_are_encoded_before_they_are_joined() {
    #[track_caller]
    fn check(client_id: &str, client_secret: &str, expected: &str) {
        let client_secret = Secret::new(client_secret);
        let client = ClientAuthentication::Basic {
            client_id,
            client_secret: &client_secret,
        };
        let request = TokenRequest::new(Grant::ClientCredentials, client);
        let header = request.authorization().unwrap().expose();
        assert_eq!(header, format!("Basic {expected}"));
        assert_eq!(request.parameters().count(), 1, "the body has no secret");
    }
    // RFC 6749, section 2.3.1.
    check(
        "s6BhdRkqt3",
        "7Fjfp0ZBr1KtDRbnfVdmIw",
        "czZCaGRSa3F0Mzo3RmpmcDBaQnIxS3REUmJuZlZkbUl3",
    );
    // a%3Ab:c%2Fd%20%25%2B
    check("a:b", "c/d %+", "YSUzQWI6YyUyRmQlMjAlMjUlMkI=");
}

#[test]
fn assertion_has_one_audience_and_expires() {
    let claims = ClientAssertionClaims::new("app", "https://auth.example.com", 1_000, [0; 16]);
    assert_eq!(
        serde_json::to_value(claims).unwrap(),
        json!({
            "iss": "app", "sub": "app", "aud": "https://auth.example.com", "jti": "AAAAAAAAAAAAAAAAAAAAAA",
            "iat": 1000, "exp": 1300,
        })
    );
}

#[test]
fn debug_output_contains_no_values() {
    let secret = Secret::new("hidden");
    let client = ClientAuthentication::Post {
        client_id: "app",
        client_secret: &secret,
    };
    let grant = Grant::RefreshToken(&secret);
    let printed = format!(
        "{:?} {grant:?} {client:?}",
        TokenRequest::new(grant, client)
    );
    assert!(!printed.contains("hidden"), "{printed}");
    assert!(printed.contains("client_secret"), "{printed}");
}

proptest! {
    #[test]
    fn basic_credentials_round_trip(id in any::<String>(), password in any::<String>()) {
        use base64::Engine as _;

        let client_secret = Secret::new(password.clone());
        let client = ClientAuthentication::Basic { client_id: &id, client_secret: &client_secret };
        let request = TokenRequest::new(Grant::ClientCredentials, client);
        let header = request.authorization().unwrap().expose().to_owned();
        let encoded = header.strip_prefix("Basic ").unwrap();
        let pair = base64::engine::general_purpose::STANDARD.decode(encoded).unwrap();
        let pair = String::from_utf8(pair).unwrap();
        let (first, second) = pair.split_once(':').unwrap();
        let decoded = form::decode(&format!("x{first}=x{second}")).unwrap();
        prop_assert_eq!(decoded, [(format!("x{id}"), format!("x{password}"))]);
    }
}

#[test]
fn revocation_request_has_the_token_type_hint() {
    let token = Secret::new("t");
    let client = ClientAuthentication::Public { client_id: "c" };
    let refresh = TokenRequest::revocation(RevokedToken::Refresh(&token), client);
    assert_eq!(
        refresh.body().expose(),
        "token=t&token_type_hint=refresh_token&client_id=c"
    );
    let access = TokenRequest::revocation(RevokedToken::Access(&token), client);
    assert_eq!(
        access.body().expose(),
        "token=t&token_type_hint=access_token&client_id=c"
    );
}
