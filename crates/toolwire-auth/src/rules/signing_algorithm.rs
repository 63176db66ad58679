//! The permitted signature algorithms of tokens and proofs: only asymmetric ones.
//!
//! `none` and the `HS` family have no variant, so that no configuration can permit them (RFC 8725, sections 3.1 and
//! 3.2).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::documents::Jwk;

/// The minimum size of an RSA key, in bits (RFC 7518, section 3.3).
pub(crate) const MIN_RSA_BITS: usize = 2048;

/// The maximum size of an RSA key, in bits. Larger keys only cost time.
pub(crate) const MAX_RSA_BITS: usize = 16_384;

/// A signature algorithm (RFC 7518, section 3.1; RFC 8037).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub(crate) enum SigningAlgorithm {
    Rs256,
    Rs384,
    Rs512,
    Ps256,
    Ps384,
    Ps512,
    Es256,
    Es384,
    Es512,
    EdDsa,
}

impl SigningAlgorithm {
    /// All algorithms.
    pub(crate) const ALL: [Self; 10] = [
        Self::Rs256,
        Self::Rs384,
        Self::Rs512,
        Self::Ps256,
        Self::Ps384,
        Self::Ps512,
        Self::Es256,
        Self::Es384,
        Self::Es512,
        Self::EdDsa,
    ];

    /// Returns the algorithm name in headers.
    #[must_use]
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Rs384 => "RS384",
            Self::Rs512 => "RS512",
            Self::Ps256 => "PS256",
            Self::Ps384 => "PS384",
            Self::Ps512 => "PS512",
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::Es512 => "ES512",
            Self::EdDsa => "EdDSA",
        }
    }

    /// Parses an algorithm name. Names are compared exactly.
    #[must_use]
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|algorithm| algorithm.as_str() == name)
    }

    /// Returns `true` if a key may verify signatures of this algorithm: its type, curve and size match, and its
    /// declared use permits it.
    #[must_use]
    pub(crate) fn matches(self, key: &Jwk) -> bool {
        let is_type = match self {
            Self::Es256 => is_on_curve(key, "EC", &["P-256"]),
            Self::Es384 => is_on_curve(key, "EC", &["P-384"]),
            Self::Es512 => is_on_curve(key, "EC", &["P-521"]),
            Self::EdDsa => is_on_curve(key, "OKP", &["Ed25519", "Ed448"]),
            _ => key.kty == "RSA" && is_rsa_size(key.n.as_deref().unwrap_or_default()),
        };
        is_type
            && key.alg.as_deref().is_none_or(|only| only == self.as_str())
            && key.use_.as_deref().is_none_or(|purpose| purpose == "sig")
            && key
                .key_ops
                .as_ref()
                .is_none_or(|operations| operations.iter().any(|one| one == "verify"))
    }
}

fn is_on_curve(key: &Jwk, kind: &str, curves: &[&str]) -> bool {
    key.kty == kind
        && key
            .crv
            .as_deref()
            .is_some_and(|curve| curves.contains(&curve))
}

fn is_rsa_size(modulus: &str) -> bool {
    let Ok(bytes) = URL_SAFE_NO_PAD.decode(modulus) else {
        return false;
    };
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let Some(first) = bytes.get(zeros) else {
        return false;
    };
    let bits = (bytes.len() - zeros) * 8 - first.leading_zeros() as usize;
    (MIN_RSA_BITS..=MAX_RSA_BITS).contains(&bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rsa(bytes: usize, first: u8) -> Jwk {
        let mut modulus = vec![0xff; bytes];
        modulus[0] = first;
        Jwk::rsa(URL_SAFE_NO_PAD.encode(modulus), "AQAB")
    }

    #[test]
    fn only_asymmetric_algorithms_have_names() {
        for algorithm in SigningAlgorithm::ALL {
            assert_eq!(
                SigningAlgorithm::from_name(algorithm.as_str()),
                Some(algorithm)
            );
        }
        for name in [
            "none", "None", "NONE", "", "HS256", "HS384", "HS512", "rs256", "RS1", "ES256 ",
        ] {
            assert_eq!(SigningAlgorithm::from_name(name), None, "{name:?}");
        }
    }

    #[test]
    fn algorithm_matches_one_key_type() {
        use SigningAlgorithm::*;

        let check = |key: &Jwk, expected: &[SigningAlgorithm]| {
            let matching = SigningAlgorithm::ALL
                .into_iter()
                .filter(|algorithm| algorithm.matches(key));
            assert_eq!(matching.collect::<Vec<_>>(), expected, "{key:?}");
        };
        check(&Jwk::ec("P-256", "AA", "AA"), &[Es256]);
        check(&Jwk::ec("P-384", "AA", "AA"), &[Es384]);
        check(&Jwk::ec("P-521", "AA", "AA"), &[Es512]);
        check(&Jwk::ec("secp256k1", "AA", "AA"), &[]);
        check(&Jwk::okp("Ed25519", "AA"), &[EdDsa]);
        check(&Jwk::okp("X25519", "AA"), &[]);
        check(&rsa(256, 0xff), &[Rs256, Rs384, Rs512, Ps256, Ps384, Ps512]);
        check(&rsa(256, 0xff).with_alg("PS256"), &[Ps256]);
        check(&rsa(256, 0xff).with_alg("HS256"), &[]);
        check(
            &serde_json::from_str(r#"{"kty": "oct", "k": "AA"}"#).unwrap(),
            &[],
        );
    }

    #[test]
    fn rsa_keys_have_2048_to_16384_bits() {
        for (bytes, first, expected) in [
            (256, 0x80, true),
            (256, 0x7f, false),
            (255, 0xff, false),
            (257, 0x00, true),
            (2048, 0xff, true),
            (2049, 0x01, false),
        ] {
            let matches = SigningAlgorithm::Rs256.matches(&rsa(bytes, first));
            assert_eq!(matches, expected, "{bytes} {first}");
        }
        for modulus in ["", "AA", "not base64!"] {
            assert!(
                !SigningAlgorithm::Rs256.matches(&Jwk::rsa(modulus, "AQAB")),
                "{modulus}"
            );
        }
    }

    #[test]
    fn keys_for_other_uses_do_not_match() {
        let check = |change: fn(&mut Jwk), expected: bool| {
            let mut key = Jwk::ec("P-256", "AA", "AA");
            change(&mut key);
            assert_eq!(SigningAlgorithm::Es256.matches(&key), expected, "{key:?}");
        };
        check(|key| key.use_ = Some("sig".to_owned()), true);
        check(|key| key.use_ = Some("enc".to_owned()), false);
        check(|key| key.key_ops = Some(vec!["verify".to_owned()]), true);
        check(|key| key.key_ops = Some(vec!["sign".to_owned()]), false);
        check(|key| key.key_ops = Some(Vec::new()), false);
    }
}
