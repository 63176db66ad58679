//! The whole text of a file after an installation, for one host of each format and for the inputs of VS Code.

use super::*;

/// Installs a command with a variable, and then an address. Compares the text after each step.
fn check(id: &str, before: &str, with_command: &str, with_address: &str) {
    let host = host(id);
    let variable = Variable {
        name: "KEY".to_owned(),
        value: None,
    };
    let command = entry(host, "notes", vec![variable]);
    let installed = Document::new(host, before).with(&command);
    assert_eq!(installed.as_deref(), Ok(with_command), "{id}");
    let address = InstalledServer::Url {
        url: "https://a.test/mcp".to_owned(),
        headers: Vec::new(),
        bearer: Some("KEY".to_owned()),
    };
    let address = NewEntry::new(host, "remote", &address, "toolwire");
    let address = address.unwrap_or_else(|failure| panic!("{}", failure.text()));
    let installed = Document::new(host, with_command).with(&address);
    assert_eq!(installed.as_deref(), Ok(with_address), "{id}");
}

#[test]
fn codex_gets_tables_with_names_of_variables() {
    let before = r#"model = "x" # model

# servers
[mcp_servers.other]
command = "x"

[tools]
web_search = true # tail
"#;
    let with_command = format!(
        "{before}
[mcp_servers.notes]
command = \"/bin/notes\"
args = [\"--stdio\", \"a \\\"b\\\"\"]
env_vars = [\"KEY\"]
"
    );
    let with_address = format!(
        "{with_command}
[mcp_servers.remote]
url = \"https://a.test/mcp\"
bearer_token_env_var = \"KEY\"
"
    );
    check("codex", before, &with_command, &with_address);
}

#[test]
fn goose_gets_extensions_before_the_next_key() {
    let start = r#"GOOSE_MODEL: y # model

# servers
extensions:
  other: # mine
    cmd: "x"
"#;
    let notes = r#"  notes:
    enabled: true
    type: "stdio"
    name: "notes"
    description: ""
    cmd: "/bin/notes"
    args: ["--stdio","a \"b\""]
    env_keys: ["KEY"]
    timeout: 300
"#;
    let remote = r#"  remote:
    enabled: true
    type: "streamable_http"
    name: "remote"
    description: ""
    uri: "https://a.test/mcp"
    headers:
      Authorization: "Bearer ${KEY}"
    env_keys: ["KEY"]
    timeout: 300
"#;
    let end = "\n# tail\nlast: 1\n";
    check(
        "goose",
        &format!("{start}{end}"),
        &format!("{start}{notes}{end}"),
        &format!("{start}{notes}{remote}{end}"),
    );
}

#[test]
fn vs_code_gets_inputs_for_variables() {
    let start = r#"{
	// mine
	"servers": {
		"other": {"command": "x"}, // last
"#;
    let notes = r#"		"notes": {
			"type": "stdio",
			"command": "/bin/notes",
			"args": ["--stdio", "a \"b\""],
			"env": {
				"KEY": "${input:notes-KEY}",
			},
		},
"#;
    let remote = r#"		"remote": {
			"type": "http",
			"url": "https://a.test/mcp",
			"headers": {
				"Authorization": "Bearer ${input:remote-KEY}",
			},
		},
"#;
    let input = |server: &str| {
        format!(
            r#"		{{
			"type": "promptString",
			"id": "{server}-KEY",
			"description": "KEY of the server {server}",
			"password": true
		}}"#
        )
    };
    let inputs =
        |inputs: &[String]| format!("\t}},\n\t\"inputs\": [\n{}\n\t]\n}}\n", inputs.join(",\n"));
    let both = [input("notes"), input("remote")];
    check(
        "vscode",
        &format!("{start}\t}}\n}}\n"),
        &format!("{start}{notes}{}", inputs(&both[..1])),
        &format!("{start}{notes}{remote}{}", inputs(&both)),
    );
}

#[test]
fn opencode_gets_all_words_in_one_member() {
    let start = r#"{
  "model": "x",
  "mcp": {
    "servers": {
      "other": {"type": "local"}"#;
    let notes = r#",
      "notes": {
        "type": "local",
        "command": ["/bin/notes", "--stdio", "a \"b\""],
        "environment": {
          "KEY": "{env:KEY}"
        }
      }"#;
    let remote = r#",
      "remote": {
        "type": "remote",
        "url": "https://a.test/mcp",
        "headers": {
          "Authorization": "Bearer {env:KEY}"
        }
      }"#;
    let end = "\n    }\n  }\n}\n";
    check(
        "opencode",
        &format!("{start}{end}"),
        &format!("{start}{notes}{end}"),
        &format!("{start}{notes}{remote}{end}"),
    );
}
