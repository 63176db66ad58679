//! The command `toolwire` responds to the three elicitations of the example `onboarding` with values from the command
//! line.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use toolwire_interop::{Subject, Wire};

/// Calls the tool with these values, and returns the output and the list of desks.
fn welcome(era: &str, values: &[&str]) -> (String, String) {
    let name = format!("desks_command_{era}_{}.txt", values.len());
    let desks = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&desks, "").expect("the temporary directory is writable");
    let how_to_run = "run the tests as described in CONTRIBUTING.md";
    let (toolwire, _) = Subject::Demo.command(Wire::Stdio).expect(how_to_run);
    let (server, arguments) = Subject::Onboarding(desks.clone())
        .command(Wire::Stdio)
        .expect(how_to_run);
    let output = Command::new(toolwire)
        .args(["call", "welcome", "--era", era])
        .args(values.iter().flat_map(|value| ["--answer", value]))
        .arg("--")
        .arg(server)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("the command starts");
    let printed = String::from_utf8(output.stdout).expect("the output is UTF-8");
    (
        printed,
        fs::read_to_string(desks).expect("the file is UTF-8"),
    )
}

#[test]
fn options_respond_to_every_elicitation() {
    for era in ["modern", "legacy"] {
        let (printed, desks) = welcome(era, &["name=Ada", "team=Platform", "inches=13"]);
        let expected = "Ada sits at desk 1 at Platform, with a laptop of 13 inches.\n";
        assert_eq!(printed, expected, "{era}");
        assert_eq!(desks, "Ada, Platform\n", "{era}");
    }
}

#[test]
fn missing_value_ends_the_call_without_a_side_effect() {
    for era in ["modern", "legacy"] {
        let (printed, desks) = welcome(era, &["name=Ada"]);
        assert_eq!(printed, "the user cancelled \"team\"\n", "{era}");
        assert_eq!(desks, "", "{era}");
    }
}
