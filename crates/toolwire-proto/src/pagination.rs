//! Pagination of a list that always ends.
//!
//! Cursors are opaque: they are sent back unchanged and compared, never parsed. Only an absent `nextCursor` ends a
//! list. An empty one is an ordinary cursor. Spec 2026-07-28, server/utilities/pagination.

use std::collections::BTreeSet;
use std::fmt;

use sha2::{Digest, Sha256};

/// The default limit of pages that a client reads of one list. The specification sets no limit.
pub const DEFAULT_PAGES: usize = 1000;

/// The state of reading one list. After each page it returns the cursor of the next page.
///
/// ```
/// use toolwire_proto::pagination::PageCursor;
///
/// let mut pages = PageCursor::default();
/// assert_eq!(pages.next(Some("second")), Ok(Some("second".to_owned())));
/// assert_eq!(pages.next(None), Ok(None));
/// ```
#[derive(Debug, Clone)]
pub struct PageCursor {
    limit: usize,
    pages: usize,
    /// Digests of cursors. Cursors themselves may be as long as messages.
    seen: BTreeSet<[u8; 32]>,
}

impl PageCursor {
    /// Creates a cursor for at most `limit` pages. The first page is always allowed.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            pages: 0,
            seen: BTreeSet::new(),
        }
    }

    /// Takes the `nextCursor` of the page that was just read. Returns `None` at the end of the list.
    ///
    /// # Errors
    /// Returns an error if the cursor was used before, because the list would never end, or if the next page exceeds
    /// the limit.
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

    /// Returns the number of pages that were read.
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

/// A list that does not end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PageError {
    /// This page, counted from 1, has a cursor that an earlier page had.
    RepeatedCursor {
        /// The number of the page.
        page: usize,
    },
    /// The list has more pages than the client reads.
    TooManyPages {
        /// The limit of the client.
        limit: usize,
    },
}

impl fmt::Display for PageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RepeatedCursor { page } => write!(
                f,
                "page {page} of the list points back to an earlier page, so the list never ends; this is a bug of the \
                 server, request single pages to read its items"
            ),
            Self::TooManyPages { limit } => write!(
                f,
                "the list has more than {limit} pages; raise the limit or request single pages"
            ),
        }
    }
}

impl std::error::Error for PageError {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read_pages(
        limit: usize,
        cursors: &[Option<&str>],
    ) -> Vec<Result<Option<String>, PageError>> {
        let mut pages = PageCursor::new(limit);
        cursors.iter().map(|cursor| pages.next(*cursor)).collect()
    }

    #[test]
    fn only_an_absent_cursor_ends_the_list() {
        let steps = read_pages(9, &[Some("a"), Some(""), Some(" a"), Some("null"), None]);
        let cursors: Vec<_> = steps.into_iter().map(|step| step.expect("new")).collect();
        let cursors: Vec<_> = cursors.iter().map(Option::as_deref).collect();
        assert_eq!(
            cursors,
            [Some("a"), Some(""), Some(" a"), Some("null"), None]
        );
    }

    #[test]
    fn repeated_cursor_is_an_error() {
        let check = |cursors: &[&str]| {
            let cursors: Vec<_> = cursors.iter().copied().map(Some).collect();
            let page = cursors.len();
            let steps = read_pages(9, &cursors);
            assert!(steps[..page - 1].iter().all(Result::is_ok));
            assert_eq!(steps[page - 1], Err(PageError::RepeatedCursor { page }));
        };
        check(&["a", "a"]);
        check(&["", ""]);
        check(&["a", "b", "a"]);
        check(&["a", "b", "c", "b"]);
    }

    #[test]
    fn default_limit_is_a_thousand_pages() {
        let mut pages = PageCursor::default();
        for page in 1..DEFAULT_PAGES {
            assert!(pages.next(Some(&page.to_string())).is_ok());
        }
        let mut at_the_end = pages.clone();
        assert_eq!(at_the_end.next(None), Ok(None));
        assert_eq!(at_the_end.pages(), 1000);
        assert_eq!(
            pages.next(Some("more")),
            Err(PageError::TooManyPages { limit: 1000 })
        );
    }

    #[test]
    fn first_page_is_always_allowed() {
        for limit in [0, 1] {
            assert_eq!(read_pages(limit, &[None]), [Ok(None)]);
            let more = read_pages(limit, &[Some("a")]);
            assert_eq!(more, [Err(PageError::TooManyPages { limit })]);
        }
    }

    #[test]
    fn errors_name_the_remedy() {
        let shown = PageError::TooManyPages { limit: 3 }.to_string();
        assert!(shown.contains("more than 3 pages") && shown.contains("raise the limit"));
        let shown = PageError::RepeatedCursor { page: 7 }.to_string();
        assert!(shown.contains("page 7"));
    }

    proptest! {
        /// For any cursors of a server, pagination ends, and no cursor is requested twice.
        #[test]
        fn pagination_always_ends(cursors in proptest::collection::vec("[a-e]{0,2}", 0..64), limit in 1_usize..20) {
            let mut pages = PageCursor::new(limit);
            let mut requested = Vec::new();
            for cursor in &cursors {
                match pages.next(Some(cursor)) {
                    Ok(cursor) => requested.push(cursor.expect("the list goes on")),
                    Err(_) => break,
                }
            }
            prop_assert!(requested.len() < limit);
            let mut distinct = requested.clone();
            distinct.sort_unstable();
            distinct.dedup();
            prop_assert_eq!(distinct.len(), requested.len());
        }
    }
}
