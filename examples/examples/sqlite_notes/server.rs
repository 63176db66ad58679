//! The server: two tools and a resource template over one table.

use std::ffi::OsString;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, OptionalExtension as _, params};
use schemars::JsonSchema;
use serde::Serialize;
use toolwire::ToolError;

/// A connection is used by one call at a time. For many readers, use a pool of connections.
pub(crate) struct Notes {
    connection: Mutex<Connection>,
}

/// A note that contains the words of a search.
#[derive(Serialize, JsonSchema)]
struct Hit {
    /// The URI at which the note can be read.
    uri: String,
    title: String,
    /// The part of the text with the words, which are in brackets.
    excerpt: String,
}

#[derive(Serialize, JsonSchema)]
struct Hits {
    hits: Vec<Hit>,
}

impl Notes {
    /// Opens or creates the database.
    pub(crate) fn open(file: Option<OsString>) -> rusqlite::Result<Self> {
        let connection = match file {
            Some(file) => Connection::open(file)?,
            None => Connection::open_in_memory()?,
        };
        connection.execute_batch(
            "CREATE VIRTUAL TABLE IF NOT EXISTS notes USING fts5(title, text, tokenize = 'porter unicode61')",
        )?;
        Ok(Self {
            connection: Mutex::new(connection),
        })
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// SQLite blocks its thread, so the tools run on threads for blocking work.
#[toolwire::server(name = "sqlite-notes", version = "1.0.0")]
impl Notes {
    /// Stores a note and returns its URI.
    #[tool(blocking)]
    fn add(
        &self,
        #[arg(min_length = 1, max_length = 200)] title: String,
        #[arg(max_length = 100_000)] text: String,
    ) -> Result<String, ToolError> {
        let connection = self.connection();
        connection.execute(
            "INSERT INTO notes (title, text) VALUES (?1, ?2)",
            params![title, text],
        )?;
        Ok(format!("notes:///{}", connection.last_insert_rowid()))
    }

    /// Finds notes that contain all these words, the best first.
    #[tool(blocking, read_only)]
    fn search(
        &self,
        #[arg(min_length = 1, max_length = 500)] words: String,
        #[arg(minimum = 1, maximum = 50, default = 10)] limit: u32,
    ) -> Result<Hits, ToolError> {
        let connection = self.connection();
        let mut statement = connection.prepare_cached(
            "SELECT rowid, title, snippet(notes, 1, '[', ']', '…', 8) FROM notes
             WHERE notes MATCH ?1 ORDER BY rank LIMIT ?2",
        )?;
        let hits = statement
            .query_map(params![quoted(&words), limit], |row| {
                Ok(Hit {
                    uri: format!("notes:///{}", row.get::<_, i64>(0)?),
                    title: row.get(1)?,
                    excerpt: row.get(2)?,
                })
            })
            .and_then(Iterator::collect)?;
        Ok(Hits { hits })
    }

    /// The text of a note.
    // One row is read by its key, which is short enough for a thread of the runtime.
    #[resource_template(uri = "notes:///{id}", mime_type = "text/plain")]
    fn note(&self, id: i64, #[arg(uri)] uri: &str) -> Result<String, ToolError> {
        let text = self
            .connection()
            .query_row("SELECT text FROM notes WHERE rowid = ?1", [id], |row| {
                row.get(0)
            })
            .optional()?;
        text.ok_or_else(|| ToolError::resource_not_found(uri))
    }
}

/// Returns a search expression in which every word is only a word: input cannot use operators.
fn quoted(words: &str) -> String {
    let quote = |word: &str| format!("\"{}\"", word.replace('"', "\"\""));
    words
        .split_whitespace()
        .map(quote)
        .collect::<Vec<_>>()
        .join(" ")
}
