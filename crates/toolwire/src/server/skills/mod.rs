//! Skills: directories with instructions for models, served as the extension `io.modelcontextprotocol/skills`.
//!
//! A source (`source`) is a directory, files in the binary, or values of the author. Its skills are read once (`scan`,
//! `content`), and a catalog (`catalog`) gives every file its URI, its digest and its bytes. Requests use only the
//! catalog of their snapshot, so a list and a read of one snapshot always agree, and no URI becomes a path.

mod catalog;
mod content;
mod directory;
mod dynamic_body;
mod methods;
mod mime_type;
mod register;
mod rescan;
mod scan;
mod skill;
mod source;
mod visible;

pub(crate) use catalog::SkillCatalog;
pub use directory::SkillDirectory;
pub use scan::SkillFault;
pub use skill::Skill;
pub use source::Skills;
