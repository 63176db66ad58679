use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey,
    VerificationAlgorithm,
};
use serde_json::{Value, json};

use super::*;

// Keys that were made for these tests.
const EC: &str = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgmFr4Ia3km7AV846uPwNkFoqNpgaM2HCxHWzkjN4jSWOhRANCAASg\
     HVBwftsex54DI0uKBHf8TuJFo25BqCydZSfjR0KHbFU5B53Y45oMct7kj/bxjlBCQVzLFmFT1evG7ym30lYJ";
const ED: &str = "MC4CAQAwBQYDK2VwBCIEIMvDIb3NZS7NsI7maD9uXH6+F5dqfBhEA2ICpOtDjIvb";
const RSA: &str = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDkWEenWRzVKNMs26d1hj7unJnV6DczbKghNlLKssQ51UWu7aL7\
     pHkUAu1btdH7bCao80MrRK5jguywB7nr8JOL2bcdBOlDq4WP8MNzUZdWpKuyhfrZUP30PSBjg5lwwo7EUtv4SGNpqFzrbiEVsE/P\
     yZiLU+1u1qkzuebwOfzAFo9thGoQXZvhE731d0Do+5aKut9AIHyjl3P2I/Yjd384kI9IRbh/zpB3lh9l8W4enJ/81QBaOZudVAGe\
     bgrFOLv+HjPrbS9kjOo8bro7fiUSWick/AMIBjUowOcLBvpy26zFrSZIlMxPyRgyP8cre/G4Ruc2J+tbIxQ+FbFXmcSrAgMBAAEC\
     ggEAOsAz/2zALGAKpXoGhgh6XK5SLmVG/qYwRAtUFe8U6cRj33QpARH6TRnLtFL9qfDTqZidaZ6MN/JRr6DtRzVo4QytPnwrAEw7\
     WyOZRixyAcrwmkg6mHtsO9EWakRL0GVekki3bBRD78Vv0utM++WXQ2EdLIv1hRUaB8MHFjv1Of6Xbwm4O71J3n2LvGI79HlcRhhd\
     iCdirlxTm09UBM6b2FzqOG5OtUWWA3SfdJ6iIvZXKroNPFgo/asiLBrF2x2TmhPGaGlf9mg32NZ/ozkIJJzj3zWxscWqBXg3Ovly\
     MxO0UqSnWqOlKHcWctearc/DhM8WcHg71kS838lSneapUQKBgQD9aNwzhvre2NYkftH2itoJpd9luQMv5rZHsa3D/kY1oYPMkFMk\
     wm7FkY97lLHCgiPm9DnkenSUKOpLaGTjN0WpRVJUbwOnQazMwFNgqEdSPDjVHnXqy8FHvv+6inv/clo7qKm4cB7HMEuu44YgwG0b\
     WutEKRXVVypln4m0jJ9BlQKBgQDmrdQZqyhqM8LlAq982j1aQT7kfiSinIbHhlZx9/iG6SxcXvj/PDNhdV2HOdJJioyriSYtW5qP\
     TnS0vBwC4FYE2cgCZuMqMWMC1uPtmrv63JzGC5noofAnZDHA36IR27Ss3Vr4Cx+jGx0c4c7piCPcCLlSWZP6plmeEBsOoN/dPwKB\
     gQC66iGiECnzPdWWTcTpKTnya9r/2Ru0tWQ2NaSKMH/xBxWESeBJ+PBj4h4HdYI4im2Y6QPat0hOEG/g9zuTLS3A0VUM2mXDdPnU\
     fPgDD5yr16fD6xfm/Cuwk/1kxsj3fo13+8xUMr9BBSqN8Vz5w3W2+7UVLYjhN84Z7zdPaXn+kQKBgHysHiHxW1pqtz7GgMnduaL5\
     +F/NvUcVidJ0TGw0NOHVS+Bwg+qOQsa9g9r96SVN+FENQtDo3VPudyznLcxwKo1clriVmtjG8Fgsg+t64XXnneN7iactPnpLsIgp\
     VZKJR9DVocDFYkfo84cUk5urtJXLMT3MpCmnlm/TDIyPbe5JAoGALFIDOfeD+dfDSIofTtr/JlyVlOwPAL4JFdrOY1U9sL/ZVICN\
     bRDLybtoEtPvK/jJUxfDKAnudOe0DvAvM0UxSb71dPFpDVIFtUsaxxtj1klpkiXynbvFhThmplrISWTm2HvOOMROv/xgH9U1FmXu\
     K3Elz2/bJQ9pE319AePfLxs=";

fn pem(text: &str) -> String {
    let lines: Vec<&str> = text
        .as_bytes()
        .chunks(64)
        .map(|line| str::from_utf8(line).unwrap())
        .collect();
    format!(
        "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
        lines.join("\n")
    )
}

fn header_of(token: &str) -> Value {
    let header = token.split('.').next().unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(header).unwrap()).unwrap()
}

#[test]
fn signature_verifies_with_the_public_key() {
    let cases: [(&str, &str, &dyn VerificationAlgorithm); 3] = [
        (EC, "ES256", &ECDSA_P256_SHA256_FIXED),
        (ED, "EdDSA", &ED25519),
        (RSA, "RS256", &RSA_PKCS1_2048_8192_SHA256),
    ];
    for (key, algorithm, verification) in cases {
        let key = SigningKey::from_pem(&pem(key)).unwrap().with_kid("k1");
        let token = key.sign("JWT", None, &json!({"a": 1})).unwrap();
        let token = token.expose();
        assert_eq!(
            header_of(token),
            json!({"alg": algorithm, "typ": "JWT", "kid": "k1"})
        );
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        let public = match &key.pair {
            Pair::Es256(pair) => pair.public_key().as_ref().to_vec(),
            Pair::EdDsa(pair) => pair.public_key().as_ref().to_vec(),
            Pair::Rs256(pair) => pair.public_key().as_ref().to_vec(),
        };
        let public = UnparsedPublicKey::new(verification, public);
        public.verify(signed.as_bytes(), &signature).unwrap();
        assert!(public.verify(b"something else", &signature).is_err());
        assert!(!format!("{key:?}").contains("PRIVATE"), "{key:?}");
    }
}

#[test]
fn generated_key_signs_verifiable_proofs() {
    let key = SigningKey::from_pkcs8(&SigningKey::generate().unwrap()).unwrap();
    let public = key.public().unwrap();
    assert_eq!(
        (public.kty.as_str(), public.crv.as_deref()),
        ("EC", Some("P-256"))
    );
    let token = key
        .sign("dpop+jwt", Some(public.clone()), &json!({}))
        .unwrap();
    assert_eq!(
        header_of(token.expose())["jwk"],
        serde_json::to_value(&public).unwrap()
    );
}

#[test]
fn invalid_key_error_names_the_remedy() {
    for text in [
        "",
        "-----BEGIN EC PRIVATE KEY-----\nAA==\n-----END EC PRIVATE KEY-----",
    ] {
        let error = SigningKey::from_pem(text).unwrap_err().to_string();
        assert!(error.contains("openssl pkcs8"), "{error}");
    }
    let damaged = SigningKey::from_pem(&pem("AA*A")).unwrap_err().to_string();
    assert!(damaged.contains("PEM text is invalid"), "{damaged}");
    let invalid = SigningKey::from_pkcs8(b"no key").unwrap_err().to_string();
    assert!(invalid.contains("P-256, Ed25519 or RSA"), "{invalid}");
}
