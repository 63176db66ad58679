//! A source whose conflicts never prevent its mount.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};

use toolwire::{Catalog, Source, SourceListener};

use crate::source::GatewaySource;

/// The source of one mount. It offers nothing until it is mounted.
///
/// A server rejects a mount with a name that is taken, and hides names that are taken later. A gateway hides both: the
/// names of an upstream may change at any time, so a conflict must not depend on the moment of the mount.
pub(crate) struct MountedSource {
    source: GatewaySource,
    is_mounted: AtomicBool,
}

impl MountedSource {
    pub(crate) fn new(source: GatewaySource) -> Self {
        Self {
            source,
            is_mounted: AtomicBool::new(false),
        }
    }
}

impl Source for MountedSource {
    fn catalog(&self) -> Catalog {
        if self.is_mounted.load(Ordering::Acquire) {
            self.source.catalog()
        } else {
            Catalog::new()
        }
    }

    fn watch(&self, listener: SourceListener) -> Box<dyn Any + Send + Sync> {
        self.is_mounted.store(true, Ordering::Release);
        self.source.watch(listener)
    }

    fn set_subscribed(&self, uri: &str, is_subscribed: bool) {
        self.source.set_subscribed(uri, is_subscribed);
    }
}
