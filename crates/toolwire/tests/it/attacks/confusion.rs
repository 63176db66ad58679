//! Tokens that are not good for this server: of another audience, forged, in the wrong place. One answer for all of them.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use serde_json::{Value, json};
use toolwire_auth::documents::Jwk;

use super::house::House;
use super::routers::ROUTERS;
use crate::auth::guarded::{RESOURCE, invalid_token, with_token};
use crate::auth::issuer::Issuer;

/// Sends a token to every entrance that wants one.
async fn refused_everywhere(house: &House, token: &str, what: &str) {
    for entrance in house.entrances().filter(|one| one.needs_token) {
        let what = format!("{}: {}: {what}", house.router.name, entrance.name);
        let request = with_token((entrance.request)(&house.ann), token);
        let reply = house.ask(&request).await;
        assert_eq!(reply.status, 401, "{what}: {}", reply.text);
        let challenge = reply.header("www-authenticate");
        assert_eq!(challenge, Some(&*invalid_token()), "{what}");
        assert_eq!(reply.header("mcp-session-id"), None, "{what}");
    }
    assert_eq!(house.runs(), 0, "{what}");
}

#[tokio::test]
async fn a_token_for_somebody_else_is_good_nowhere() {
    for router in ROUTERS {
        let house = House::open(router).await;
        for audience in [
            json!("https://other.example.com/mcp"),
            json!("https://mcp.example.com"),
            json!("https://mcp.example.com/mcp/"),
            json!("https://mcp.example.com/mcp/other"),
            json!("https://mcp.example.com.evil.test/mcp"),
            json!("http://mcp.example.com/mcp"),
            json!("https://mcp.example.com/mcp?x"),
            json!([]),
            json!([""]),
            json!(null),
            json!({"0": RESOURCE}),
        ] {
            let mut claims = House::claims("ann");
            claims["aud"] = audience.clone();
            let token = house.issuer.token(&claims);
            refused_everywhere(&house, &token, &audience.to_string()).await;
        }
        let mut claims = House::claims("ann");
        claims.as_object_mut().unwrap().remove("aud");
        let token = house.issuer.token(&claims);
        refused_everywhere(&house, &token, "no audience").await;
    }
}

fn encode(part: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(part)
}

/// A token signed with a password that everybody knows.
fn with_hmac(header: &Value, claims: &Value, password: &[u8]) -> String {
    let signed = format!(
        "{}.{}",
        encode(header.to_string()),
        encode(claims.to_string())
    );
    let key = hmac::Key::new(hmac::HMAC_SHA256, password);
    let tag = hmac::sign(&key, signed.as_bytes());
    format!("{signed}.{}", encode(tag))
}

/// What libraries have been talked into.
fn forgeries(issuer: &Issuer, claims: &Value) -> Vec<(&'static str, String)> {
    let good = issuer.token(claims);
    let (signed, signature) = good.rsplit_once('.').unwrap();
    let (header, payload) = signed.split_once('.').unwrap();
    let other = Issuer::new();
    let public = issuer.public();
    let point = |part: &Option<String>| {
        let part = part.as_deref().unwrap_or_default();
        URL_SAFE_NO_PAD.decode(part).unwrap()
    };
    let raw_point = [vec![4], point(&public.x), point(&public.y)].concat();
    let jwk = serde_json::to_string(&public).unwrap();
    let bare = |header: Value| format!("{}.{payload}.", encode(header.to_string()));
    let hmac_header = json!({"alg": "HS256", "kid": "one"});
    let by_owner = |header: Value| issuer.sign(&header, claims);
    let by_other = |header: Value| other.sign(&header, claims);
    let mut admin = claims.clone();
    admin["sub"] = json!("root");
    vec![
        ("no algorithm", bare(json!({"alg": "none"}))),
        ("no algorithm, shouted", bare(json!({"alg": "nOnE"}))),
        ("no algorithm, empty", bare(json!({"alg": ""}))),
        ("no signature", format!("{signed}.")),
        ("two parts", signed.to_owned()),
        ("four parts", format!("{good}.{signature}")),
        ("five parts", format!("{header}.{payload}.{signature}.a.b")),
        (
            "other claims",
            format!("{header}.{}.{signature}", encode(admin.to_string())),
        ),
        (
            "zeros as a signature",
            format!("{signed}.{}", encode([0; 64])),
        ),
        ("padding", format!("{good}=")),
        ("other alphabet", format!("{signed}.{}", "+/".repeat(43))),
        (
            "the public key as a password",
            with_hmac(&hmac_header, claims, &raw_point),
        ),
        (
            "the public key as a password, as JSON",
            with_hmac(&hmac_header, claims, jwk.as_bytes()),
        ),
        ("an empty password", with_hmac(&hmac_header, claims, b"")),
        (
            "the password among the keys",
            with_hmac(
                &json!({"alg": "HS256", "kid": "symmetric"}),
                claims,
                b"password",
            ),
        ),
        (
            "RSA for a curve",
            by_owner(json!({"alg": "RS256", "kid": "one"})),
        ),
        (
            "another curve",
            by_owner(json!({"alg": "ES384", "kid": "one"})),
        ),
        (
            "EdDSA for a curve",
            by_owner(json!({"alg": "EdDSA", "kid": "one"})),
        ),
        (
            "small letters",
            by_owner(json!({"alg": "es256", "kid": "one"})),
        ),
        (
            "an algorithm of many",
            by_owner(json!({"alg": ["ES256", "none"], "kid": "one"})),
        ),
        (
            "an unknown key",
            by_owner(json!({"alg": "ES256", "kid": "two"})),
        ),
        (
            "a path",
            by_owner(json!({"alg": "ES256", "kid": "../../dev/null"})),
        ),
        (
            "a question to a database",
            by_owner(json!({"alg": "ES256", "kid": "one' OR '1'='1"})),
        ),
        (
            "a key for encryption",
            by_owner(json!({"alg": "ES256", "kid": "encrypting"})),
        ),
        (
            "somebody else's key",
            by_other(json!({"alg": "ES256", "kid": "one"})),
        ),
        ("any key", by_other(json!({"alg": "ES256"}))),
        (
            "a key that it brings along",
            by_other(json!({"alg": "ES256", "jwk": other.public()})),
        ),
        (
            "a place of keys that it names",
            by_other(
                json!({"alg": "ES256", "kid": "one", "jku": "https://evil.test/keys", "x5u": "https://evil.test/"}),
            ),
        ),
        (
            "something critical",
            by_owner(json!({"alg": "ES256", "kid": "one", "crit": ["b64"], "b64": false})),
        ),
        (
            "something critical, empty",
            by_owner(json!({"alg": "ES256", "kid": "one", "crit": []})),
        ),
        (
            "a proof",
            by_owner(json!({"alg": "ES256", "kid": "one", "typ": "dpop+jwt"})),
        ),
        (
            "an identity",
            by_owner(json!({"alg": "ES256", "kid": "one", "typ": "id_token+jwt"})),
        ),
        (
            "no object",
            format!("{}.{payload}.{signature}", encode("[]")),
        ),
        ("nothing", "..".to_owned()),
    ]
}

#[tokio::test]
async fn nobody_talks_the_server_into_a_forged_token() {
    for router in ROUTERS {
        let issuer = Issuer::new();
        let mut keys = issuer.keys();
        let symmetric: Jwk = serde_json::from_value(
            json!({"kty": "oct", "kid": "symmetric", "k": encode("password"), "alg": "HS256"}),
        )
        .unwrap();
        let mut encrypting = issuer.public().with_kid("encrypting");
        encrypting.use_ = Some("enc".to_owned());
        keys.keys.extend([symmetric, encrypting]);
        let house = House::open_with(router, issuer, keys).await;
        for (what, token) in forgeries(&house.issuer, &House::claims("ann")) {
            refused_everywhere(&house, &token, what).await;
        }
    }
}

#[tokio::test]
async fn members_that_come_twice_are_not_read_for_their_best() {
    let house = House::open(&ROUTERS[0]).await;
    let good = House::claims("ann").to_string();
    let twice = format!("{},\"sub\":\"root\"}}", good.strip_suffix('}').unwrap());
    let token = house
        .issuer
        .sign_text(r#"{"alg":"ES256","kid":"one"}"#, &twice);
    refused_everywhere(&house, &token, "two subjects").await;
    let token = house
        .issuer
        .sign_text(r#"{"alg":"none","alg":"ES256","kid":"one"}"#, &good);
    refused_everywhere(&house, &token, "two algorithms").await;
}

#[tokio::test]
async fn a_token_in_the_query_is_not_even_looked_at() {
    for router in ROUTERS {
        let house = House::open(router).await;
        let token = house.token("ann");
        for entrance in house.entrances().filter(|one| one.needs_token) {
            let request = (entrance.request)(&house.ann);
            let target = request.target().to_owned();
            let separator = if target.contains('?') { '&' } else { '?' };
            for query in [
                format!("access_token={token}"),
                format!("a=b&access_token={token}"),
                format!("%61ccess_token={token}"),
            ] {
                let target = format!("{target}{separator}{query}");
                let in_query = request.clone().with_target(target);
                for request in [in_query.clone(), house.by("ann", in_query)] {
                    let what = format!("{}: {}: {query}", router.name, entrance.name);
                    let reply = house.ask(&request).await;
                    assert_eq!(reply.status, 400, "{what}: {}", reply.text);
                    assert!(!reply.text.contains(&token), "{what}");
                }
            }
        }
        assert_eq!(house.runs(), 0, "{}", router.name);
    }
}

#[tokio::test]
async fn two_authorizations_are_none() {
    for router in ROUTERS {
        let house = House::open(router).await;
        for entrance in house.entrances().filter(|one| one.needs_token) {
            let request = house.by("ann", (entrance.request)(&house.ann));
            for second in ["Bearer other", "Basic YTpi", ""] {
                let reply = house
                    .ask(&request.clone().with("Authorization", second))
                    .await;
                let what = format!("{}: {}", router.name, entrance.name);
                assert_eq!(reply.status, 400, "{what}: {}", reply.text);
            }
        }
        assert_eq!(house.runs(), 0, "{}", router.name);
    }
}
