//! Compares a recorded message with that of a server.

use std::collections::BTreeSet;

use serde_json::Value;

/// Members that differ between two runs of one server: ids, states and times.
const IGNORED: [&str; 8] = [
    "requestState",
    "progressToken",
    "taskId",
    "createdAt",
    "lastUpdatedAt",
    "nextCursor",
    "io.modelcontextprotocol/subscriptionId",
    "io.modelcontextprotocol/related-task",
];

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
    if found.len() > MAX_DIFFERENCES || options.ignored.iter().any(|ignored| ignored.covers(path)) {
        return;
    }
    match (recorded, received) {
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            for name in names {
                if !IGNORED.contains(&name.as_str()) {
                    path.push(name.clone());
                    compare(one.get(name), other.get(name), path, options, found);
                    path.pop();
                }
            }
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) => {
            for index in 0..one.len().max(other.len()) {
                path.push(index.to_string());
                compare(one.get(index), other.get(index), path, options, found);
                path.pop();
            }
        }
        (Some(Value::String(one)), Some(Value::String(other)))
            if is_time(one) && is_time(other) => {}
        (one, other) if one == other => {}
        (one, other) => found.push(Difference {
            path: pointer(path),
            recorded: one.cloned(),
            received: other.cloned(),
        }),
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
        let one = json!({"requestState": "a", "at": "2026-11-18T10:00:00Z", "taskId": "1"});
        let other = json!({"requestState": "b", "at": "2026-11-19T11:22:33.444+01:00"});
        assert!(paths(&one, &other, &[]).is_empty());
        assert_eq!(paths(&one, &json!({"at": "soon"}), &[]), ["/at"]);
    }

    #[test]
    fn number_of_differences_is_limited() {
        let list = |value: i64, count: usize| json!(vec![value; count]);
        let count = |count: usize| paths(&list(1, count), &list(2, count), &[]).len();
        assert_eq!(count(MAX_DIFFERENCES), MAX_DIFFERENCES);
        assert_eq!(count(MAX_DIFFERENCES + 5), MAX_DIFFERENCES);
    }
}
