//! Programs that start another program, such as `npx`: the name of what they start.

/// How a program names what it starts.
struct Runner {
    programs: &'static [&'static str],
    /// The words before the name.
    command: &'static [&'static str],
    options: Options,
    /// The options whose value names what is started, the most specific one first.
    named_by: &'static [&'static str],
    /// Whether the first word after the command and the options names what is started.
    has_item: bool,
}

/// Which options take the next word as their value.
enum Options {
    Valued(&'static [&'static str]),
    /// All except for these long ones and these letters.
    ValuedExcept(&'static [&'static str], &'static str),
}

const UV_OPTIONS: Options = Options::Valued(&[
    "--directory",
    "--extra",
    "--from",
    "--index",
    "--index-url",
    "--project",
    "--python",
    "--with",
    "--with-editable",
    "--with-requirements",
    "-p",
    "-w",
]);

const NPM_OPTIONS: Options = Options::Valued(&[
    "--call",
    "--package",
    "--prefix",
    "--registry",
    "--workspace",
    "-c",
    "-p",
]);

const RUNNERS: [Runner; 9] = [
    Runner {
        programs: &["npx", "bunx", "pnpx"],
        command: &[],
        options: NPM_OPTIONS,
        named_by: &["--package", "-p"],
        has_item: true,
    },
    Runner {
        programs: &["npm"],
        command: &["exec"],
        options: NPM_OPTIONS,
        named_by: &["--package", "-p"],
        has_item: true,
    },
    Runner {
        programs: &["pnpm", "yarn"],
        command: &["dlx"],
        options: NPM_OPTIONS,
        named_by: &["--package", "-p"],
        has_item: true,
    },
    Runner {
        programs: &["uvx"],
        command: &[],
        options: UV_OPTIONS,
        named_by: &["--from"],
        has_item: true,
    },
    Runner {
        programs: &["uv"],
        command: &["tool", "run"],
        options: UV_OPTIONS,
        named_by: &["--from"],
        has_item: true,
    },
    Runner {
        programs: &["uv"],
        command: &["run"],
        options: UV_OPTIONS,
        named_by: &[],
        has_item: true,
    },
    Runner {
        programs: &["pipx"],
        command: &["run"],
        options: Options::Valued(&["--spec", "--python", "--index-url", "--pip-args"]),
        named_by: &["--spec"],
        has_item: true,
    },
    Runner {
        programs: &["docker", "podman"],
        command: &["run"],
        options: Options::ValuedExcept(
            &[
                "--detach",
                "--init",
                "--interactive",
                "--no-healthcheck",
                "--privileged",
                "--publish-all",
                "--quiet",
                "--read-only",
                "--rm",
                "--sig-proxy",
                "--tty",
            ],
            "dDiPqt",
        ),
        named_by: &[],
        has_item: true,
    },
    Runner {
        programs: &["cargo"],
        command: &["run"],
        options: Options::Valued(&[
            "--bin",
            "--example",
            "--features",
            "--manifest-path",
            "--package",
            "--profile",
            "--target",
            "-F",
            "-p",
        ]),
        named_by: &["--bin", "--example", "--package", "-p"],
        has_item: false,
    },
];

/// The ends of the names of scripts and repositories, which are not part of the name.
const ENDS: [&str; 7] = [".py", ".js", ".mjs", ".cjs", ".ts", ".git", ".exe"];

/// Returns the name of the package, image, binary or script that a program starts. Returns `None` if it starts nothing
/// else, or does not name it.
pub(super) fn started_by<'a>(program: &str, arguments: &'a [String]) -> Option<&'a str> {
    let runners = RUNNERS.iter();
    let mut runners = runners.filter(|runner| runner.programs.contains(&program));
    let name = runners.find_map(|runner| runner.started(arguments))?;
    let name = short_name(name);
    (!name.is_empty()).then_some(name)
}

impl Runner {
    fn started<'a>(&self, arguments: &'a [String]) -> Option<&'a str> {
        let mut words = arguments.iter().map(String::as_str);
        let mut command = self.command.iter();
        let mut expected = command.next();
        let mut named: Option<(usize, &str)> = None;
        let mut item = None;
        while let Some(word) = words.next() {
            if word == "--" {
                item = words.next();
                break;
            }
            if word.starts_with('-') {
                let (option, attached) = match word.split_once('=') {
                    Some((option, value)) => (option, Some(value)),
                    None => (word, None),
                };
                let value = match attached {
                    None if self.options.take_next_word(option) => words.next(),
                    attached => attached,
                };
                let rank = self.named_by.iter().position(|name| *name == option);
                if let (Some(rank), Some(value)) = (rank, value)
                    && named.is_none_or(|(least, _)| rank < least)
                {
                    named = Some((rank, value));
                }
                continue;
            }
            match expected {
                Some(next) if *next == word => expected = command.next(),
                // `cargo +nightly run`
                Some(_) if word.starts_with('+') => {}
                Some(_) => return None,
                None => {
                    item = Some(word);
                    break;
                }
            }
        }
        if expected.is_some() {
            return None;
        }
        let item = item.filter(|_| self.has_item);
        item.or(named.map(|(_, value)| value))
    }
}

impl Options {
    fn take_next_word(&self, option: &str) -> bool {
        match self {
            Self::Valued(names) => names.contains(&option),
            Self::ValuedExcept(flags, _) if option.starts_with("--") => !flags.contains(&option),
            // In `-it`, each letter is an option. In `-eNAME`, the rest is the value of the first.
            Self::ValuedExcept(_, letters) => {
                let letters_only = option[1..].trim_start_matches(|c| letters.contains(c));
                letters_only.chars().count() == 1
            }
        }
    }
}

/// Returns the name without its scope or registry, its version, and the end of its file.
fn short_name(text: &str) -> &str {
    let last = text.rsplit(['/', '\\']).next().unwrap_or(text);
    let is_part = |c: char| "@#=<>[~!:".contains(c);
    let name = last.split(is_part).next().unwrap_or(last);
    let end = ENDS.iter().find_map(|end| name.strip_suffix(end));
    end.unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_is_that_of_what_is_started() {
        for (line, expected) in [
            ("npx some-server /tmp", Some("some-server")),
            ("npx -y some-server@1.2", Some("some-server")),
            (
                "npx --yes @scope/server-files@latest /tmp",
                Some("server-files"),
            ),
            ("npx -p some-package some-command", Some("some-command")),
            (
                "npx -y --package=@scope/some-server -c run",
                Some("some-server"),
            ),
            ("npx -- some-server", Some("some-server")),
            ("npx github:user/some-server#main", Some("some-server")),
            ("npx --yes", None),
            ("bunx some-server", Some("some-server")),
            ("npm exec -y some-server", Some("some-server")),
            ("npm run start", None),
            ("pnpm dlx some-server", Some("some-server")),
            ("uvx mcp-server-time", Some("mcp-server-time")),
            (
                "uvx --python 3.12 mcp-server-time==1.0",
                Some("mcp-server-time"),
            ),
            (
                "uvx --from git+https://example.com/u/tool.git@v1 tool",
                Some("tool"),
            ),
            (
                "uvx --from git+https://example.com/u/tool.git@v1",
                Some("tool"),
            ),
            (
                "uv tool run mcp-server-time@latest",
                Some("mcp-server-time"),
            ),
            ("uv --directory /srv run weather.py", Some("weather")),
            ("pipx run mcp-server-time", Some("mcp-server-time")),
            ("docker run --rm -i image", Some("image")),
            (
                "docker run -i --rm -e KEY ghcr.io/me/some-server:1.2 -v",
                Some("some-server"),
            ),
            (
                "docker run -it -eKEY=value -v /a:/b localhost:5000/image@sha256:ab",
                Some("image"),
            ),
            ("docker run --rm -ie KEY --name=x image sh", Some("image")),
            ("podman run --network host image", Some("image")),
            ("docker compose run image", None),
            ("cargo run", None),
            (
                "cargo +nightly run -q -p my-server -- --stdio",
                Some("my-server"),
            ),
            (
                "cargo run -p my-workspace --bin=my-server",
                Some("my-server"),
            ),
            ("cargo run --example echo -- run", Some("echo")),
            ("cargo build -p my-server", None),
            ("python server.py", None),
        ] {
            let mut words = line.split(' ').map(str::to_owned);
            let program = words.next().expect("a program");
            let arguments: Vec<_> = words.collect();
            assert_eq!(started_by(&program, &arguments), expected, "{line}");
        }
    }
}
