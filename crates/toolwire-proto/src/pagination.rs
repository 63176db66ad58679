//! Walking through the pages of a list without walking in circles.
//!
//! Cursors are opaque: they are sent back as they came and compared, never read. Only an absent `nextCursor` ends a
//! list; an empty one is a cursor like any other. Spec 2026-07-28, server/utilities/pagination.

use std::collections::BTreeSet;
use std::fmt;

use sha2::{Digest, Sha256};

/// How many pages of one list a client reads, unless told otherwise; the specification sets no limit.
pub const DEFAULT_PAGES: usize = 1000;

/// The way through one list: tells after each page which cursor to ask for next.
///
/// ```
/// use toolwire_proto::pagination::PageCursor;
///
/// let mut walk = PageCursor::default();
/// assert_eq!(walk.next(Some("second")), Ok(Some("second".to_owned())));
/// assert_eq!(walk.next(None), Ok(None));
/// ```
#[derive(Debug, Clone)]
pub struct PageCursor {
    limit: usize,
    pages: usize,
    /// Digests instead of cursors, because a server may make cursors as long as messages.
    seen: BTreeSet<[u8; 32]>,
}

impl PageCursor {
    /// Allows this many pages, the first included; the first is always allowed.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            pages: 0,
            seen: BTreeSet::new(),
        }
    }

    /// Takes the `nextCursor` of the page that was just read; `None` when the list is at its end.
    ///
    /// # Errors
    /// When the cursor was given before, so that the list would never end, or when the next page would be one too many.
    pub fn next(&mut self, next_cursor: Option<&str>) -> Result<Option<String>, PageError> {
        self.pages += 1;
        let Some(cursor) = next_cursor else {
            return Ok(None);
        };
        if !self.seen.insert(Sha256::digest(cursor).into()) {
            return Err(PageError::RepeatedCursor { page: self.pages });
        }
        if self.pages >= self.limit {
            return Err(PageError::TooManyPages { limit: self.limit });
        }
        Ok(Some(cursor.to_owned()))
    }

    /// How many pages were read.
    #[must_use]
    pub fn pages(&self) -> usize {
        self.pages
    }
}

impl Default for PageCursor {
    fn default() -> Self {
        Self::new(DEFAULT_PAGES)
    }
}

/// A list that does not come to an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PageError {
    /// This page, counted from 1, named a cursor that an earlier one had named.
    RepeatedCursor {
        /// The number of the page.
        page: usize,
    },
    /// There are more pages than this client reads.
    TooManyPages {
        /// How many it reads.
        limit: usize,
    },
}

impl fmt::Display for PageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RepeatedCursor { page } => write!(
                f,
                "page {page} of the list points back to an earlier page, so the list never ends; this is a bug of the \
                 server, ask for single pages to read what there is"
            ),
            Self::TooManyPages { limit } => write!(
                f,
                "the list has more than {limit} pages; raise the limit or ask for single pages"
            ),
        }
    }
}

impl std::error::Error for PageError {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn walk(limit: usize, cursors: &[Option<&str>]) -> Vec<Result<Option<String>, PageError>> {
        let mut walk = PageCursor::new(limit);
        cursors.iter().map(|cursor| walk.next(*cursor)).collect()
    }

    #[test]
    fn only_an_absent_cursor_ends_the_list() {
        let steps = walk(9, &[Some("a"), Some(""), Some(" a"), Some("null"), None]);
        let cursors: Vec<_> = steps.into_iter().map(|step| step.expect("new")).collect();
        let cursors: Vec<_> = cursors.iter().map(Option::as_deref).collect();
        assert_eq!(
            cursors,
            [Some("a"), Some(""), Some(" a"), Some("null"), None]
        );
    }

    #[test]
    fn a_cursor_that_returns_is_an_error() {
        let check = |cursors: &[&str]| {
            let cursors: Vec<_> = cursors.iter().copied().map(Some).collect();
            let page = cursors.len();
            let steps = walk(9, &cursors);
            assert!(steps[..page - 1].iter().all(Result::is_ok));
            assert_eq!(steps[page - 1], Err(PageError::RepeatedCursor { page }));
        };
        check(&["a", "a"]);
        check(&["", ""]);
        check(&["a", "b", "a"]);
        check(&["a", "b", "c", "b"]);
    }

    #[test]
    fn the_default_is_a_thousand_pages() {
        let mut walk = PageCursor::default();
        for page in 1..DEFAULT_PAGES {
            assert!(walk.next(Some(&page.to_string())).is_ok());
        }
        let mut at_the_end = walk.clone();
        assert_eq!(at_the_end.next(None), Ok(None));
        assert_eq!(at_the_end.pages(), 1000);
        assert_eq!(
            walk.next(Some("more")),
            Err(PageError::TooManyPages { limit: 1000 })
        );
    }

    #[test]
    fn the_first_page_is_always_allowed() {
        for limit in [0, 1] {
            assert_eq!(walk(limit, &[None]), [Ok(None)]);
            let more = walk(limit, &[Some("a")]);
            assert_eq!(more, [Err(PageError::TooManyPages { limit })]);
        }
    }

    #[test]
    fn errors_say_what_to_do() {
        let shown = PageError::TooManyPages { limit: 3 }.to_string();
        assert!(shown.contains("more than 3 pages") && shown.contains("raise the limit"));
        let shown = PageError::RepeatedCursor { page: 7 }.to_string();
        assert!(shown.contains("page 7"));
    }

    proptest! {
        /// Whatever a server says, the walk ends, and no cursor is asked for twice.
        #[test]
        fn every_walk_ends(cursors in proptest::collection::vec("[a-e]{0,2}", 0..64), limit in 1_usize..20) {
            let mut walk = PageCursor::new(limit);
            let mut asked = Vec::new();
            for cursor in &cursors {
                match walk.next(Some(cursor)) {
                    Ok(cursor) => asked.push(cursor.expect("the list goes on")),
                    Err(_) => break,
                }
            }
            prop_assert!(asked.len() < limit);
            let mut distinct = asked.clone();
            distinct.sort_unstable();
            distinct.dedup();
            prop_assert_eq!(distinct.len(), asked.len());
        }
    }
}
