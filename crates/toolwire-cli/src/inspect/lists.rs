//! The lists of the server.

use std::str::FromStr;

use serde::Serialize;
use serde_json::Value;
use toolwire::types::{ErrorObject, ServerCapabilities, code};
use toolwire::{Client, Error, RawJson};

/// A list of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ListKind {
    Tools,
    Prompts,
    Resources,
    Templates,
}

impl FromStr for ListKind {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Ok(match text {
            "tools" => Self::Tools,
            "prompts" => Self::Prompts,
            "resources" => Self::Resources,
            "templates" => Self::Templates,
            _ => return Err(()),
        })
    }
}

impl ListKind {
    fn is_declared(self, capabilities: &ServerCapabilities) -> bool {
        match self {
            Self::Tools => capabilities.tools.is_some(),
            Self::Prompts => capabilities.prompts.is_some(),
            Self::Resources | Self::Templates => capabilities.resources.is_some(),
        }
    }
}

/// The response to a request for a list.
#[derive(Debug, Serialize)]
pub(super) struct ListItems {
    items: RawJson,
}

/// Reads all pages of a list. A server without such a list has an empty one.
pub(super) async fn read(client: &Client, kind: ListKind) -> Result<ListItems, Error> {
    let server = client.server();
    let is_declared = server.is_none_or(|server| kind.is_declared(&server.capabilities));
    let items = if is_declared {
        items(client, kind).await
    } else {
        Ok(empty())
    };
    match items {
        Ok(items) => Ok(ListItems { items }),
        Err(error) if is_unknown_method(&error) => Ok(ListItems { items: empty() }),
        Err(error) => Err(error),
    }
}

async fn items(client: &Client, kind: ListKind) -> Result<RawJson, Error> {
    let items = match kind {
        ListKind::Tools => RawJson::from_serialize(&client.list_tools().await?),
        ListKind::Prompts => RawJson::from_serialize(&client.list_prompts().await?),
        ListKind::Resources => RawJson::from_serialize(&client.list_resources().await?),
        ListKind::Templates => RawJson::from_serialize(&client.list_resource_templates().await?),
    };
    Ok(items.unwrap_or_else(|_| empty()))
}

fn empty() -> RawJson {
    Value::Array(Vec::new()).into()
}

fn is_unknown_method(error: &Error) -> bool {
    let is_unknown = |rpc: &ErrorObject| rpc.code == code::METHOD_NOT_FOUND;
    error.rpc().is_some_and(is_unknown)
}
