use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;

/// A key of each fast type, and a token that it signed.
static SIGNED: LazyLock<Vec<(SigningAlgorithm, Jwk, String)>> = LazyLock::new(|| {
    use SigningAlgorithm::{EdDsa, Es256, Es384, Ps256, Rs256};

    let signed = [Es256, Es384, EdDsa, Rs256, Ps256]
        .into_iter()
        .map(|algorithm| {
            let key = TestKey::new(algorithm);
            let token = key.token(&json!({"alg": algorithm.as_str()}), &claims());
            (algorithm, key.public(), token)
        });
    signed.collect()
});

fn member() -> impl Strategy<Value = Option<String>> {
    let bytes = prop::collection::vec(any::<u8>(), 0..80);
    prop_oneof![
        Just(None),
        any::<String>().prop_map(Some),
        bytes.prop_map(|bytes| Some(URL_SAFE_NO_PAD.encode(bytes))),
        prop::sample::select(vec![32_usize, 48, 66, 256, 512])
            .prop_flat_map(|length| prop::collection::vec(any::<u8>(), length))
            .prop_map(|bytes| Some(URL_SAFE_NO_PAD.encode(bytes))),
    ]
}

proptest! {
    #[test]
    fn arbitrary_text_never_verifies(
        text in any::<String>(),
        parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..5),
        near in "[A-Za-z0-9_.=-]{0,80}",
    ) {
        let encoded: Vec<_> = parts.iter().map(|part| URL_SAFE_NO_PAD.encode(part)).collect();
        for token in [text, encoded.join("."), near] {
            for (algorithm, key, _) in &*SIGNED {
                prop_assert_eq!(verified(&token, *algorithm, key), None);
            }
        }
    }

    /// Also covers texts that encode the same bytes differently.
    #[test]
    fn changed_token_never_verifies(at in any::<Index>(), byte in 0x20..0x7f_u8, inserts in any::<bool>()) {
        for (algorithm, key, token) in &*SIGNED {
            let mut changed = token.clone().into_bytes();
            let at = at.index(changed.len());
            if inserts { changed.insert(at, byte) } else { changed[at] = byte }
            let changed = String::from_utf8(changed).unwrap();
            let expected = (changed == *token).then(claims);
            prop_assert_eq!(verified(&changed, *algorithm, key), expected);
        }
    }

    #[test]
    fn arbitrary_keys_verify_nothing(x in member(), y in member(), n in member(), e in member()) {
        for (algorithm, good, token) in &*SIGNED {
            let mut key = good.clone();
            (key.x, key.y, key.n, key.e) = (x.clone(), y.clone(), n.clone(), e.clone());
            prop_assert_eq!(verified(token, *algorithm, &key), None);
        }
    }
}
