//! What a server has, by name and in the order in which it came.

use indexmap::IndexMap;

use crate::engine::BuildNameHasher;

/// Entries by their names.
pub(crate) type NameMap<T> = IndexMap<String, T, BuildNameHasher>;
