//! Handlers by name, in the order of registration.

use indexmap::IndexMap;

use crate::engine::BuildNameHasher;

/// A map from names to entries, in insertion order.
pub(crate) type NameMap<T> = IndexMap<String, T, BuildNameHasher>;
