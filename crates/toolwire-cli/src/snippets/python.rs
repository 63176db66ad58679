//! The request as a program in Python, with the official SDK.

use crate::snippets::json_text::compact;
use crate::snippets::{Address, Exchange, ExchangeKind, SnippetServer, literals};

/// Returns a program that prints the result.
pub(super) fn program(exchange: &Exchange, server: &SnippetServer) -> String {
    let (import, target) = match &server.address {
        Address::Url(url) => ("Client", literals::python(url)),
        Address::Command { program, arguments } => {
            let arguments: Vec<_> = arguments
                .iter()
                .map(|word| literals::python(word))
                .collect();
            let (program, arguments) = (literals::python(program), arguments.join(", "));
            (
                "Client, StdioServerParameters",
                format!("StdioServerParameters(command={program}, args=[{arguments}])"),
            )
        }
    };
    let name = literals::python(&exchange.name);
    // The arguments are JSON text, because Python writes true, false and null in another way.
    let values = literals::python(&compact(&exchange.arguments));
    let (import_json, call) = match exchange.kind {
        ExchangeKind::Tools => (
            "import json\n",
            format!("call_tool({name}, json.loads({values}))"),
        ),
        ExchangeKind::Prompts => (
            "import json\n",
            format!("get_prompt({name}, json.loads({values}))"),
        ),
        ExchangeKind::Resources => ("", format!("read_resource({name})")),
    };
    format!(
        "import asyncio
{import_json}
from mcp import {import}


async def main():
    async with Client({target}) as client:
        print(await client.{call})


asyncio.run(main())"
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
