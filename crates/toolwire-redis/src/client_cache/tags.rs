//! The tags of cached results. A filter has the tags of all results that it removes.

use toolwire::cache::{CacheFilter, CacheKey};

use crate::keys::digest;

/// The tag that all results of a server have.
pub(super) const EVERYTHING: &str = "*";

/// The maximum number of resources that contain another one. A resource below more of them makes all resources outdated.
const MAX_ANCESTORS: usize = 64;

/// Returns the tags of a result: everything, its partition, its method, its request, and its resource.
pub(super) fn of_key(key: &CacheKey) -> Vec<String> {
    let partition = partition_tag(key.partition.as_deref());
    let mut tags = vec![
        EVERYTHING.to_owned(),
        partition.clone(),
        method_tag(&partition, &key.method),
        request_tag(&partition, &key.method, &key.params),
    ];
    tags.extend(key.uri.as_ref().map(|uri| uri_tag(&partition, uri)));
    tags
}

/// Returns tags of which every result has one that the filter matches. Some results with these tags may not match.
pub(super) fn of_filter(filter: &CacheFilter) -> Vec<String> {
    let partitions = [None, Some(filter.partition.as_str())].map(partition_tag);
    let tags_of = |partition: &String| tags_in(filter, partition);
    partitions.iter().flat_map(tags_of).collect()
}

fn tags_in(filter: &CacheFilter, partition: &str) -> Vec<String> {
    let of_methods = |tag: &dyn Fn(&str) -> String| {
        let methods = filter.methods.iter();
        methods.map(|method| tag(method)).collect()
    };
    match (&filter.params, &filter.uri) {
        _ if filter.methods.is_empty() => vec![partition.to_owned()],
        (Some(params), _) => of_methods(&|method| request_tag(partition, method, params)),
        (None, Some(uri)) => match uri_and_ancestors(uri) {
            Some(uris) => uris.iter().map(|uri| uri_tag(partition, uri)).collect(),
            None => of_methods(&|method| method_tag(partition, method)),
        },
        (None, None) => of_methods(&|method| method_tag(partition, method)),
    }
}

/// Returns a URI and those of all resources that could contain it, or `None` if they are too many.
fn uri_and_ancestors(uri: &str) -> Option<Vec<&str>> {
    // A scheme and its slashes are not a resource.
    let scheme = uri.find("://").map_or(0, |end| end + 3);
    let mut uris = vec![uri];
    for (position, separator) in uri.match_indices(['/', '?', '#']) {
        let ends = [position, position + 1];
        let ends = if separator == "/" {
            &ends[..]
        } else {
            &ends[..1]
        };
        let ends = ends
            .iter()
            .filter(|end| (scheme + 1..uri.len()).contains(*end));
        uris.extend(ends.filter_map(|end| uri.get(..*end)));
        if uris.len() > MAX_ANCESTORS {
            return None;
        }
    }
    Some(uris)
}

fn partition_tag(partition: Option<&str>) -> String {
    match partition {
        Some(partition) => format!("p:{}", digest(partition.as_bytes())),
        None => "p".to_owned(),
    }
}

fn method_tag(partition: &str, method: &str) -> String {
    format!("{partition} m:{method}")
}

fn request_tag(partition: &str, method: &str, params: &str) -> String {
    format!("{partition} r:{method} {}", digest(params.as_bytes()))
}

fn uri_tag(partition: &str, uri: &str) -> String {
    format!("{partition} u:{}", digest(uri.as_bytes()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(method: &str, uri: Option<&str>, params: &str, partition: Option<&str>) -> CacheKey {
        let key = serde_json::json!({
            "server": "s", "version": "2026-07-28", "method": method, "uri": uri, "params": params,
            "partition": partition,
        });
        serde_json::from_value(key).unwrap()
    }

    fn filter(methods: &[&str], uri: Option<&str>, params: Option<&str>) -> CacheFilter {
        let filter = serde_json::json!({
            "server": "s", "partition": "me", "methods": methods, "uri": uri, "params": params,
        });
        serde_json::from_value(filter).unwrap()
    }

    fn removes(filter: &CacheFilter, key: &CacheKey) -> bool {
        let removed = of_filter(filter);
        of_key(key).iter().any(|tag| removed.contains(tag))
    }

    #[test]
    fn filter_has_the_tags_of_what_it_removes_and_of_little_else() {
        let read = |uri| key("resources/read", Some(uri), uri, None);
        let updated = |uri| filter(&["resources/read"], Some(uri), None);
        for (updated_uri, read_uri, expected) in [
            ("a://b/c", "a://b/c", true),
            ("a://b/c/d", "a://b/c", true),
            ("a://b/c/d", "a://b/c/", true),
            ("a://b/c?d", "a://b/c", true),
            ("a://b/c", "a://b/c/d", false),
            ("a://b/cd", "a://b/c", false),
            ("a://b", "a://", false),
        ] {
            let removed = removes(&updated(updated_uri), &read(read_uri));
            assert_eq!(removed, expected, "{updated_uri} {read_uri}");
        }
        let tools = filter(&["tools/list"], None, None);
        assert!(removes(&tools, &key("tools/list", None, "{}", Some("me"))));
        assert!(!removes(
            &tools,
            &key("tools/list", None, "{}", Some("you"))
        ));
        assert!(!removes(&tools, &key("prompts/list", None, "{}", None)));
        let first = filter(&["tools/list"], None, Some("1"));
        assert!(removes(&first, &key("tools/list", None, "1", None)));
        assert!(!removes(&first, &key("tools/list", None, "2", None)));
    }

    #[test]
    fn resource_below_too_many_others_makes_all_resources_outdated() {
        let uri = |segments| format!("a://b{}", "/c".repeat(segments));
        assert_eq!(uri_and_ancestors(&uri(31)).map(|uris| uris.len()), Some(63));
        assert_eq!(uri_and_ancestors(&uri(33)), None);
        let filter = filter(&["resources/read"], Some(&uri(33)), None);
        assert!(removes(
            &filter,
            &key("resources/read", Some("x:y"), "", None)
        ));
    }

    proptest! {
        #[test]
        fn everything_that_matches_is_removed(
            uri in "[ab]{1,2}(://)?([ab/?#]{0,5})",
            read in "[ab]{1,2}(://)?([ab/?#]{0,3})",
            partition in proptest::option::of("me|you"),
            with_params: bool,
        ) {
            let key = key("resources/read", Some(&read), "x", partition.as_deref());
            let params = with_params.then_some("x");
            for filter in [
                filter(&["resources/read"], Some(&uri), params),
                filter(&["resources/read"], None, params),
                filter(&[], None, params),
                filter(&[], Some(&uri), params),
            ] {
                prop_assert!(!filter.matches(&key) || removes(&filter, &key), "{filter:?} {key:?}");
            }
        }
    }
}
