//! The limits of a catalog. Each function that adds or replaces an entry checks them.

use toolwire_types::RawJson;

use crate::server::mount::Catalog;
use crate::server::registry::RegistrationError;

/// The maximum number of entries of a catalog.
const MAX_ENTRIES: usize = 10_000;

/// The maximum bytes of a raw descriptor.
const MAX_DESCRIPTOR_BYTES: usize = 64 * 1024;

impl Catalog {
    /// Rejects one more entry if the catalog is full.
    pub(super) fn check_capacity(&self) -> Result<(), RegistrationError> {
        let lists = [
            self.tools.len(),
            self.prompts.len(),
            self.resources.len(),
            self.templates.len(),
        ];
        if lists.iter().sum::<usize>() < MAX_ENTRIES {
            return Ok(());
        }
        Err(RegistrationError::new(format!(
            "the catalog already has {MAX_ENTRIES} entries; offer fewer, or split the source"
        )))
    }
}

/// Rejects a raw descriptor that is too large.
pub(super) fn check_descriptor(descriptor: &RawJson) -> Result<(), RegistrationError> {
    let bytes = descriptor.get().len();
    if bytes <= MAX_DESCRIPTOR_BYTES {
        return Ok(());
    }
    let start: String = descriptor.get().chars().take(80).collect();
    Err(RegistrationError::new(format!(
        "the descriptor `{start}…` has {bytes} bytes; the limit is {MAX_DESCRIPTOR_BYTES}"
    )))
}
