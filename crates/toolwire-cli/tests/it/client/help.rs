//! The help, and terminals without colours.

use crate::client::run_command;
use crate::process::toolwire;

const COMMANDS: [&str; 46] = [
    "discover",
    "tools",
    "call",
    "resources",
    "read",
    "prompts",
    "prompt",
    "complete",
    "listen",
    "ping",
    "dev",
    "inspect",
    "proxy",
    "record",
    "replay",
    "gateway",
    "pins",
    "servers",
    "install",
    "uninstall",
    "installed",
    "new",
    "bundle",
    "publish",
    "login",
    "logout",
    "whoami",
    "demo",
    "doctor",
    "doctor redis",
    "completions",
    "task",
    "task get",
    "task wait",
    "task answer",
    "task cancel",
    "task list",
    "skills",
    "skills list",
    "skills show",
    "skills load",
    "skills check",
    "view",
    "view open",
    "view bundle",
    "",
];

#[tokio::test]
async fn help_fits_into_the_width_of_the_terminal() {
    let events = ["events", "events list", "events watch"];
    let events = events.iter().filter(|_| cfg!(feature = "events"));
    let commands: Vec<&str> = COMMANDS.iter().chain(events).copied().collect();
    for width in [80, 100] {
        for name in &commands {
            let words = name.split_whitespace().chain(["--help"]);
            let mut command = toolwire(&words.collect::<Vec<_>>());
            command.env("COLUMNS", width.to_string());
            let help = run_command(command).await.ok();
            for line in help.lines() {
                assert!(line.chars().count() <= width, "{name}, {width}: {line}");
            }
        }
    }
}

#[cfg(target_os = "linux")]
mod terminal {
    use crate::client::demo_command;
    use crate::client::terminal::{COLUMNS, run_with_colours};
    use crate::process::toolwire;

    #[tokio::test]
    async fn dumb_terminal_gets_no_control_characters() {
        let arguments = ["call", "countdown", "from=3", "delay_ms=60", "--verbose"];
        let mut command = demo_command(&arguments);
        command.env("TERM", "dumb").env_remove("NO_COLOR");
        let ended = run_with_colours(command, &[]).await;
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.shown.contains("tools/call"), "{ended:?}");
        assert!(!ended.shown.contains('\u{1b}'), "{ended:?}");
        // `CI` must not change this.
        for ci in [None, Some("true")] {
            let mut command = toolwire(&["tools", "no-such-server", "--jsno"]);
            command.env("TERM", "dumb").env_remove("NO_COLOR");
            match ci {
                Some(value) => command.env("CI", value),
                None => command.env_remove("CI"),
            };
            let ended = run_with_colours(command, &[]).await;
            assert!(!ended.shown.contains('\u{1b}'), "{ended:?}");
        }
    }

    #[tokio::test]
    async fn log_has_no_colours_if_they_are_switched_off() {
        for (name, value) in [("NO_COLOR", "1"), ("TERM", "dumb")] {
            let mut command = demo_command(&["ping", "--verbose"]);
            command.env_remove("NO_COLOR").env("TERM", "xterm");
            let ended = run_with_colours(command, &[]).await;
            assert!(ended.shown.contains('\u{1b}'), "{ended:?}");
            let mut command = demo_command(&["ping", "--verbose"]);
            command.env_remove("NO_COLOR").env("TERM", "xterm");
            command.env(name, value);
            let ended = run_with_colours(command, &[]).await;
            assert!(!ended.shown.contains('\u{1b}'), "{name}: {ended:?}");
        }
    }

    #[tokio::test]
    async fn width_of_the_terminal_is_used() {
        // Without a command, the help is written to standard error, which is the terminal.
        let mut command = toolwire(&[]);
        command.env("TERM", "dumb").env_remove("COLUMNS");
        let ended = run_with_colours(command, &[]).await;
        assert!(ended.shown.contains("Usage: toolwire"), "{ended:?}");
        let widest = ended
            .shown
            .lines()
            .map(|line| line.trim_end().chars().count());
        let widest = widest.max().unwrap_or_default();
        assert!(widest <= usize::from(COLUMNS), "{widest}: {ended:?}");
    }
}
