//! Pins: an upstream cannot change its tools, prompts and instructions after the operator approved them.

mod difference;
mod lock_file;
mod offer;
mod review;
mod store;

pub use toolwire_proto::relay::pins::{PinKind, PinMode, PinStatus};

pub use self::difference::{DifferenceLine, differences, text_differences};
pub use self::lock_file::{
    LockFile, LockFileError, MAX_LOCK_BYTES, PinnedEntry, PinnedText, UpstreamPins,
};
pub use self::offer::Offer;
pub use self::review::{EntryReview, Review};
pub(crate) use self::store::PinStore;
