//! A type with several `#[server]` blocks: all handlers are registered and share one value.

use std::fmt::Debug;
use std::sync::Mutex;

use serde_json::{Value, json};
use toolwire::{Server, server};
use toolwire_tests::peer::{Peer, call, complete, modern, text};

#[derive(Debug, Default)]
struct Notes {
    notes: Mutex<Vec<String>>,
}

#[server(name = "many-notes", parts("search", "admin"))]
impl Notes {
    /// Adds a note.
    #[tool]
    fn add(&self, note: String) -> String {
        self.notes.lock().expect("no panic").push(note);
        "added".to_owned()
    }
}

#[server(part = "search")]
impl Notes {
    /// Counts the notes that contain a text.
    #[tool]
    fn count(&self, part: String) -> String {
        let notes = self.notes.lock().expect("no panic");
        let found = notes.iter().filter(|note| note.contains(&part));
        found.count().to_string()
    }
}

/// A part in another module.
mod admin {
    use super::*;

    #[server(part = "admin")]
    impl Notes {
        /// Removes all notes.
        #[tool]
        fn clear(&self) -> String {
            self.notes.lock().expect("no panic").clear();
            "cleared".to_owned()
        }

        /// Summarizes the notes.
        #[prompt]
        fn summary(&self) -> String {
            self.notes.lock().expect("no panic").join(", ")
        }
    }
}

/// Parts of a generic type.
#[derive(Debug)]
struct Values<T>(T);

#[server(parts("more"))]
impl<T: Debug> Values<T> {
    /// Shows the value.
    #[tool]
    fn show(&self) -> String {
        format!("{:?}", self.0)
    }
}

#[server(part = "more")]
impl<T: Debug> Values<T> {
    /// Shows the value twice.
    #[tool]
    fn show_twice(&self) -> String {
        format!("{0:?} {0:?}", self.0)
    }
}

async fn names(server: &Server, method: &str, member: &str) -> Vec<Value> {
    let mut peer = Peer::connect(server);
    let result = peer.result_of(modern(1, method, json!({}))).await;
    let items = result[member].as_array().expect("a list").iter();
    items.map(|item| item["name"].clone()).collect()
}

#[tokio::test]
async fn handlers_of_all_parts_are_registered() {
    let server = Notes::default().into_server();
    assert_eq!(
        names(&server, "tools/list", "tools").await,
        ["add", "count", "clear"]
    );
    assert_eq!(names(&server, "prompts/list", "prompts").await, ["summary"]);
    let values = Server::new("values", "1").handlers(Values(7));
    assert_eq!(
        names(&values, "tools/list", "tools").await,
        ["show", "show_twice"]
    );
}

#[tokio::test]
async fn parts_share_one_value() {
    let server = Notes::default().into_server().without_server_info();
    let mut peer = Peer::connect(&server);
    for (tool, arguments, expected) in [
        ("add", json!({"note": "tea"}), "added"),
        ("count", json!({"part": "te"}), "1"),
        ("clear", json!({}), "cleared"),
        ("count", json!({"part": ""}), "0"),
    ] {
        peer.send(call(1, tool, arguments)).await;
        peer.expect(complete(1, text(expected))).await;
    }
}
