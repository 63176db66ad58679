//! Signing keys of all types for tests.

use base64::engine::general_purpose::STANDARD;
use p521::ecdsa::signature::Signer as _;
use ring::rand::SystemRandom;
use ring::rsa;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
    EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384,
    RSA_PKCS1_SHA512, RSA_PSS_SHA256, RSA_PSS_SHA384, RSA_PSS_SHA512, RsaEncoding,
};
use serde_json::Value;

use crate::jws::*;

/// A private key for tests.
pub(crate) enum TestKey {
    Rsa(rsa::KeyPair, &'static dyn RsaEncoding),
    Ec(EcdsaKeyPair, &'static str),
    P521(Box<p521::ecdsa::SigningKey>),
    Ed(Ed25519KeyPair),
}

impl TestKey {
    /// Creates a key for an algorithm. The RSA key is fixed, because generating one is slow.
    pub(crate) fn new(algorithm: SigningAlgorithm) -> Self {
        let random = SystemRandom::new();
        let ec = |algorithm: &'static EcdsaSigningAlgorithm, curve| {
            let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
            let key = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).unwrap();
            Self::Ec(key, curve)
        };
        match algorithm {
            SigningAlgorithm::Rs256 => Self::rsa(&RSA_PKCS1_SHA256),
            SigningAlgorithm::Rs384 => Self::rsa(&RSA_PKCS1_SHA384),
            SigningAlgorithm::Rs512 => Self::rsa(&RSA_PKCS1_SHA512),
            SigningAlgorithm::Ps256 => Self::rsa(&RSA_PSS_SHA256),
            SigningAlgorithm::Ps384 => Self::rsa(&RSA_PSS_SHA384),
            SigningAlgorithm::Ps512 => Self::rsa(&RSA_PSS_SHA512),
            SigningAlgorithm::Es256 => ec(&ECDSA_P256_SHA256_FIXED_SIGNING, "P-256"),
            SigningAlgorithm::Es384 => ec(&ECDSA_P384_SHA384_FIXED_SIGNING, "P-384"),
            SigningAlgorithm::Es512 => {
                let mut scalar = [0; 66];
                let random: [u8; 64] = ring::rand::generate(&random).unwrap().expose();
                scalar[2..].copy_from_slice(&random);
                Self::P521(Box::new(
                    p521::ecdsa::SigningKey::from_slice(&scalar).unwrap(),
                ))
            }
            SigningAlgorithm::EdDsa => {
                let document = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
                Self::Ed(Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap())
            }
        }
    }

    fn rsa(encoding: &'static dyn RsaEncoding) -> Self {
        let document = STANDARD.decode(RSA_KEY).unwrap();
        Self::Rsa(rsa::KeyPair::from_pkcs8(&document).unwrap(), encoding)
    }

    /// Returns the public key.
    pub(crate) fn public(&self) -> Jwk {
        let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let on_curve = |curve: &str, point: &[u8]| {
            let (x, y) = point[1..].split_at((point.len() - 1) / 2);
            Jwk::ec(curve, encode(x), encode(y))
        };
        match self {
            Self::Rsa(key, _) => {
                let public: RsaPublicKeyComponents<Vec<u8>> = key.public().into();
                Jwk::rsa(encode(&public.n), encode(&public.e))
            }
            Self::Ec(key, curve) => on_curve(curve, key.public_key().as_ref()),
            Self::P521(key) => {
                let point = key.verifying_key().to_sec1_point(false);
                on_curve("P-521", point.as_bytes())
            }
            Self::Ed(key) => Jwk::okp("Ed25519", encode(key.public_key().as_ref())),
        }
    }

    /// Returns a token with this header and these claims.
    pub(crate) fn token(&self, header: &Value, claims: &Value) -> String {
        let encode = |json: &Value| URL_SAFE_NO_PAD.encode(json.to_string());
        let signed = format!("{}.{}", encode(header), encode(claims));
        let signature = URL_SAFE_NO_PAD.encode(self.sign(signed.as_bytes()));
        format!("{signed}.{signature}")
    }

    fn sign(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::Rsa(key, encoding) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(*encoding, &random, message, &mut signature)
                    .unwrap();
                signature
            }
            Self::Ec(key, _) => key.sign(&random, message).unwrap().as_ref().to_vec(),
            Self::P521(key) => {
                let signature: p521::ecdsa::Signature = key.sign(message);
                signature.to_bytes().to_vec()
            }
            Self::Ed(key) => key.sign(message).as_ref().to_vec(),
        }
    }
}

/// An RSA key (PKCS#8) that only these tests use.
const RSA_KEY: &str = "\
    MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDevSh2dYZHeLMYmDLN+RFVkIQt5eSzvsICD5HfKsFORLHj2JwV\
    Fj6W2g5jSuesJP0J332qdv74kKk0mi2B4TUNEc7/KZ+ZA+02wCZ4vVMSzNogHhwO88iRWSVFlKkiFCfjySjTzAsy9yAwxWODjH7f\
    rFLPqNeI7OHSzcz7esb8G8b0D3gVATuwYQ/9FAxZK1GPjwXXZ0dtHii1kv76vcgRaie2Hp27n6ryjW7nUS4UtxrnA8hTMCkumhWS\
    W+JDmCPULWs13T+U54+4eWUxDDROXi+DZi6NW2ciB++I8+6Bj+2mmVpSYerQs05+2m30nnTmzxsSPmCn9GjK2FNRtnILAgMBAAEC\
    ggEABNG+8GE2mJFJ/rw8TSyYbWuFEKEqw6Da/cRseZGpQRJHbxCev+4NSKJLMWbLgHQEbZRCWc/dUG+A2byEQ40l4rSB8A9sfpkR\
    JuAddPtTstJv3cYJAWHQ8yQkpE7FIhGhk1Ik6gA+NcoXDjcXIh+GFzzZRdj3YOUPNcpyJvbPG2FMH0wVpll9inqxjooc46vrHOIR\
    0JFDbfD+jO7JY46bwlG1Sp3YrJYL+aXF++VtBEPYpIs3hhKO5EHttV7+8folYgbcGnb77O3xNKWHq5Fq9UjbQxXdlngQqoMGYj3d\
    9NhbsWwfDAJEbnXx1MPJvf6A6goJGerL2ffRU7UmPlSCUQKBgQD/hAKIzjE0aETGW1gyQIZv1qNqSwcq/3H6gBSYObA8fMi+5Ktc\
    LXVyK6r68tm6wqW0u5iTY3QetqVQV8YCwODVnP7jRQ66s0HHIh7/am/oZz/NCGqgoRrX6Bkcw82mJcP/2hGUB2IhMaO6NDKyZCMz\
    VK1k60p+Z9InVprRcxnkNwKBgQDfKT47BfmSTMMYqhkckophwhhBKlSOq7NQKbKy4NPlrlzgRjtrACItRxxKfcfOAWSkkItUel8S\
    Q9BO7Hd8ZrdrytD9aTVaptEWePk2RvSqBAm0dEeeeMWXENOUzFNhgUqRZ3a4MArmvJnRL0hRctRG44/+YAVBy+2qnJglKwXezQKB\
    gBKF8GUYhYqmEG5Myu0Brn1HExuuirt8PzgItvV+IR+RcEAedam+Beib7843cr9OQxMCEoKE0DM1zHAxnMIwV1xFAFlbdUDlo9wa\
    xiKABdLUQVTMymYQp9CFG+Tw8OSdkkLm/SU9D8kWPydNh2tVRRQAjH1nbUQSpLKDXb/XV0YrAoGAANgvHBoRr7QKqPU70xfa3jPV\
    06lNWJzduNfvjS28n4nhYBfj8au2dWVnfgCr2OO4dcb2QAOWiIMpLqNGcHoTB51k3RCg2w72i5c5mjL6igop3zzxaHAcj03I/y8m\
    wZ+zoIk7sca8w9LC4j/DjktY8ku6J8RFQNJ8u8CL8tgO1aECgYEAm80ixgL4vXBP01HMU66Gb9Y8jgQkShuILg/itz7RQQK54i0U\
    nBONMHbW8jauYU3hGpRyef88Fn9UqVFNSzKx2aVtadu92xysv6wpvaNjvgucYHe4hQf+Fr/b4eXhX3OqQg9IojmUJBUdhR+F6O5Z\
    iuRvxZmDVQ8hGdejHsM9J+g=";
