//! The TypeScript and Python that the page of `toolwire inspect` copies, run with the SDKs that they are written for.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use serde_json::{Value, json};
use toolwire_interop::{ListeningServer, Peer, Subject, Wire};

const HOW_TO_RUN: &str = "run the tests as described in CONTRIBUTING.md";

/// The page escapes these characters in another way in each language.
const TEXT: &str = "it's \"quoted\" \\ %s `id`\u{202e}\nline é 𝒳";

fn exchange(kind: &str, name: &str, arguments: &Value) -> Value {
    json!({"kind": kind, "name": name, "arguments": arguments})
}

/// Returns the state of the page for a server.
fn state(target: &Value) -> Value {
    json!({"target": target, "settings": {"era": "auto"}, "connection": {}})
}

/// Returns the texts that the page copies.
fn copied(snippets: &[Value]) -> Vec<String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../page/tests/print_snippets.mjs");
    let output = Command::new("node")
        .arg(script)
        .arg(Value::from(snippets).to_string())
        .stdin(Stdio::null())
        .output()
        .expect("node starts");
    assert!(output.status.success(), "{HOW_TO_RUN}: {output:?}");
    serde_json::from_slice(&output.stdout).expect("a list of texts")
}

/// Returns a program that prints the text of its result as JSON, because both languages print texts as literals of their own.
fn printing_json(peer: Peer, text: &str) -> String {
    match peer {
        Peer::Python => {
            let show = "def show(result):\n    print(json.dumps(result.content[0].text))\n\n\nasyncio.run(";
            let text = text.replace("print(await ", "show(await ");
            text.replace("asyncio.run(", show)
        }
        _ => format!("{text}\nconsole.log(JSON.stringify(result.content[0].text));\n"),
    }
}

#[test]
fn copied_programs_print_the_results_of_the_server() {
    let (program, arguments) = Subject::Demo.command(Wire::Stdio).expect(HOW_TO_RUN);
    let words = arguments.iter().map(|word| word.to_string_lossy());
    let command: Vec<_> = [program.to_string_lossy()]
        .into_iter()
        .chain(words)
        .collect();
    let stdio = state(&json!({"transport": "stdio", "label": "", "command": command}));
    let (program, arguments) = Subject::Demo.command(Wire::Http).expect(HOW_TO_RUN);
    let server = ListeningServer::start_program(&program, arguments).expect(HOW_TO_RUN);
    let http = state(&json!({"transport": "http", "label": "", "url": server.url()}));

    let echo = exchange("tools", "echo", &json!({"text": TEXT}));
    let greet = exchange("prompts", "greet", &json!({"name": "Ada"}));
    let note = exchange("resources", "demo://notes/todo", &json!({}));
    let mut cases = Vec::new();
    for (title, peer) in [("TypeScript", Peer::TypeScript2), ("Python", Peer::Python)] {
        for (exchange, state, expected) in [
            (&echo, &stdio, TEXT),
            (&greet, &stdio, "Ada"),
            (&note, &http, "Write a server of your own."),
        ] {
            let snippet = json!({"title": title, "exchange": exchange, "state": state});
            cases.push((snippet, peer, expected));
        }
    }
    let snippets: Vec<Value> = cases.iter().map(|case| case.0.clone()).collect();
    let texts = copied(&snippets);
    assert_eq!(texts.len(), cases.len());
    thread::scope(|scope| {
        for ((_, peer, expected), text) in cases.iter().zip(&texts) {
            scope.spawn(move || {
                let program = match *expected {
                    TEXT => printing_json(*peer, text),
                    _ => text.clone(),
                };
                let printed = peer.run_program(&program);
                let printed = printed.unwrap_or_else(|problem| panic!("{problem}\n{program}"));
                let is_printed = printed.iter().any(|line| match *expected {
                    TEXT => serde_json::from_str(line).is_ok_and(|printed: String| printed == TEXT),
                    expected => line.contains(expected),
                });
                assert!(is_printed, "{program}\n{printed:?}");
            });
        }
    });
    drop(server);
}
