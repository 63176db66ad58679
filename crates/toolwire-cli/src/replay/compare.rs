//! Compares a recorded message with that of a server.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde_json::Value;

/// The places of ids, states and times that differ between two runs of one server. They are places of the protocol: a
/// member of a tool's result with such a name is compared.
const IGNORED: [&str; 21] = [
    "/result/requestState",
    "/result/nextCursor",
    "/result/taskId",
    "/result/createdAt",
    "/result/lastUpdatedAt",
    "/result/task/taskId",
    "/result/task/createdAt",
    "/result/task/lastUpdatedAt",
    "/result/tasks/*/taskId",
    "/result/tasks/*/createdAt",
    "/result/tasks/*/lastUpdatedAt",
    "/result/_meta/io.modelcontextprotocol~1related-task",
    "/result/result/_meta/io.modelcontextprotocol~1related-task",
    "/result/_meta/io.modelcontextprotocol~1subscriptionId",
    "/result/inputRequests/*/params/elicitationId",
    "/params/elicitationId",
    "/params/_meta/progressToken",
    "/params/_meta/io.modelcontextprotocol~1related-task",
    "/params/_meta/io.modelcontextprotocol~1subscriptionId",
    // The parameters of progress are compared as a list.
    "/progress/*/progressToken",
    "/progress/*/_meta/io.modelcontextprotocol~1related-task",
];

static IGNORED_POINTERS: LazyLock<Vec<Pointer>> = LazyLock::new(|| {
    IGNORED
        .iter()
        .filter_map(|text| Pointer::parse(text))
        .collect()
});

/// The most differences of one exchange that are reported.
const MAX_DIFFERENCES: usize = 100;

/// What a comparison leaves out.
#[derive(Debug, Default)]
pub(crate) struct CompareOptions {
    pub(crate) ignored: Vec<Pointer>,
}

/// A JSON pointer (RFC 6901). The part `*` stands for every member and every index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pointer(Vec<String>);

impl Pointer {
    /// Reads a pointer such as `/result/content/0/text`. Returns `None` if it does not begin with `/`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let parts = text.strip_prefix('/')?.split('/');
        let parts = parts.map(|part| part.replace("~1", "/").replace("~0", "~"));
        Some(Self(parts.collect()))
    }

    /// Returns `true` if the path is this one or below it.
    fn covers(&self, path: &[String]) -> bool {
        path.len() >= self.0.len()
            && self
                .0
                .iter()
                .zip(path)
                .all(|(part, name)| part == "*" || part == name)
    }
}

/// A place where two messages differ.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Difference {
    /// The JSON pointer of the place, or a description of what is missing.
    pub(super) path: String,
    /// The recorded value, if there is one.
    pub(super) recorded: Option<Value>,
    /// The value of the server, if there is one.
    pub(super) received: Option<Value>,
}

/// Returns `true` for the place of an id, a state or a time of the protocol, or for a place below it.
pub(super) fn is_ignored(path: &[String]) -> bool {
    IGNORED_POINTERS.iter().any(|ignored| ignored.covers(path))
}

/// Returns the differences between two messages.
pub(super) fn differences(
    recorded: &Value,
    received: &Value,
    options: &CompareOptions,
) -> Vec<Difference> {
    let mut found = Vec::new();
    compare(
        Some(recorded),
        Some(received),
        &mut Vec::new(),
        options,
        &mut found,
    );
    found.truncate(MAX_DIFFERENCES);
    found
}

fn compare(
    recorded: Option<&Value>,
    received: Option<&Value>,
    path: &mut Vec<String>,
    options: &CompareOptions,
    found: &mut Vec<Difference>,
) {
    let mut ignored = options.ignored.iter();
    let is_ignored = is_ignored(path) || ignored.any(|ignored| ignored.covers(path));
    if is_ignored || found.len() > MAX_DIFFERENCES {
        return;
    }
    match (recorded, received) {
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            for name in names {
                path.push(name.clone());
                compare(one.get(name), other.get(name), path, options, found);
                path.pop();
            }
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) => {
            for index in 0..one.len().max(other.len()) {
                path.push(index.to_string());
                compare(one.get(index), other.get(index), path, options, found);
                path.pop();
            }
        }
        (Some(Value::String(one)), Some(Value::String(other))) if is_same_text(one, other) => {}
        (one, other) if one == other => {}
        (one, other) => found.push(Difference {
            path: pointer(path),
            recorded: one.cloned(),
            received: other.cloned(),
        }),
    }
}

/// Returns `true` for equal texts, for two times, and for JSON without a difference: tools repeat structured content as a
/// text.
fn is_same_text(one: &str, other: &str) -> bool {
    if one == other || (is_time(one) && is_time(other)) {
        return true;
    }
    match (json_in(one), json_in(other)) {
        (Some(one), Some(other)) => {
            differences(&one, &other, &CompareOptions::default()).is_empty()
        }
        _ => false,
    }
}

/// Returns the JSON object or array in a text.
fn json_in(text: &str) -> Option<Value> {
    let is_json = text.trim_start().starts_with(['{', '[']);
    is_json.then(|| serde_json::from_str(text).ok()).flatten()
}

/// Returns `true` if a value is or contains a time, which differs between two runs.
pub(super) fn has_time(value: &Value) -> bool {
    match value {
        Value::String(text) => is_time(text) || json_in(text).is_some_and(|json| has_time(&json)),
        Value::Array(elements) => elements.iter().any(has_time),
        Value::Object(members) => members.values().any(has_time),
        _ => false,
    }
}

fn pointer(path: &[String]) -> String {
    let parts = path
        .iter()
        .map(|part| part.replace('~', "~0").replace('/', "~1"));
    parts.map(|part| format!("/{part}")).collect()
}

/// Returns `true` for a time in the form of RFC 3339.
fn is_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    (20..=40).contains(&bytes.len())
        && bytes
            .iter()
            .enumerate()
            .take(19)
            .all(|(at, byte)| match at {
                4 | 7 => *byte == b'-',
                10 => matches!(byte, b'T' | b't' | b' '),
                13 | 16 => *byte == b':',
                _ => byte.is_ascii_digit(),
            })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn paths(one: &Value, other: &Value, ignored: &[&str]) -> Vec<String> {
        let ignored = ignored.iter().map(|text| Pointer::parse(text).unwrap());
        let options = CompareOptions {
            ignored: ignored.collect(),
        };
        let found = differences(one, other, &options).into_iter();
        found.map(|difference| difference.path).collect()
    }

    #[test]
    fn each_difference_has_its_path() {
        let one = json!({"result": {"a": 1, "b": [1, 2], "c/d": true}});
        let other = json!({"result": {"a": 2, "b": [1], "c/d": false, "e": null}});
        let all = ["/result/a", "/result/b/1", "/result/c~1d", "/result/e"];
        assert_eq!(paths(&one, &other, &[]), all);
        assert_eq!(
            paths(&one, &other, &["/result/b", "/*/a", "/result/c~1d"]),
            ["/result/e"]
        );
        assert!(paths(&one, &other, &["/result"]).is_empty());
        assert!(paths(&one, &one, &[]).is_empty());
        assert_eq!(Pointer::parse("result"), None);
    }

    #[test]
    fn ids_states_and_times_are_left_out() {
        let result = |id: &str, at: &str| {
            json!({"result": {
                "requestState": id,
                "task": {"taskId": id, "status": "working"},
                "_meta": {"io.modelcontextprotocol/related-task": {"taskId": id}},
                "structuredContent": {"at": at},
                "content": [{"type": "text", "text": format!("{{\"at\": \"{at}\"}}")}],
            }})
        };
        let one = result("a", "2026-11-18T10:00:00Z");
        let other = result("b", "2026-11-19T11:22:33.444+01:00");
        assert!(paths(&one, &other, &[]).is_empty());
        let soon = result("a", "soon");
        let expected = ["/result/content/0/text", "/result/structuredContent/at"];
        assert_eq!(paths(&one, &soon, &[]), expected);
    }

    #[test]
    fn members_of_tools_with_the_names_of_ids_are_compared() {
        let result = |id: &str| {
            json!({"result": {
                "structuredContent": {"taskId": id, "nextCursor": id, "createdAt": id},
                "tools": [{"inputSchema": {"properties": {"requestState": {"type": id}}}}],
            }})
        };
        let found = paths(&result("a"), &result("b"), &[]);
        assert_eq!(found.len(), 4, "{found:?}");
    }

    #[test]
    fn every_ignored_place_is_a_pointer() {
        assert_eq!(IGNORED_POINTERS.len(), IGNORED.len());
    }

    #[test]
    fn number_of_differences_is_limited() {
        let list = |value: i64, count: usize| json!(vec![value; count]);
        let count = |count: usize| paths(&list(1, count), &list(2, count), &[]).len();
        assert_eq!(count(MAX_DIFFERENCES), MAX_DIFFERENCES);
        assert_eq!(count(MAX_DIFFERENCES + 5), MAX_DIFFERENCES);
    }
}
