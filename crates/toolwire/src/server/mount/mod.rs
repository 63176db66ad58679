//! Mounting: a server that offers the tools, prompts and resources of other servers and sources.
//!
//! The entries of a mounted source are registered on the server under names of its own, and stay up to date when the
//! source changes. Requests are routed by the table of names, as for other entries.

mod arguments;
mod builder;
mod catalog_limits;
mod declarations;
mod edit;
mod entries;
mod install;
mod mounted_uris;
mod origin;
mod part;
#[cfg(feature = "relay")]
mod roots;
mod routing;
mod source;
mod subscriptions;
#[cfg(feature = "relay")]
mod tasks;
mod uris;

pub(crate) use arguments::HiddenArguments;
pub use builder::Mount;
pub(crate) use declarations::Declarations;
pub(crate) use entries::{conflict, sort};
pub(crate) use install::Mounts;
pub use mounted_uris::MountedUris;
pub(crate) use origin::{CatalogEntry, Origin};
#[cfg(feature = "relay")]
pub(crate) use roots::{ROOTS_CHANGED, RootsListener};
pub use source::{Catalog, Source, SourceListener};
pub(crate) use subscriptions::{SubscriptionCounts, UriSubscription};
#[cfg(feature = "relay")]
pub(crate) use tasks::{TaskDesigns, UpstreamTask, unknown_task};
pub(crate) use uris::{ExposedUris, UriClaims, UriExposure};
