//! List pages, and the opaque cursors between them.
//!
//! A cursor contains the last key that was sent and its index. If the list changed, the key is looked up again. A
//! client that follows cursors receives every entry that remained, in order, even if other entries are added or
//! removed.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use toolwire_types::ErrorObject;

/// One page: the entries to send, and the cursor of the next page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) next_cursor: Option<String>,
}

/// Selects a page of a list with `len` entries, whose keys `key_at` returns.
///
/// If `page_size` is 0, the page contains all entries.
pub(crate) fn page<'a>(
    len: usize,
    page_size: usize,
    cursor: Option<&str>,
    key_at: impl Fn(usize) -> &'a str,
    position_of: impl Fn(&str) -> Option<usize>,
) -> Result<Page, ErrorObject> {
    let start = match cursor {
        None => 0,
        Some(text) => {
            let (index, key) = decode(text).ok_or_else(invalid_cursor)?;
            let still_there = index < len && key_at(index) == key;
            match still_there.then_some(index).or_else(|| position_of(&key)) {
                Some(position) => position + 1,
                // The last entry of the previous page was removed, so the next entry now has its index.
                None => index.min(len),
            }
        }
    };
    let end = if page_size == 0 {
        len
    } else {
        len.min(start.saturating_add(page_size))
    };
    let next_cursor = (start < end && end < len).then(|| encode(end - 1, key_at(end - 1)));
    Ok(Page {
        start,
        end,
        next_cursor,
    })
}

fn invalid_cursor() -> ErrorObject {
    ErrorObject::invalid_params("unknown cursor; start again without one")
}

fn encode(index: usize, key: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("{index}:{key}"))
}

fn decode(cursor: &str) -> Option<(usize, String)> {
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
    let (index, key) = text.split_once(':')?;
    Some((index.parse().ok()?, key.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page_entries(
        keys: &[&str],
        size: usize,
        cursor: Option<&str>,
    ) -> Result<(Vec<String>, Option<String>), i64> {
        let position = |key: &str| keys.iter().position(|known| *known == key);
        page(keys.len(), size, cursor, |index| keys[index], position)
            .map(|page| {
                let entries = keys[page.start..page.end]
                    .iter()
                    .map(|key| (*key).to_owned())
                    .collect();
                (entries, page.next_cursor)
            })
            .map_err(|error| error.code)
    }

    #[test]
    fn pages_are_consecutive_and_end() {
        let keys = ["a", "b", "c", "d", "e"];
        let (first, next) = page_entries(&keys, 2, None).unwrap();
        let (second, last) = page_entries(&keys, 2, next.as_deref()).unwrap();
        let (third, end) = page_entries(&keys, 2, last.as_deref()).unwrap();
        assert_eq!([first, second, third].concat(), keys);
        assert_eq!(end, None);
        assert_eq!(
            page_entries(&keys, 0, None).unwrap(),
            (keys.map(str::to_owned).to_vec(), None)
        );
        assert_eq!(page_entries(&[], 3, None).unwrap(), (vec![], None));
        assert_eq!(
            page_entries(&["a", "b"], 2, None).unwrap().1,
            None,
            "a full last page has no cursor"
        );
    }

    #[test]
    fn changes_between_pages_skip_no_remaining_entry() {
        let (_, next) = page_entries(&["a", "b", "c", "d"], 2, None).unwrap();
        let rest = |keys: &[&str]| page_entries(keys, 2, next.as_deref()).unwrap().0;
        assert_eq!(
            rest(&["b", "c", "d"]),
            ["c", "d"],
            "an earlier entry was removed"
        );
        assert_eq!(
            rest(&["a", "c", "d"]),
            ["c", "d"],
            "the boundary entry itself was removed"
        );
        assert_eq!(
            rest(&["x", "a", "b", "c", "d"]),
            ["c", "d"],
            "an entry was put in front"
        );
        assert_eq!(rest(&["a"]), Vec::<String>::new());
    }

    #[test]
    fn unknown_cursors_are_rejected() {
        for cursor in [
            "",
            "nonsense!",
            "AAAA",
            &URL_SAFE_NO_PAD.encode("x:y"),
            &URL_SAFE_NO_PAD.encode("7"),
        ] {
            assert_eq!(
                page_entries(&["a"], 1, Some(cursor)),
                Err(-32602),
                "{cursor}"
            );
        }
    }
}
