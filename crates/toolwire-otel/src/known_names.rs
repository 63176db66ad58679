//! Names in metrics. Each name is a time series, so their number is limited.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use crate::conventions::value;
use crate::side::Side;
use crate::sync::lock;

/// The names that metrics may contain. The first ones of each peer that are used successfully are added, up to the limit.
#[derive(Debug)]
pub(crate) struct KnownNames {
    names: Mutex<HashMap<Peer, HashSet<Arc<str>>>>,
    limit: usize,
}

/// Whose names are counted together: this server, the servers of a client, or one upstream.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Peer {
    pub(crate) side: Side,
    pub(crate) upstream: Option<Arc<str>>,
}

impl KnownNames {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            names: Mutex::default(),
            limit,
        }
    }

    /// Returns a name for metrics. `exists` states that the peer did not invent it. Other names become `_other`.
    pub(crate) fn bounded(&self, peer: &Peer, name: &str, exists: bool) -> Arc<str> {
        let mut names = lock(&self.names);
        if !names.contains_key(peer) {
            // The program chooses the upstreams, so their number needs no limit.
            names.insert(peer.clone(), HashSet::new());
        }
        let Some(names) = names.get_mut(peer) else {
            return value::OTHER_NAME.into();
        };
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
        let server = Peer {
            side: Side::Server,
            upstream: None,
        };
        let check = |name: &str, exists: bool, expected: &str| {
            let bounded = names.bounded(&server, name, exists);
            assert_eq!(&*bounded, expected, "{name} {exists}");
        };
        check("a", false, "_other");
        check("a", true, "a");
        check("a", false, "a");
        check("b", true, "b");
        check("c", true, "_other");
        check("b", true, "b");
        // Each upstream has a limit of its own.
        for upstream in ["x", "y"] {
            let peer = Peer {
                side: Side::Client,
                upstream: Some(upstream.into()),
            };
            assert_eq!(&*names.bounded(&peer, "c", true), "c", "{upstream}");
        }
    }
}
