//! Skills of a server: instructions with files, which the client verifies against the entry of the skill.
//!
//! Listing skills reads no file. `Client::load_skill` reads the `SKILL.md`, and [`LoadedSkill::read`] each other file when
//! it is needed. The rules are in `toolwire_proto::skills`. This module stores nothing: a host that caches files has to
//! verify them again.

mod loaded;
mod methods;

pub use loaded::LoadedSkill;
