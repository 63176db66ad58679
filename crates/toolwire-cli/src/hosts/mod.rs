//! The hosts in which servers are installed, and the entries in their configuration files.
//!
//! A host is a row of a table: where its file is, and how it writes an entry. An edit changes only the text of the
//! entry, so that comments, order, indentation and line ends stay. A file that cannot be parsed is not changed.

mod config_file;
mod diff;
mod document;
mod entry;
mod entry_references;
mod extension_entry;
mod hidden_values;
mod hidden_yaml;
mod installed_server;
mod json_text;
mod own_command;
mod runner;
mod table;
mod toml_text;
mod yaml_text;

pub(crate) use config_file::ConfigFile;
pub(crate) use diff::changed_lines;
pub(crate) use document::{Document, Removal};
pub(crate) use entry::{NewEntry, server_of_entry};
pub(crate) use installed_server::{InstalledServer, Variable, check_name, name_of};
pub(crate) use own_command::OwnCommand;
pub(crate) use table::{HOSTS, Host, Scope};
