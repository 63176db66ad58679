//! Compares `docs/reference/gateway.md` with the parser: the keys of each table, and the defaults that a configuration has.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use toolwire::relay::Sharing;

use crate::config::{
    AuditConfig, GatewayConfig, HttpUpstream, OnFull, UpstreamConfig, UpstreamTransport,
};

/// A key that no table has.
const UNKNOWN: &str = "no_such_key = 1";

/// The start of an upstream over HTTP.
const UPSTREAM: &str = "[upstream.a]\nurl = \"https://a.example\"\n";

/// The section of each table on the page, and an otherwise valid configuration with an unknown key in this table.
fn tables() -> Vec<(&'static str, String)> {
    let upstream = |lines: &str| format!("{UPSTREAM}{lines}");
    let credentials = |keys: &str| upstream(&format!("credentials = {{ {keys} }}"));
    let rule = |keys: &str| upstream(&format!("[[rule]]\n{keys}"));
    let client = "id = \"i\", secret = \"s\", issuer = \"https://id.example\"";
    let provider = "issuer = \"github\", id = \"i\", secret = \"s\", users = [\"*\"]";
    vec![
        ("Top of the file", format!("{UNKNOWN}\n{UPSTREAM}")),
        (
            "`[auth]`",
            upstream(&format!("[auth]\nbearer_file = \"tokens\"\n{UNKNOWN}")),
        ),
        (
            "`[auth.provider]`",
            upstream(&format!(
                "[auth]\naudience = \"https://t.example\"\nprovider = {{ {provider}, {UNKNOWN} }}"
            )),
        ),
        ("`[upstream.NAME]`", upstream(UNKNOWN)),
        (
            "`[upstream.NAME.tools]`",
            upstream(&format!("tools = {{ {UNKNOWN} }}")),
        ),
        (
            "`[upstream.NAME.limit]`",
            upstream(&format!("limit = {{ calls = 1, per = \"1m\", {UNKNOWN} }}")),
        ),
        (
            "`[upstream.NAME.sampling]`",
            upstream(&format!(
                "sampling = {{ calls = 1, per = \"1m\", {UNKNOWN} }}"
            )),
        ),
        (
            "`[upstream.NAME.credentials]`",
            credentials(&format!("bearer = \"t\", {UNKNOWN}")),
        ),
        (
            "`[upstream.NAME.credentials.client]`",
            credentials(&format!("client = {{ {client}, {UNKNOWN} }}")),
        ),
        (
            "`[upstream.NAME.credentials.exchange]`",
            credentials(&format!("exchange = {{ {client}, {UNKNOWN} }}")),
        ),
        (
            "`[upstream.NAME.credentials.exchange.provider]`",
            credentials(&format!(
                "exchange = {{ {client}, provider = {{ {client}, {UNKNOWN} }} }}"
            )),
        ),
        (
            "`[upstream.NAME.credentials.login]`",
            credentials(&format!("login = {{ {UNKNOWN} }}")),
        ),
        ("`[[rule]]`", rule(&format!("deny = {{}}\n{UNKNOWN}"))),
        (
            "Conditions of a rule",
            rule(&format!("deny = {{ {UNKNOWN} }}")),
        ),
        (
            "Condition `claim`",
            rule(&format!(
                "deny = {{ claim = {{ name = \"n\", value = \"v\", {UNKNOWN} }} }}"
            )),
        ),
        (
            "Condition `argument`",
            rule(&format!(
                "deny = {{ argument = {{ path = \"p\", equals = 1, {UNKNOWN} }} }}"
            )),
        ),
        (
            "`[audit]`",
            upstream(&format!("[audit]\nfile = \"a\"\n{UNKNOWN}")),
        ),
        ("`[limits]`", upstream(&format!("[limits]\n{UNKNOWN}"))),
        (
            "`[logins]`",
            upstream(&format!(
                "[logins]\nfile = \"l\"\nkey = \"{}\"\n{UNKNOWN}",
                "0f".repeat(32)
            )),
        ),
    ]
}

/// Returns the keys that the parser knows in the table with the unknown key.
fn known_keys(text: &str) -> BTreeSet<String> {
    let error = GatewayConfig::parse("gateway.toml", text, &|_| None).expect_err(text);
    let advice = error.advice().unwrap_or_default();
    let keys = advice
        .strip_prefix("the keys are ")
        .unwrap_or_else(|| panic!("{error}: {advice}"));
    keys.split(", ").map(str::to_owned).collect()
}

/// A row of the page: the cells of a key.
struct Row {
    section: String,
    key: String,
    default: String,
}

/// Returns the rows of all tables below a `##` heading.
fn rows() -> Vec<Row> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/gateway.md");
    let page = fs::read_to_string(path).expect("there is a page");
    let mut section = None;
    let mut rows = Vec::new();
    for line in page.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            section = Some(title.to_owned());
        } else if let (Some(section), Some(cells)) = (&section, line.strip_prefix("| `")) {
            let cells: Vec<&str> = cells.split(" | ").collect();
            rows.push(Row {
                section: section.clone(),
                key: cells[0].trim_end_matches('`').to_owned(),
                default: cells[2].to_owned(),
            });
        }
    }
    rows
}

#[test]
fn page_has_the_keys_of_every_table() {
    let rows = rows();
    let tables = tables();
    for (section, text) in &tables {
        let in_section = rows.iter().filter(|row| row.section == *section);
        let keys: BTreeSet<String> = in_section.map(|row| row.key.clone()).collect();
        assert_eq!(keys, known_keys(text), "{section}");
    }
    let sections: BTreeSet<&str> = tables.iter().map(|(section, _)| *section).collect();
    for row in &rows {
        assert!(sections.contains(row.section.as_str()), "{}", row.section);
    }
}

#[test]
fn every_table_of_the_parser_is_on_the_page() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/config");
    let mut read = 0;
    for entry in fs::read_dir(directory).expect("there is a directory") {
        let path = entry.expect("the directory is readable").path();
        if !path.ends_with("reference_page.rs") {
            let source = fs::read_to_string(path).expect("the source is readable");
            // A table ends with the check that no key is left.
            read += source.matches(".finish()?").count();
        }
    }
    assert_eq!(read, tables().len());
}

#[test]
fn defaults_of_the_page_are_those_of_a_configuration() {
    let upstream = || {
        let http = HttpUpstream::new("https://a.example");
        UpstreamConfig::new("a", UpstreamTransport::Http(http)).expect("the name is valid")
    };
    let config = GatewayConfig::new(Path::new(""), vec![upstream()]).expect("it has an upstream");
    let audit = AuditConfig::new("audit.jsonl");
    let on_full = match audit.on_full {
        OnFull::Reject => "reject",
        OnFull::Drop => "drop",
    };
    let sharing = match upstream().sharing {
        Sharing::PerPrincipal => "principal",
        _ => "shared",
    };
    let of_upstream = "`[upstream.NAME]`";
    let expected = [
        ("Top of the file", "listen", config.listen),
        (
            "Top of the file",
            "trusted_proxies",
            config.trusted_proxies.to_string(),
        ),
        (
            "Top of the file",
            "lock_file",
            config.lock_file.display().to_string(),
        ),
        ("`[audit]`", "max_bytes", audit.max_bytes.to_string()),
        ("`[audit]`", "files", audit.files.to_string()),
        ("`[audit]`", "on_full", on_full.to_owned()),
        (
            of_upstream,
            "strip_invisible",
            upstream().strips_invisible.to_string(),
        ),
        (of_upstream, "required", upstream().is_required.to_string()),
        (of_upstream, "sampling", upstream().may_sample.to_string()),
        (of_upstream, "roots", upstream().sees_roots.to_string()),
        (
            of_upstream,
            "secret_forms",
            upstream().may_use_secret_forms.to_string(),
        ),
        (of_upstream, "sharing", sharing.to_owned()),
    ];
    let rows = rows();
    for (section, key, default) in expected {
        let mut of_key = rows
            .iter()
            .filter(|row| row.section == section && row.key == key);
        let row = of_key.next().unwrap_or_else(|| panic!("{section} {key}"));
        assert_eq!(row.default, format!("`{default}`"), "{section} {key}");
    }
}
