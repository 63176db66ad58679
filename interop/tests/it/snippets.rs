//! The TypeScript and Python of "Copy as" and `--print`, run with the SDKs that they are written for.

use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::thread;

use toolwire_interop::{ListeningServer, Peer, Subject, Wire};

const HOW_TO_RUN: &str = "run the tests as described in CONTRIBUTING.md";

/// Each language has other escape sequences for these characters.
const TEXT: &str = "it's \"quoted\" \\ %s `id`\u{202e}\nline é 𝒳";

/// Runs `toolwire`, and returns its output.
fn printed(words: &[OsString]) -> String {
    let (toolwire, _) = Subject::Demo.command(Wire::Stdio).expect(HOW_TO_RUN);
    let output = Command::new(toolwire)
        .args(words)
        .stdin(Stdio::null())
        .output()
        .expect("the command starts");
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
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
    let command: Vec<OsString> = [OsString::from("--"), program.into()]
        .into_iter()
        .chain(arguments)
        .collect();
    let (program, arguments) = Subject::Demo.command(Wire::Http).expect(HOW_TO_RUN);
    let server = ListeningServer::start_program(&program, arguments).expect(HOW_TO_RUN);
    let text = format!("text={TEXT}");
    let echo: &[&str] = &["call", "echo", &text];
    let greet: &[&str] = &["prompt", "greet", "name=Ada"];
    let note: &[&str] = &["read", "demo://notes/todo"];
    let mut cases = Vec::new();
    for (form, peer) in [("typescript", Peer::TypeScript2), ("python", Peer::Python)] {
        for (words, is_command, expected) in [
            (echo, true, TEXT),
            (echo, false, TEXT),
            (greet, true, "Ada"),
            (note, false, "Write a server of your own."),
        ] {
            let mut line = vec![OsString::from(words[0])];
            if !is_command {
                line.push(server.url().into());
            }
            line.extend(words[1..].iter().map(OsString::from));
            line.extend(["--print", form].map(OsString::from));
            if is_command {
                line.extend(command.iter().cloned());
            }
            cases.push((printed(&line), peer, expected));
        }
    }
    thread::scope(|scope| {
        for (text, peer, expected) in &cases {
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
