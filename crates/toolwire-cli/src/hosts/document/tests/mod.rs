mod exact_texts;

use serde_json::json;

use super::*;
use crate::hosts::installed_server::{InstalledServer, Variable};
use crate::hosts::table::HOSTS;

fn host(id: &str) -> &'static Host {
    Host::with_id(id).expect("the host exists")
}

fn entry(host: &Host, name: &str, environment: Vec<Variable>) -> NewEntry {
    let server = InstalledServer::Command {
        program: "/bin/notes".to_owned(),
        arguments: vec!["--stdio".to_owned(), "a \"b\"".to_owned()],
        environment,
    };
    let new = NewEntry::new(host, name, &server, "toolwire");
    new.unwrap_or_else(|failure| panic!("{}", failure.text()))
}

/// Returns JSON documents of a host, each with a name that says what it shows.
fn json_documents(host: &Host) -> Vec<(&'static str, String)> {
    let key = host.path[0];
    // The object with the entries: `{"key": …}`, or `{"key": {"inner": …}}`.
    let group = |entries: &str| match host.path {
        [_, inner] => format!("{{\"{inner}\": {entries}}}"),
        _ => entries.to_owned(),
    };
    let other = group("{\"other\": {\"command\": \"x\"}}");
    let same = group("{\"notes\": {\"command\": \"old\"}, \"z\": {\"command\": \"x\"}}");
    vec![
        ("empty object", "{}".to_owned()),
        ("empty object in lines", "{\n}\n".to_owned()),
        ("empty group", format!("{{\"{key}\": {}}}\n", group("{}"))),
        (
            "one line",
            format!("{{\"a\": 1, \"{key}\": {other}, \"b\": [1, 2]}}"),
        ),
        (
            "comments",
            format!(
                "// top\n{{\n  \"a\": 1, // one\n  /* two */ \"{key}\": {other} // three\n  // end\n}}\n// tail\n"
            ),
        ),
        ("tabs", format!("{{\n\t\"{key}\": {other}\n}}\n")),
        (
            "line ends of Windows",
            format!("{{\r\n  \"a\": true,\r\n  \"{key}\": {other}\r\n}}\r\n"),
        ),
        (
            "trailing commas",
            format!("{{\n    \"{key}\": {other},\n    \"a\": [\n        1,\n    ],\n}}\n"),
        ),
        ("no line end", format!("{{\n  \"{key}\": {other}\n}}")),
        (
            "byte order mark",
            format!("\u{feff}{{\n  \"{key}\": {other}\n}}\n"),
        ),
        ("the same name", format!("{{\n  \"{key}\": {same}\n}}\n")),
    ]
}

fn toml_documents() -> Vec<(&'static str, String)> {
    let text = "model = \"x\" # model\n\n# servers\n[mcp_servers.other]\ncommand = \"x\"\n";
    vec![
        ("comments", text.to_owned()),
        ("line ends of Windows", text.replace('\n', "\r\n")),
        ("no line end", text.trim_end().to_owned()),
        ("byte order mark", format!("\u{feff}{text}")),
        ("no servers", "[tools]\nweb_search = true\n".to_owned()),
        (
            "the same name",
            format!("[mcp_servers.notes]\ncommand = \"old\" # c\n\n{text}"),
        ),
        (
            "a text that looks like a table",
            format!("note = \"\"\"\n[mcp_servers.notes]\n\"\"\"\n\n{text}"),
        ),
    ]
}

fn yaml_documents() -> Vec<(&'static str, String)> {
    let text = "GOOSE_MODEL: y # model\n\n# servers\nextensions:\n  other: # mine\n    cmd: \"x\"\n\n# tail\nlast: 1\n";
    vec![
        ("comments", text.to_owned()),
        ("line ends of Windows", text.replace('\n', "\r\n")),
        ("no line end", text.trim_end().to_owned()),
        ("byte order mark", format!("\u{feff}{text}")),
        ("no servers", "GOOSE_MODEL: y\n".to_owned()),
        ("nothing after the key", "extensions:\nlast: 1\n".to_owned()),
        ("an empty mapping", "extensions: {} # none\n".to_owned()),
        ("start and end marks", format!("---\n{text}...\n")),
        (
            "the same name",
            text.replace("  other:", "  notes:\n    cmd: old # c\n  other:"),
        ),
        (
            "a text that looks like an entry",
            text.replace("last: 1", "last: |\n  extensions:\n    notes: 1"),
        ),
    ]
}

fn documents(host: &Host) -> Vec<(&'static str, String)> {
    match host.format {
        Format::Yaml => yaml_documents(),
        Format::Json => json_documents(host),
        Format::Toml => toml_documents(),
    }
}

#[test]
fn removal_of_an_installed_entry_restores_every_byte() {
    for host in &HOSTS {
        let new = entry(host, "notes", Vec::new());
        for (what, text) in documents(host) {
            let document = Document::new(host, &text);
            let installed = match document.with(&new) {
                Ok(installed) => installed,
                // The edit is rejected instead of a wrong one.
                Err(problem) if what == "a text that looks like a table" => {
                    assert!(problem.contains("more than the entry"), "{problem}");
                    continue;
                }
                Err(problem) => panic!("{}, {what}: {problem}", host.id),
            };
            let after = Document::new(host, &installed);
            let entries = after.entries().expect("the document is valid");
            assert_eq!(entries["notes"], new.entry, "{}, {what}", host.id);
            assert!(
                installed.contains("\"x\"") == text.contains("\"x\""),
                "{installed}"
            );
            let removal = after.without("notes", Some(&text));
            assert_eq!(removal, Ok(Removal::Restore(text)), "{}, {what}", host.id);
        }
        let created = Document::new(host, "").with(&new).expect("it is created");
        assert!(created.ends_with('\n'), "{created:?}");
        let removal = Document::new(host, &created).without("notes", None);
        assert_eq!(removal, Ok(Removal::DeleteFile), "{}", host.id);
    }
}

#[test]
fn text_outside_of_the_entry_stays() {
    let host = host("cursor");
    let new = entry(host, "notes", Vec::new());
    let text = "// servers\r\n{\r\n\t\"mcpServers\": {\r\n\t\t\"other\": {\"command\": \"x\"}, // mine\r\n\t\t// end\r\n\t}\r\n}\r\n";
    let installed = Document::new(host, text).with(&new);
    let expected = "// servers\r\n{\r\n\t\"mcpServers\": {\r\n\t\t\"other\": {\"command\": \"x\"}, // mine\r\n\
        \t\t\"notes\": {\r\n\t\t\t\"command\": \"/bin/notes\",\r\n\t\t\t\"args\": [\"--stdio\", \"a \\\"b\\\"\"],\r\n\t\t},\r\n\
        \t\t// end\r\n\t}\r\n}\r\n";
    assert_eq!(installed.as_deref(), Ok(expected));
}

#[test]
fn two_entries_can_be_removed_in_any_order() {
    for host in &HOSTS {
        let key = host.path[0];
        let text = match (host.format, host.path) {
            (Format::Json, [_, inner]) => format!(
                "{{\n  // mine\n  \"{key}\": {{\n    \"{inner}\": {{\n      \"x\": {{\"command\": \"x\"}}\n    }}\n  }}\n}}\n"
            ),
            (Format::Json, _) => {
                format!(
                    "{{\n  // mine\n  \"{key}\": {{\n    \"x\": {{\"command\": \"x\"}}\n  }}\n}}\n"
                )
            }
            (Format::Toml, _) => "a = 1\n\n[mcp_servers.x]\ncommand = \"x\"\n".to_owned(),
            (Format::Yaml, _) => "extensions:\n  x: {cmd: x}\n# mine\na: 1\n".to_owned(),
        };
        let first = Document::new(host, &text).with(&entry(host, "first", Vec::new()));
        let first = first.expect("the document is valid");
        let both = Document::new(host, &first).with(&entry(host, "second", Vec::new()));
        let both = both.expect("the document is valid");
        for (one, other) in [("first", "second"), ("second", "first")] {
            let removal = Document::new(host, &both).without(one, Some(&text));
            let Ok(Removal::Edit(edited)) = removal else {
                panic!("{}: {removal:?}", host.id);
            };
            assert!(!edited.contains(one), "{edited}");
            let removal = Document::new(host, &edited).without(other, Some(&text));
            assert_eq!(removal, Ok(Removal::Restore(text.clone())), "{}", host.id);
        }
    }
}

#[test]
fn entry_that_the_user_changed_is_removed_alone() {
    let host = host("cursor");
    let text = "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"}, // mine\n    \"notes\": {\"command\": \"mine\"}\n  }\n}\n";
    let removal = Document::new(host, text).without("notes", Some("{}"));
    let expected = "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"} // mine\n  }\n}\n";
    assert_eq!(removal, Ok(Removal::Edit(expected.to_owned())));
    let absent = Document::new(host, text).without("other", None);
    assert_eq!(absent, Ok(Removal::Absent));
}

#[test]
fn document_that_cannot_be_parsed_is_rejected_with_its_place() {
    fn check(id: &str, text: &str, part: &str) {
        let host = host(id);
        let document = Document::new(host, text);
        let problem = document.with(&entry(host, "notes", Vec::new()));
        let problem = problem.expect_err("the document is invalid");
        assert!(problem.contains(part), "{problem}");
        assert!(!problem.contains("hunter2"), "{problem}");
    }
    check("cursor", "{\n  \"mcpServers\": {,}\n}", "line 2, column 18");
    check("cursor", "{\"a\": \"hunter2", "line 1, column 7");
    check("cursor", "[]", "not an object");
    check("cursor", "{\"mcpServers\": []}", "not an object");
    check("opencode", "{\"mcp\": 1}", "`mcp` is not an object");
    let older = "{\"mcp\": {\"a\": {\"type\": \"local\", \"command\": [\"hunter2\"]}}}";
    check(
        "opencode",
        older,
        "`mcp` has the server \"a\" in the form of opencode 1",
    );
    check("codex", "[a]\nb = hunter2\n", "line 2, column 5");
    check("goose", "a: 1\n\tb: hunter2\n", "found a tab at line 1");
    check("goose", "extensions: &a {}\nb: hunter2\n", "anchor");
    check("goose", "extensions: [hunter2]\n", "is not a mapping");
}

#[test]
fn form_that_cannot_be_extended_is_rejected() {
    let host = host("codex");
    let inline = Document::new(host, "mcp_servers = { x = { command = \"y\" } }\n");
    assert!(inline.with(&entry(host, "notes", Vec::new())).is_err());
    let host = self::host("goose");
    for text in [
        "extensions: {x: {cmd: y}}\n",
        "{extensions: {x: {cmd: y}}}\n",
        // The end of the text belongs to its value.
        "extensions:\n  x:\n    cmd: |+\n      y\n\n",
    ] {
        let problem = Document::new(host, text).with(&entry(host, "notes", Vec::new()));
        assert!(problem.is_err(), "{problem:?}");
    }
    // The editor would change the first of two members, and the host uses the last one.
    let host = self::host("cursor");
    let twice = "{\"mcpServers\": {\"notes\": {}, \"notes\": {\"command\": \"x\"}}}";
    let problem = Document::new(host, twice).with(&entry(host, "notes", Vec::new()));
    assert!(problem.is_err_and(|problem| problem.contains("more than the entry")));
}

#[test]
fn inputs_are_added_once_and_removed_with_their_entry() {
    let host = host("vscode");
    let key = || {
        vec![Variable {
            name: "KEY".to_owned(),
            value: None,
        }]
    };
    let text = "{\n\t\"inputs\": [\n\t\t{\"id\": \"mine\", \"type\": \"promptString\"}\n\t],\n\t\"servers\": {\n\t\t\"x\": {\"command\": \"x\"}\n\t}\n}\n";
    let new = entry(host, "notes", key());
    let installed = Document::new(host, text).with(&new).expect("it is valid");
    let value = Document::new(host, &installed)
        .parse()
        .expect("it is valid");
    assert_eq!(value["inputs"].as_array().map(Vec::len), Some(2));
    assert_eq!(
        value["servers"]["notes"]["env"],
        json!({"KEY": "${input:notes-KEY}"})
    );
    let removal = Document::new(host, &installed).without("notes", Some(text));
    assert_eq!(removal, Ok(Removal::Restore(text.to_owned())));
    let removal = Document::new(host, &installed).without("notes", None);
    assert_eq!(removal, Ok(Removal::Edit(text.to_owned())));
    // The variable of another entry has an input of its own, which stays.
    let second = entry(host, "second", key());
    let both = Document::new(host, &installed)
        .with(&second)
        .expect("it is valid");
    let Ok(Removal::Edit(edited)) = Document::new(host, &both).without("notes", Some(text)) else {
        panic!("{both}");
    };
    assert!(edited.contains("\"second-KEY\""), "{edited}");
    assert!(!edited.contains("notes-KEY"), "{edited}");
    // An input that the user uses in another entry stays, too.
    let shared = both.replace("${input:second-KEY}", "${input:notes-KEY}");
    let Ok(Removal::Edit(edited)) = Document::new(host, &shared).without("notes", Some(text))
    else {
        panic!("{shared}");
    };
    assert!(edited.contains("\"notes-KEY\""), "{edited}");
}
