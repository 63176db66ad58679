//! The environment variables on the page `docs/reference/command.md`. A test finds those that the sources read and the page
//! does not have.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

const INTRODUCTION: &str = "
## Environment variables

The variables that the command and the crates read. A test finds others in the sources. `--env`, options whose names end in
`-env`, and `${NAME}` in configuration files also read the variables that they name.

| Variable | Read by | Meaning |
|---|---|---|
";

/// The names of variables, what reads them, and their meaning.
const VARIABLES: [(&[&str], &str, &str); 27] = [
    (
        &["TOOLWIRE_HOME"],
        "the command, `FileTokenStore`",
        "the directory of stored logins and of the record of legacy servers, an absolute path, instead of those of the platform",
    ),
    (
        &["TOOLWIRE_TOKEN_STORE"],
        "the command",
        "where logins are stored: `file`, which is the default, or `keyring`, if the command was built with this feature",
    ),
    (
        &["TOOLWIRE_INPUT_ID"],
        "the command",
        "the value of an `${input:id}` in a configuration file. `ID` stands for the id in upper case, with `_` for other characters",
    ),
    (
        &["TOOLWIRE_INSPECTION"],
        "servers on standard input and output",
        "`1`: reports about each exchange are written to standard error. `toolwire dev` and `toolwire inspect` set it",
    ),
    (
        &["TOOLWIRE_UPDATE_SNAPSHOTS"],
        "`testing::assert_snapshot`",
        "set, and not `0`: the file of the snapshot is written",
    ),
    (
        &["RUST_LOG"],
        "the command",
        "the log messages that are written to standard error, such as `toolwire=debug`. The default is `error`, and for `toolwire gateway` `warn,toolwire_gateway=info`",
    ),
    (&["NO_COLOR"], "the command", "not empty: no colours"),
    (
        &["TERM"],
        "the command",
        "`dumb`: no colours and no progress bar",
    ),
    (
        &["COLUMNS"],
        "the command, except on Unix",
        "the width of the terminal",
    ),
    (
        &["HTTPS_PROXY", "https_proxy"],
        "clients over HTTP",
        "the proxy for `https` URLs",
    ),
    (
        &["HTTP_PROXY", "http_proxy"],
        "clients over HTTP",
        "the proxy for `http` URLs. The name in upper case is ignored if `REQUEST_METHOD` is set",
    ),
    (
        &["ALL_PROXY", "all_proxy"],
        "clients over HTTP",
        "the proxy for all URLs without another one",
    ),
    (
        &["NO_PROXY", "no_proxy"],
        "clients over HTTP",
        "the servers that are used without a proxy: names, addresses and networks, separated by commas",
    ),
    (
        &["REQUEST_METHOD"],
        "clients over HTTP",
        "set in a CGI program, where `HTTP_PROXY` may come from a request",
    ),
    (
        &["SSL_CERT_FILE", "SSL_CERT_DIR"],
        "clients over HTTP",
        "a file, and a directory, with root certificates, instead of those of the system",
    ),
    (
        &["BROWSER"],
        "logins and pages of the command and of `toolwire-auth`",
        "not empty: there is a browser, also in a session over the network",
    ),
    (
        &["DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"],
        "logins and pages of the command and of `toolwire-auth`, on Linux",
        "not empty: there is a desktop, on which a browser is opened",
    ),
    (
        &["SSH_CONNECTION", "SSH_TTY"],
        "logins and pages of the command and of `toolwire-auth`",
        "not empty: the session is over the network, and no browser is opened",
    ),
    (
        &["HOME", "USERPROFILE"],
        "the command, `FileTokenStore`",
        "the home directory of the user, for configuration files and stored logins; `USERPROFILE` on Windows",
    ),
    (
        &["APPDATA", "LOCALAPPDATA"],
        "the command, `FileTokenStore`, on Windows",
        "the directories of configuration files, and of stored logins and the record of legacy servers",
    ),
    (
        &["XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"],
        "the command, `FileTokenStore`",
        "the directories of configuration files, of stored logins and of the record of legacy servers",
    ),
    (
        &["CODEX_HOME"],
        "the command",
        "the directory of the configuration of Codex",
    ),
    (
        &["PATH"],
        "the command",
        "the directories in which programs are searched",
    ),
    (
        &["CARGO"],
        "the command",
        "the program to use as Cargo, instead of `cargo`",
    ),
    (
        &["CARGO_MANIFEST_DIR"],
        "`embedded_skills!`, during a build",
        "the directory of the crate; Cargo sets it",
    ),
    (
        &[
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
            "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
            "OTEL_TRACES_EXPORTER",
            "OTEL_METRICS_EXPORTER",
        ],
        "the command, with the feature `otel`",
        "where spans and metrics are exported to. Nothing is exported without an endpoint, or `otlp` as exporter",
    ),
    (
        &[
            "OTEL_EXPORTER_OTLP_HEADERS",
            "OTEL_PROPAGATORS",
            "OTEL_RESOURCE_ATTRIBUTES",
            "OTEL_SDK_DISABLED",
            "OTEL_SERVICE_NAME",
            "OTEL_TRACES_SAMPLER",
        ],
        "the command, with the feature `otel`",
        "as OpenTelemetry defines them; the default of `OTEL_SERVICE_NAME` is `toolwire`",
    ),
];

/// Texts in the sources that look like variables.
const OTHER_NAMES: [&str; 1] = [
    // The place of the dependencies in a template of `toolwire new`.
    "TOOLWIRE_DEPENDENCIES",
];

/// The starts of names that are variables everywhere in the sources.
const PREFIXES: [&str; 2] = ["TOOLWIRE_", "OTEL_"];

/// Writes the section of the page.
pub(crate) fn write_section(text: &mut String) {
    text.push_str(INTRODUCTION);
    for (names, reader, meaning) in VARIABLES {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        let _ = writeln!(text, "| {} | {reader} | {meaning} |", names.join(", "));
    }
}

/// Returns the variables that a source file may read: names of variables in it, if it reads the environment, and names with a
/// known prefix. The last one of them may end with `_` and stand for several variables.
fn variables_in(source: &str) -> BTreeSet<&str> {
    let shipped = source.split("\nmod tests {").next().unwrap_or_default();
    let reads = shipped.contains("env::var");
    let mut names = BTreeSet::new();
    for line in shipped.lines() {
        let line = line.trim_start();
        if line.starts_with("//") || line.contains("env!(") {
            continue;
        }
        for text in line.split('"').skip(1).step_by(2) {
            let end = text.find(|c: char| !is_of_variable(c));
            let name = &text[..end.unwrap_or(text.len())];
            let is_whole = end.is_none() && reads && name.len() > 2;
            let is_own = PREFIXES.iter().any(|prefix| name.starts_with(prefix));
            if is_whole || is_own {
                names.insert(name);
            }
        }
    }
    names
}

fn is_of_variable(character: char) -> bool {
    character.is_ascii_uppercase() || character.is_ascii_digit() || character == '_'
}

/// Returns the source files of the published crates below a directory, without tests.
fn sources(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).expect("the directory is readable") {
        let path = entry.expect("the directory is readable").path();
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.expect("the name is UTF-8");
        if path.is_dir() && !["tests", "toolwire-tests"].contains(&name) {
            files.extend(sources(&path));
        } else if name.ends_with(".rs")
            && path.iter().any(|part| part == "src")
            && name != "tests.rs"
            // The tests of pages.
            && !name.ends_with("_reference.rs")
        {
            files.push(path);
        }
    }
    files
}

#[test]
fn every_variable_of_the_sources_is_on_the_page() {
    let known: BTreeSet<&str> = VARIABLES
        .iter()
        .flat_map(|(names, _, _)| names.iter().copied())
        .collect();
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = BTreeSet::new();
    for path in sources(&crates) {
        let source = fs::read_to_string(&path).expect("the source is readable");
        for name in variables_in(&source) {
            let is_known = match name.strip_suffix('_') {
                Some(_) => known.iter().any(|known| known.starts_with(name)),
                None => known.contains(name) || OTHER_NAMES.contains(&name),
            };
            assert!(is_known, "{} reads {name}", path.display());
            found.insert(name.to_owned());
        }
    }
    // A check of the search itself.
    for name in [
        "TOOLWIRE_HOME",
        "TOOLWIRE_INSPECTION",
        "HTTPS_PROXY",
        "TERM",
    ] {
        assert!(found.contains(name), "{name} is not found");
    }
}

#[test]
fn variables_of_a_source_are_recognized() {
    let check = |source: &str, expected: &[&str]| {
        let found: Vec<&str> = variables_in(source).into_iter().collect();
        assert_eq!(found, expected, "{source}");
    };
    check("let a = std::env::var(\"SOME_NAME\");", &["SOME_NAME"]);
    check("let a = read(\"SOME_NAME\");", &[]);
    check("let a = \"TOOLWIRE_NAME=1\";", &["TOOLWIRE_NAME"]);
    check("let a = format!(\"TOOLWIRE_A_{id}\");", &["TOOLWIRE_A_"]);
    check("// env::var(\"SOME_NAME\")", &[]);
    check("env!(\"TOOLWIRE_A\")", &[]);
    check("mod a;\nmod tests {\n    env::var(\"SOME_NAME\");", &[]);
}
