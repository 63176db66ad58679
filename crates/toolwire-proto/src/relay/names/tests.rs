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
fn later_duplicate_is_hidden_and_names_the_owner() {
    let mut table = NameTable::new();
    assert_eq!(table.add("one", Some("a"), "b_c").unwrap(), "a_b_c");
    let hidden = table.add("two", Some("a_b"), "c").unwrap_err();
    let text = hidden.to_string();
    assert!(
        text.contains("\"a_b_c\"") && text.contains("\"b_c\" of one"),
        "{text}"
    );
    let route = table.route("a_b_c").unwrap();
    assert_eq!((route.source, route.name.as_str()), ("one", "b_c"));
    assert_eq!(table.len(), 1);
    assert!(table.route("a_b").is_none());
    // A name of the relay itself cannot be taken.
    table
        .add_as("search_tools".to_owned(), "relay", "search_tools")
        .unwrap();
    assert!(table.add("two", None, "search_tools").is_err());
}

#[test]
fn number_of_names_is_limited() {
    let mut table = NameTable::new();
    for index in 0..MAX_NAMES {
        table.add((), None, &format!("n{index}")).unwrap();
    }
    assert_eq!(table.add((), None, "more"), Err(HiddenName::TooMany));
    assert!(matches!(
        table.add((), None, "n0"),
        Err(HiddenName::Duplicate { .. })
    ));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn exposed_names_are_valid_unique_stable_and_route_back(
        entries in prop::collection::vec(
            (prop::option::of("[a-b_]{0,3}"), prop_oneof!["[a-b_.]{0,4}", "[a-b_]{60,70}", "\\PC{0,8}"]),
            0..40,
        ),
    ) {
        let build = || {
            let mut table = NameTable::new();
            let exposed: Vec<_> = entries
                .iter()
                .enumerate()
                .map(|(source, (prefix, name))| table.add(source, prefix.as_deref(), name))
                .collect();
            (table, exposed)
        };
        let (table, exposed) = build();
        prop_assert_eq!(&exposed, &build().1);
        let mut seen = std::collections::HashSet::new();
        for (source, ((_, name), exposed)) in entries.iter().zip(&exposed).enumerate() {
            match exposed {
                Ok(exposed) => {
                    prop_assert!(seen.insert(exposed.clone()));
                    prop_assert!(is_valid(exposed), "{}", exposed);
                    let route = table.route(exposed).expect("an exposed name has a route");
                    prop_assert_eq!((route.source, &route.name), (source, name));
                }
                Err(HiddenName::Duplicate { exposed, owner }) => {
                    prop_assert!(owner.source < source);
                    prop_assert!(seen.contains(exposed));
                }
                Err(HiddenName::TooMany) => prop_assert!(false, "there are few names"),
            }
        }
        prop_assert_eq!(table.len(), seen.len());
    }
}
