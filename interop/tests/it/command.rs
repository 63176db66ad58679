//! The command `toolwire` answers the three questions of the example `onboarding`, with answers given beforehand.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use toolwire_interop::{Subject, Wire};

/// Calls the tool with these answers, and returns what is printed and who has a desk then.
fn welcome(era: &str, answers: &[&str]) -> (String, String) {
    let name = format!("desks_command_{era}_{}.txt", answers.len());
    let desks = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&desks, "").expect("there is a directory for files of tests");
    let built = "the tests are run as CONTRIBUTING.md says";
    let (toolwire, _) = Subject::Demo.command(Wire::Stdio).expect(built);
    let (server, arguments) = Subject::Onboarding(desks.clone())
        .command(Wire::Stdio)
        .expect(built);
    let output = Command::new(toolwire)
        .args(["call", "welcome", "--era", era])
        .args(answers.iter().flat_map(|answer| ["--answer", answer]))
        .arg("--")
        .arg(server)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("the command starts");
    let printed = String::from_utf8(output.stdout).expect("texts are UTF-8");
    (printed, fs::read_to_string(desks).expect("texts are UTF-8"))
}

#[test]
fn every_question_finds_its_answer() {
    for era in ["modern", "legacy"] {
        let (printed, desks) = welcome(era, &["name=Ada", "team=Platform", "inches=13"]);
        let sits = "Ada sits at desk 1 at Platform, with a laptop of 13 inches.\n";
        assert_eq!(printed, sits, "{era}");
        assert_eq!(desks, "Ada, Platform\n", "{era}");
    }
}

#[test]
fn a_question_without_an_answer_ends_the_call_before_anything_happens() {
    for era in ["modern", "legacy"] {
        let (printed, desks) = welcome(era, &["name=Ada"]);
        assert_eq!(printed, "the user cancelled \"place\"\n", "{era}");
        assert_eq!(desks, "", "{era}");
    }
}
