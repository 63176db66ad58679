//! Names in metrics. Each name is a time series, so their number is limited.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use crate::conventions::value;

/// The names that metrics may contain. The first ones that are used successfully are added, up to the limit.
#[derive(Debug)]
pub(crate) struct KnownNames {
    names: Mutex<HashSet<Arc<str>>>,
    limit: usize,
}

impl KnownNames {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            names: Mutex::default(),
            limit,
        }
    }

    /// Returns a name for metrics. `exists` states that the peer did not invent it. Other names become `_other`.
    pub(crate) fn bounded(&self, name: &str, exists: bool) -> Arc<str> {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = names.get(name) {
            return Arc::clone(known);
        }
        if !exists || names.len() >= self.limit {
            return value::OTHER_NAME.into();
        }
        let name: Arc<str> = name.into();
        names.insert(Arc::clone(&name));
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_beyond_the_limit_and_unknown_ones_are_other() {
        let names = KnownNames::new(2);
        let check = |name: &str, exists: bool, expected: &str| {
            assert_eq!(&*names.bounded(name, exists), expected, "{name} {exists}");
        };
        check("a", false, "_other");
        check("a", true, "a");
        check("a", false, "a");
        check("b", true, "b");
        check("c", true, "_other");
        check("b", true, "b");
    }
}
