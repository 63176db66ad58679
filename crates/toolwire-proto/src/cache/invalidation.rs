//! The cached responses that a change invalidates.
//!
//! Spec 2026-07-28, server/utilities/caching: a relevant notification takes precedence over the remaining lifetime of a
//! response.

use crate::subscriptions::{Change, lies_below};

/// The cached responses that a change invalidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Invalidation<'a> {
    /// The methods whose responses are invalid.
    pub methods: &'static [&'static str],
    /// The resource whose responses are invalid. If `None`, all responses of the methods are invalid.
    pub uri: Option<&'a str>,
}

impl Invalidation<'_> {
    /// Returns `true` if the response to this method, about this URI, is invalid.
    #[must_use]
    pub fn covers(&self, method: &str, uri: Option<&str>) -> bool {
        let concerned = match (self.uri, uri) {
            (None, _) => true,
            (Some(updated), Some(read)) => concerns(updated, read),
            (Some(_), None) => false,
        };
        concerned && self.methods.contains(&method)
    }
}

/// Returns `true` if an update of `updated` concerns `read`, which is the same resource or contains it.
///
/// Schema 2026-07-28, ResourceUpdatedNotificationParams: the URI may be a sub-resource of the subscribed resource.
#[must_use]
pub fn concerns(updated: &str, read: &str) -> bool {
    updated == read || lies_below(updated, read)
}

/// Returns the cache entries that a change invalidates, or `None` if it invalidates nothing cacheable.
#[must_use]
pub fn invalidated_by(change: &Change) -> Option<Invalidation<'_>> {
    let (methods, uri): (&'static [&'static str], _) = match change {
        Change::ToolsListChanged => (&["tools/list"], None),
        Change::PromptsListChanged => (&["prompts/list"], None),
        // No notification exists for templates or skills alone. The list has the `SKILL.md` of each skill.
        Change::ResourcesListChanged => (
            &["resources/list", "resources/templates/list", "skills/list"],
            None,
        ),
        Change::ResourceUpdated(uri) => (&["resources/read"], Some(uri.as_str())),
        Change::Task(_) => return None,
        #[cfg(feature = "events")]
        Change::EventsListChanged => return None,
    };
    Some(Invalidation { methods, uri })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::is_cacheable_method;

    #[test]
    fn change_invalidates_the_responses_it_concerns() {
        #[track_caller]
        fn check(change: Change, expected: &[&str]) {
            let methods = [
                "server/discover",
                "tools/list",
                "prompts/list",
                "resources/list",
                "resources/templates/list",
                "resources/read",
                "skills/list",
            ];
            let outdated = invalidated_by(&change);
            let covered: Vec<&str> = methods
                .into_iter()
                .filter(|method| is_cacheable_method(method))
                .filter(|method| {
                    let uri = (*method == "resources/read").then_some("test://a/b");
                    outdated.is_some_and(|outdated| outdated.covers(method, uri))
                })
                .collect();
            assert_eq!(covered, expected, "{change:?}");
        }
        let updated = |uri: &str| Change::ResourceUpdated(uri.to_owned());
        check(Change::ToolsListChanged, &["tools/list"]);
        check(Change::PromptsListChanged, &["prompts/list"]);
        check(
            Change::ResourcesListChanged,
            &["resources/list", "resources/templates/list", "skills/list"],
        );
        check(updated("test://a/b"), &["resources/read"]);
        check(updated("test://a/b/c"), &["resources/read"]);
        check(updated("test://a"), &[]);
        check(updated("test://a/bc"), &[]);
        check(Change::Task("1".to_owned()), &[]);
    }
}
