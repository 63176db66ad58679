//! The rules of skills, the extension `io.modelcontextprotocol/skills`.
//!
//! A skill is a directory with a `SKILL.md`: YAML front matter, then instructions. Server and client use the same
//! functions here, so that both read the same front matter and compute the same digests.

mod approval;
mod digest;
mod entry;
mod front_matter;
mod name;
mod uri;
mod verify;

pub use approval::approval_hash;
pub use digest::{digest, is_digest};
pub use entry::{
    InvalidEntry, InvalidFields, MAX_FILES, MAX_SKILL_BYTES, check_entry, check_fields,
};
pub use front_matter::{
    FrontMatterError, MAX_DEPTH, MAX_FRONT_MATTER_BYTES, instructions, parse_front_matter,
};
pub use name::{InvalidName, MAX_NAME_CHARS, check_name};
pub use uri::{InvalidPath, SKILL_FILE, SkillUri, file_uri, is_below, skill_uri};
pub use verify::{VerificationError, verify_file, verify_front_matter};
