mod properties;

use serde_json::{Value, json};

use super::test_keys::TestKey;
use super::*;

fn claims() -> Value {
    json!({"iss": "https://auth.example.com", "sub": "ann"})
}

fn verified(token: &str, algorithm: SigningAlgorithm, key: &Jwk) -> Option<Value> {
    Jws::parse(token)?.verify(algorithm, key)
}

#[test]
fn each_algorithm_verifies_only_its_own_signatures() {
    for algorithm in SigningAlgorithm::ALL {
        let key = TestKey::new(algorithm);
        let public = key.public();
        let token = key.token(&json!({"alg": algorithm.as_str()}), &claims());
        assert_eq!(
            verified(&token, algorithm, &public),
            Some(claims()),
            "{algorithm:?}"
        );
        let other_claims = json!({"iss": "https://auth.example.com", "sub": "bob"});
        let other = key.token(&json!({"alg": algorithm.as_str()}), &other_claims);
        let (body, _) = token.rsplit_once('.').unwrap();
        let (_, signature) = other.rsplit_once('.').unwrap();
        let shorter = token.get(..token.len() - 8).unwrap();
        for bad in [
            format!("{body}.{signature}"),
            format!("{body}."),
            shorter.to_owned(),
        ] {
            assert_eq!(
                verified(&bad, algorithm, &public),
                None,
                "{algorithm:?}: {bad}"
            );
        }
        for another in SigningAlgorithm::ALL {
            if another != algorithm {
                assert_eq!(
                    verified(&token, another, &public),
                    None,
                    "{algorithm:?} {another:?}"
                );
            }
        }
    }
}

#[test]
fn signature_of_another_key_is_rejected() {
    use SigningAlgorithm::{EdDsa, Es256, Es384, Es512};

    for algorithm in [Es256, Es384, Es512, EdDsa] {
        let token = TestKey::new(algorithm).token(&json!({"alg": "x"}), &claims());
        let other = TestKey::new(algorithm).public();
        assert_eq!(verified(&token, algorithm, &other), None, "{algorithm:?}");
    }
}

/// RFC 7515, appendix A.3.
#[test]
fn rfc_7515_example_verifies() {
    let key = Jwk::ec(
        "P-256",
        "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    );
    let token = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.\
        DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
    let claims = verified(token, SigningAlgorithm::Es256, &key).unwrap();
    assert_eq!(claims["iss"], "joe");
}

/// RFC 8037, appendix A.4.
#[test]
fn rfc_8037_example_verifies() {
    let key = Jwk::okp("Ed25519", "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo");
    let signed = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
    let signature = member(Some(
        "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
    ));
    let is_signed = is_signed_with(
        SigningAlgorithm::EdDsa,
        &key,
        signed.as_bytes(),
        &signature.unwrap(),
    );
    assert_eq!(is_signed, Some(true));
}

#[test]
fn malformed_token_is_not_parsed() {
    let header = URL_SAFE_NO_PAD.encode(r#"{"alg":"ES256"}"#);
    let deep = URL_SAFE_NO_PAD.encode("[".repeat(100_000));
    for text in [
        "",
        ".",
        "..",
        "opaque",
        &format!("{header}.e30"),
        &format!("{header}.e30.AA.AA"),
        &format!("{header}.e30.A!"),
        &format!("{header}.e30=.AA"),
        &format!("{header}.e30.AA "),
        &format!("{deep}.e30.AA"),
        "e30.e30.AA",
        "W10.e30.AA",
    ] {
        assert!(Jws::parse(text).is_none(), "{text:.40}");
    }
}

#[test]
fn invalid_keys_verify_nothing() {
    let key = TestKey::new(SigningAlgorithm::Es256);
    let token = key.token(&json!({"alg": "ES256"}), &claims());
    let good = key.public();
    let short = Jwk::ec("P-256", "AA", "AA");
    let mut without_y = good.clone();
    without_y.y = None;
    let x = good.x.unwrap();
    let off_curve = Jwk::ec("P-256", x.clone(), x);
    for bad in [short, without_y, off_curve] {
        assert_eq!(
            verified(&token, SigningAlgorithm::Es256, &bad),
            None,
            "{bad:?}"
        );
    }
}

#[test]
fn key_numbers_may_have_leading_zeros() {
    let key = TestKey::new(SigningAlgorithm::Rs256);
    let token = key.token(&json!({"alg": "RS256"}), &claims());
    let mut padded = key.public();
    let number = member(padded.n.as_deref()).unwrap();
    padded.n = Some(URL_SAFE_NO_PAD.encode([&[0][..], &number].concat()));
    assert!(verified(&token, SigningAlgorithm::Rs256, &padded).is_some());
}
