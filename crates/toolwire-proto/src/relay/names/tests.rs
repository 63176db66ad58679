use proptest::prelude::*;

use super::*;

#[test]
fn names_fit_the_limits_of_hosts() {
    let check = |prefix: Option<&str>, name: &str, expected: &str| {
        assert_eq!(exposed_name(prefix, name), expected, "{prefix:?} {name}");
    };
    check(Some("a"), "b", "a_b");
    check(Some("a_b"), "c.d-e", "a_b_c.d-e");
    check(None, "", "_e3b0c442");
    let (longest, longer) = ("x".repeat(64), "x".repeat(65));
    check(None, &longest, &longest);
    check(None, &longer, &format!("{}_9537c5fd", "x".repeat(55)));
    check(Some("a"), &"x".repeat(62), &format!("a_{}", "x".repeat(62)));
    let shortened = exposed_name(Some("a"), &"x".repeat(63));
    assert_eq!(shortened.len(), 64);
    assert!(shortened.starts_with("a_xxx"));
    // The same start and different ends give different names.
    assert_ne!(
        exposed_name(None, &format!("{longest}a")),
        exposed_name(None, &format!("{longest}b"))
    );
    assert!(exposed_name(None, "caf\u{e9}/x").starts_with("caf__x_"));
}

#[test]
fn names_with_a_prefix_are_recognized_also_if_they_are_shortened() {
    let check = |name: &str, prefix: &str, expected: bool| {
        assert_eq!(may_have_prefix(name, prefix), expected, "{name} {prefix}");
    };
    check("a_b", "a", true);
    check("a_", "a", true);
    check("ab_c", "a", false);
    check("a", "a", false);
    let long = "x".repeat(60);
    check(&exposed_name(Some(&long), "abcd"), &long, true);
    check(&exposed_name(Some(&long), "y"), &long, true);
    check(&"x".repeat(63), &long, false);
    check(&exposed_name(Some("a"), &long.repeat(2)), "a", true);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn exposed_names_are_valid_stable_and_equal_only_for_equal_full_names(
        names in prop::collection::vec(
            (prop::option::of("[a-b_]{0,3}"), prop_oneof!["[a-b_.]{0,4}", "[a-b_]{60,70}", "\\PC{0,8}"]),
            0..40,
        ),
    ) {
        let mut seen = std::collections::HashMap::new();
        for (prefix, name) in &names {
            let exposed = exposed_name(prefix.as_deref(), name);
            prop_assert!(is_valid(&exposed), "{}", exposed);
            prop_assert_eq!(&exposed, &exposed_name(prefix.as_deref(), name));
            let full = full_name(prefix.as_deref(), name);
            let first = seen.entry(exposed).or_insert_with(|| full.clone());
            prop_assert_eq!(first, &full);
        }
    }
}
