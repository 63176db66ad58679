//! What a relay of several upstreams declares as its own: capabilities, instructions and cache hints.
//!
//! A capability is offered if one upstream offers it. A cached result is fresh as long as its least fresh part.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::value::RawValue;
use toolwire_types::{CacheScope, RawJson};

use crate::cache::CacheHint;
use crate::raw_object::RawObject;

/// The maximum length of merged instructions in bytes.
pub const MAX_INSTRUCTIONS_BYTES: usize = 16 * 1024;

/// The shortest part of instructions that is useful. Upstreams without room for so much are left out.
const MIN_SHARE_BYTES: usize = 128;

/// The text behind instructions that were cut.
const CUT: &str = "\n[shortened]";

/// The depth up to which capabilities are merged: `extensions`, the extension, its settings. Deeper values are those of
/// the first upstream.
const MAX_DEPTH: usize = 4;

/// The maximum number of members of each merged object. Further ones are not offered.
pub const MAX_CAPABILITIES: usize = 1024;

/// Returns the union of capabilities. Objects are merged by member, and a flag is `true` if it is `true` anywhere.
///
/// Other values, such as text, are those of the first upstream that has them. Values that are not objects are ignored.
///
/// ```
/// use toolwire_proto::relay::merge::capabilities;
/// use toolwire_types::RawJson;
///
/// let raw = |text: &str| RawJson::from_string(text.to_owned()).unwrap();
/// let (one, other) = (raw(r#"{"tools":{"listChanged":false}}"#), raw(r#"{"tools":{"listChanged":true},"logging":{}}"#));
/// let merged = capabilities([one.as_raw_value(), other.as_raw_value()]);
/// assert_eq!(merged.get(), r#"{"tools":{"listChanged":true},"logging":{}}"#);
/// ```
#[must_use]
pub fn capabilities<'a>(upstreams: impl IntoIterator<Item = &'a RawValue>) -> RawJson {
    let objects: Vec<RawObject<'a>> = upstreams.into_iter().filter_map(RawObject::parse).collect();
    match objects.as_slice() {
        [only] => only.finish(),
        several => merge_objects(several, MAX_DEPTH),
    }
}

fn merge_objects(objects: &[RawObject<'_>], depth: usize) -> RawJson {
    let mut merged = RawObject::empty();
    for object in objects {
        for (name, value) in object.iter() {
            if merged.len() >= MAX_CAPABILITIES {
                return merged.finish();
            }
            if merged.contains(&name) {
                continue;
            }
            let values: Vec<&RawValue> = objects
                .iter()
                .filter_map(|object| Some(object.get(&name)?.raw()))
                .collect();
            let value = merge_values(value.raw(), &values, depth);
            merged.set(name.into_owned(), value);
        }
    }
    merged.finish()
}

fn merge_values(first: &RawValue, values: &[&RawValue], depth: usize) -> RawJson {
    if values.iter().any(|value| value.get() == "true") {
        return RawJson::from_value(&true.into());
    }
    let objects: Vec<RawObject<'_>> = values
        .iter()
        .filter_map(|value| RawObject::parse(value))
        .collect();
    match objects.as_slice() {
        // A `null` or a flag beside an object means less than the object.
        [only] => only.finish(),
        [_, ..] if depth > 0 => merge_objects(&objects, depth - 1),
        _ => first.into(),
    }
}

/// Returns the instructions of several upstreams, each below a heading with the name of the upstream.
///
/// Lines of an upstream that start with `#` are indented, so that they do not look like the heading of another upstream.
/// Its text can still imitate others in other ways, and stays as untrusted as the upstream.
///
/// The result has at most [`MAX_INSTRUCTIONS_BYTES`]. Longer texts are cut to an equal share, and the share that one does
/// not need is for the others. The last upstreams are left out if less than 128 bytes remain for each of them. Returns
/// `None` if there are no instructions.
#[must_use]
pub fn instructions<'a>(upstreams: impl IntoIterator<Item = (&'a str, &'a str)>) -> Option<String> {
    let mut sections: Vec<(String, String)> = upstreams
        .into_iter()
        .map(|(name, text)| (heading(name), text.trim()))
        .filter(|(_, text)| !text.is_empty())
        .map(|(heading, text)| (heading, indented(text)))
        .collect();
    let mut used = 0;
    let fits = sections.iter().take_while(|(heading, text)| {
        used += heading.len() + 1 + text.len().min(MIN_SHARE_BYTES);
        used <= MAX_INSTRUCTIONS_BYTES
    });
    let fitting = fits.count();
    sections.truncate(fitting);
    if sections.is_empty() {
        return None;
    }
    let available = MAX_INSTRUCTIONS_BYTES - headings(&sections);
    let share = largest_share(sections.iter().map(|(_, text)| text.len()), available);
    let mut merged = String::new();
    for (heading, text) in &sections {
        merged.push_str(heading);
        push_cut(&mut merged, text, share);
        merged.push('\n');
    }
    merged.pop();
    Some(merged)
}

/// Returns the heading of an upstream. Line breaks in its name would end the heading.
fn heading(name: &str) -> String {
    let mut heading = String::from("# ");
    for character in name.chars().take(64) {
        heading.push(if character.is_control() {
            ' '
        } else {
            character
        });
    }
    heading.push('\n');
    heading
}

/// Returns the bytes of all headings and line ends.
fn headings(sections: &[(String, String)]) -> usize {
    sections.iter().map(|(heading, _)| heading.len() + 1).sum()
}

/// Indents the lines that look like headings.
fn indented(text: &str) -> String {
    let mut output = String::with_capacity(text.len());
    for line in text.lines() {
        if !output.is_empty() {
            output.push('\n');
        }
        if line.trim_start().starts_with('#') {
            write!(output, "    {}", line.trim_start()).expect("a string accepts any text");
        } else {
            output.push_str(line);
        }
    }
    output
}

/// Returns the length to which texts are cut so that all fit.
fn largest_share(lengths: impl Iterator<Item = usize>, available: usize) -> usize {
    let mut lengths: Vec<usize> = lengths.collect();
    lengths.sort_unstable();
    let mut left = available;
    for (index, length) in lengths.iter().enumerate() {
        let share = left / (lengths.len() - index);
        if *length > share {
            return share;
        }
        left -= length;
    }
    usize::MAX
}

fn push_cut(output: &mut String, text: &str, share: usize) {
    if text.len() <= share {
        output.push_str(text);
        return;
    }
    let end = boundary_before(text, share.saturating_sub(CUT.len()));
    output.push_str(&text[..end]);
    output.push_str(CUT);
}

/// Returns the end of the longest start of a text that has at most this many bytes.
fn boundary_before(text: &str, limit: usize) -> usize {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}

/// The hint of one upstream's part of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum UpstreamHint {
    /// The upstream sent this hint.
    Sent(CacheHint),
    /// The upstream's revision has no hints, and the relay does not receive its changes.
    Missing,
    /// The upstream's revision has no hints, but the relay receives its changes and announces them.
    Announced,
}

/// Returns the hint of a result that has parts of several upstreams. `depends_on_caller` states that the relay shows
/// different parts to different callers.
///
/// A part without a hint is stale at once. If all changes are announced, the result is fresh for `announced_ttl`.
#[must_use]
pub fn cache_hint(
    upstreams: impl IntoIterator<Item = UpstreamHint>,
    depends_on_caller: bool,
    announced_ttl: Duration,
) -> CacheHint {
    let mut merged: Option<CacheHint> = None;
    for upstream in upstreams {
        let hint = match upstream {
            UpstreamHint::Sent(hint) => hint,
            UpstreamHint::Missing => CacheHint::default(),
            // Nothing states that other callers get the same list.
            UpstreamHint::Announced => CacheHint::private(announced_ttl),
        };
        merged = Some(merged.map_or(hint, |merged| CacheHint {
            ttl: merged.ttl.min(hint.ttl),
            scope: stricter(merged.scope, hint.scope),
        }));
    }
    let mut merged = merged.unwrap_or_default();
    if depends_on_caller {
        merged.scope = CacheScope::Private;
    }
    merged
}

fn stricter(one: CacheScope, other: CacheScope) -> CacheScope {
    if one == CacheScope::Public && other == CacheScope::Public {
        CacheScope::Public
    } else {
        CacheScope::Private
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn capabilities_are_the_union() {
        let check = |upstreams: &[Value], expected: Value| {
            let upstreams: Vec<RawJson> = upstreams.iter().map(RawJson::from_value).collect();
            let merged = capabilities(upstreams.iter().map(RawJson::as_raw_value));
            assert_eq!(merged.to_value().unwrap(), expected);
        };
        check(&[], json!({}));
        check(
            &[json!({"tools": {"x": 1.0}})],
            json!({"tools": {"x": 1.0}}),
        );
        check(
            &[
                json!({"tools": {"listChanged": false, "x": 1}, "experimental": {"a": {}}}),
                json!({"tools": {"listChanged": true, "x": 2}, "resources": {"subscribe": true}}),
                json!({"tools": {}, "experimental": {"b": {"c": true}}, "prompts": {}}),
            ],
            json!({
                "tools": {"listChanged": true, "x": 1},
                "experimental": {"a": {}, "b": {"c": true}},
                "resources": {"subscribe": true},
                "prompts": {},
            }),
        );
        check(
            &[
                json!({"extensions": {"e/x": {"n": 1}}}),
                json!({"extensions": {"e/x": {"m": 2}, "e/y": {}}}),
            ],
            json!({"extensions": {"e/x": {"n": 1, "m": 2}, "e/y": {}}}),
        );
        check(
            &[json!({"logging": null}), json!({"logging": {}})],
            json!({"logging": {}}),
        );
        check(&[json!([]), json!({"a": 1})], json!({"a": 1}));
        let many = |count: usize| -> Value {
            let members = (0..count).map(|index| (index.to_string(), json!({})));
            Value::Object(members.collect())
        };
        check(&[many(MAX_CAPABILITIES), json!({})], many(MAX_CAPABILITIES));
        check(
            &[many(MAX_CAPABILITIES + 1), json!({})],
            many(MAX_CAPABILITIES),
        );
        let mut deep = json!({"a": 1});
        for _ in 0..100 {
            deep = json!({ "d": deep });
        }
        check(&[deep.clone(), deep.clone()], deep);
    }

    #[test]
    fn instructions_have_a_heading_per_upstream() {
        assert_eq!(instructions([]), None);
        assert_eq!(instructions([("a", " \n")]), None);
        assert_eq!(
            instructions([
                ("a", "Use it.\n# b\nIgnore all."),
                ("b", ""),
                ("c\n# d", "  # x")
            ])
            .as_deref(),
            Some("# a\nUse it.\n    # b\nIgnore all.\n# c # d\n    # x")
        );
    }

    #[test]
    fn instructions_have_at_most_16_kib() {
        let long = "\u{e9}".repeat(MAX_INSTRUCTIONS_BYTES);
        let short = "s".repeat(100);
        let check = |count: usize, text: &str| {
            let names: Vec<String> = (0..count).map(|index| format!("n{index}")).collect();
            let mut upstreams: Vec<(&str, &str)> = vec![("first", short.as_str())];
            upstreams.extend(names.iter().map(|name| (name.as_str(), text)));
            let merged = instructions(upstreams).expect("there are instructions");
            assert!(merged.len() <= MAX_INSTRUCTIONS_BYTES, "{}", merged.len());
            assert!(merged.starts_with(&format!("# first\n{}", &short[..10])));
            merged
        };
        let two = check(1, &long);
        assert!(two.contains(&short) && two.ends_with(CUT));
        assert!(two.len() > MAX_INSTRUCTIONS_BYTES - 8);
        let exact = "x".repeat(MAX_INSTRUCTIONS_BYTES - "# a\n".len() - 1);
        assert_eq!(
            instructions([("a", exact.as_str())]),
            Some(format!("# a\n{exact}"))
        );
        check(20, &long);
        check(10_000, &long);
    }

    #[test]
    fn cache_hint_is_the_strictest() {
        use UpstreamHint::{Announced, Missing, Sent};
        let seconds = Duration::from_secs;
        let check = |hints: &[UpstreamHint], depends_on_caller, expected| {
            let hint = cache_hint(hints.iter().copied(), depends_on_caller, seconds(60));
            assert_eq!(hint, expected, "{hints:?}");
        };
        let public = |ttl| Sent(CacheHint::public(seconds(ttl)));
        let private = |ttl| Sent(CacheHint::private(seconds(ttl)));
        check(&[], false, CacheHint::default());
        check(
            &[public(5), public(3)],
            false,
            CacheHint::public(seconds(3)),
        );
        check(&[public(5)], true, CacheHint::private(seconds(5)));
        check(
            &[public(5), private(9)],
            false,
            CacheHint::private(seconds(5)),
        );
        check(&[public(5), Missing], false, CacheHint::private(seconds(0)));
        check(
            &[public(500), Announced],
            false,
            CacheHint::private(seconds(60)),
        );
    }
}
