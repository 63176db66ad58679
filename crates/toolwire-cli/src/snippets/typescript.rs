//! The request as a program in TypeScript, with the official SDK.

use crate::snippets::hidden_characters::escape_hidden;
use crate::snippets::json_text::pretty;
use crate::snippets::literals::{json_escape, typescript};
use crate::snippets::{Address, Exchange, ExchangeKind, SnippetServer};

/// Returns a program that prints the result.
pub(super) fn program(exchange: &Exchange, server: &SnippetServer) -> String {
    let (imports, transport) = match &server.address {
        Address::Url(url) => (
            r#"import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";"#,
            format!(
                "new StreamableHTTPClientTransport(new URL({}))",
                typescript(url)
            ),
        ),
        Address::Command { program, arguments } => {
            let arguments: Vec<_> = arguments.iter().map(|word| typescript(word)).collect();
            let (program, arguments) = (typescript(program), arguments.join(", "));
            (
                "import { Client } from \"@modelcontextprotocol/client\";\n\
                import { StdioClientTransport } from \"@modelcontextprotocol/client/stdio\";",
                format!("new StdioClientTransport({{ command: {program}, args: [{arguments}] }})"),
            )
        }
    };
    let method = match exchange.kind {
        ExchangeKind::Tools => "callTool",
        ExchangeKind::Prompts => "getPrompt",
        ExchangeKind::Resources => "readResource",
    };
    let params = escape_hidden(&pretty(&exchange.params()), json_escape);
    format!(
        r#"{imports}

const client = new Client({{ name: "example", version: "1.0.0" }});
await client.connect({transport});
const result = await client.{method}({params});
console.dir(result, {{ depth: null }});
await client.close();"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snippets::samples::{
        HOSTILE, assert_visible, escaped, of_command, of_url, resource,
    };

    #[test]
    fn program_has_no_hidden_characters() {
        for server in [of_command(&[HOSTILE]), of_url()] {
            for exchange in [escaped(), resource(HOSTILE)] {
                assert_visible(&program(&exchange, &server));
            }
        }
    }
}
