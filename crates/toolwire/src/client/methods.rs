//! Every method of the protocol as a typed call.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use toolwire_proto::features::VersionFeatures;
use toolwire_types::{
    CallToolResult, CompleteRequestParams, CompleteResult, CompletionArgument, CompletionReference,
    DiscoverResult, EmptyResult, GetPromptRequestParams, GetPromptResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, LoggingLevel, Prompt,
    RawJson, ReadResourceRequestParams, ReadResourceResult, Resource, ResourceTemplate, Root,
    SetLevelRequestParams, Tool, json,
};

use crate::client::Client;
use crate::client::call::{Call, Finished};
use crate::client::list::ListCall;
use crate::client::send::encode_notification;
use crate::error::Error;

impl Client {
    /// Calls a tool with arguments: anything that serialises to a JSON object.
    ///
    /// A tool that fails answers with `is_error`; that is a result, not an error of the call.
    pub fn call_tool(
        &self,
        name: impl Into<String>,
        arguments: impl Serialize,
    ) -> Call<CallToolResult> {
        let name = name.into();
        let params = call_params(&name, &arguments).map(Some);
        Call::finishing(
            self,
            "tools/call",
            params,
            move |client, result| match decode("tools/call", &result) {
                Ok(result) => client.check_output(name, result),
                Err(error) => Finished::Now(Err(error)),
            },
        )
    }

    /// All tools the server offers.
    pub fn list_tools(&self) -> ListCall<ListToolsResult, Tool> {
        ListCall::new(self, Self::list_tools_page, |page| {
            (page.tools, page.next_cursor)
        })
    }

    /// One page of tools; the first one without a cursor.
    pub fn list_tools_page(&self, cursor: Option<String>) -> Call<ListToolsResult> {
        Call::new(self, "tools/list", page(cursor), |client, result| {
            let mut page = decode("tools/list", &result)?;
            client.learn_tools(&mut page);
            Ok(page)
        })
    }

    /// All resources the server offers.
    pub fn list_resources(&self) -> ListCall<ListResourcesResult, Resource> {
        ListCall::new(self, Self::list_resources_page, |page| {
            (page.resources, page.next_cursor)
        })
    }

    /// One page of resources; the first one without a cursor.
    pub fn list_resources_page(&self, cursor: Option<String>) -> Call<ListResourcesResult> {
        self.plain("resources/list", page(cursor))
    }

    /// All resource templates the server offers.
    pub fn list_resource_templates(
        &self,
    ) -> ListCall<ListResourceTemplatesResult, ResourceTemplate> {
        ListCall::new(self, Self::list_resource_templates_page, |page| {
            (page.resource_templates, page.next_cursor)
        })
    }

    /// One page of resource templates; the first one without a cursor.
    pub fn list_resource_templates_page(
        &self,
        cursor: Option<String>,
    ) -> Call<ListResourceTemplatesResult> {
        self.plain("resources/templates/list", page(cursor))
    }

    /// Reads a resource.
    pub fn read_resource(&self, uri: impl Into<String>) -> Call<ReadResourceResult> {
        let params = ReadResourceRequestParams::new(uri);
        self.plain("resources/read", encode(&params, "the URI").map(Some))
    }

    /// All prompts the server offers.
    pub fn list_prompts(&self) -> ListCall<ListPromptsResult, Prompt> {
        ListCall::new(self, Self::list_prompts_page, |page| {
            (page.prompts, page.next_cursor)
        })
    }

    /// One page of prompts; the first one without a cursor.
    pub fn list_prompts_page(&self, cursor: Option<String>) -> Call<ListPromptsResult> {
        self.plain("prompts/list", page(cursor))
    }

    /// Gets a prompt, filled in with arguments.
    pub fn get_prompt<K: Into<String>, V: Into<String>>(
        &self,
        name: impl Into<String>,
        arguments: impl IntoIterator<Item = (K, V)>,
    ) -> Call<GetPromptResult> {
        let mut params = GetPromptRequestParams::new(name);
        for (key, value) in arguments {
            params = params.with_argument(key, value);
        }
        self.plain("prompts/get", encode(&params, "the arguments").map(Some))
    }

    /// Asks for completions of an argument of a prompt or a resource template.
    pub fn complete(
        &self,
        reference: impl Into<CompletionReference>,
        argument: CompletionArgument,
    ) -> Call<CompleteResult> {
        self.complete_with(CompleteRequestParams::new(reference, argument))
    }

    /// As [`complete`](Self::complete), with everything a request may say: the arguments that are already known.
    pub fn complete_with(&self, params: CompleteRequestParams) -> Call<CompleteResult> {
        self.plain(
            "completion/complete",
            encode(&params, "the argument").map(Some),
        )
    }

    /// Asks a server what it is and what it speaks (revisions from 2026-07-28 on).
    pub fn discover(&self) -> Call<DiscoverResult> {
        self.plain("server/discover", Ok(None))
    }

    /// Asks a server whether it is there. In revisions without `ping` the question is `server/discover`.
    pub fn ping(&self) -> Call<()> {
        let method = match self.version().has_ping() {
            true => "ping",
            false => "server/discover",
        };
        let call = Call::new(self, method, Ok(None), |_, _| Ok(()));
        // An answer that was kept would say nothing about now.
        call.with_cache(crate::client::cache::CacheMode::Bypass)
    }

    /// Asks for log messages from this level on; `None` asks for none in revisions that log per request.
    ///
    /// Older revisions set the level once for the session, newer ones name it in every request from now on.
    ///
    /// # Errors
    /// When a legacy server refuses.
    pub async fn set_log_level(&self, level: Option<LoggingLevel>) -> Result<(), Error> {
        self.remember_log_level(level);
        match level {
            Some(level) if self.version().has_set_level() => {
                let params = encode(&SetLevelRequestParams::new(level), "the level").map(Some);
                let call: Call<EmptyResult> = self.plain("logging/setLevel", params);
                call.await.map(drop)
            }
            _ => Ok(()),
        }
    }

    /// Replaces the roots the server may ask for, and tells a legacy server that they changed.
    ///
    /// # Errors
    /// When the client was built without roots, or the notification could not be sent.
    pub async fn set_roots(&self, roots: impl IntoIterator<Item = Root>) -> Result<(), Error> {
        let Some(shelf) = &self.shared.handlers.roots else {
            return Err(Error::refused(
                "this client was built without roots; use ClientBuilder::with_roots",
            ));
        };
        shelf.replace(roots.into_iter().collect());
        match self.version().has_server_requests() {
            true => self.notify("notifications/roots/list_changed", None).await,
            false => Ok(()),
        }
    }

    /// Makes any request, also of an extension, and yields the result as it came.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), toolwire::Error> {
    /// # use toolwire::{Client, Server};
    /// let client = Client::in_process(&Server::new("demo", "1.0.0")).await?;
    /// let error = client.request("acme/reboot", serde_json::json!({})).await.unwrap_err();
    /// assert_eq!(error.rpc().unwrap().code, -32601);
    /// # Ok(())
    /// # }
    /// ```
    pub fn request(&self, method: impl Into<String>, params: impl Serialize) -> Call<RawJson> {
        let params = encode(&params, "the parameters");
        let params = params.map(|params| (!params.is_null()).then_some(params));
        Call::new(self, method.into(), params, |_, result| Ok(result))
    }

    /// Sends any notification.
    ///
    /// # Errors
    /// When it could not be handed over to the transport.
    pub async fn notify(
        &self,
        method: impl Into<String>,
        params: Option<RawJson>,
    ) -> Result<(), Error> {
        let message = encode_notification(method.into(), params);
        self.session().link.send(message).await
    }

    /// A call whose result is decoded and nothing else.
    pub(crate) fn plain<T: DeserializeOwned + Send + 'static>(
        &self,
        method: &'static str,
        params: Result<Option<RawJson>, Error>,
    ) -> Call<T> {
        Call::new(self, method, params, move |_, result| {
            decode(method, &result)
        })
    }
}

/// The parameters of `tools/call`, written in one go. Arguments that come to nothing are left out.
fn call_params(tool: &str, arguments: &impl Serialize) -> Result<RawJson, Error> {
    let mut text = Vec::with_capacity(256);
    text.extend_from_slice(b"{\"name\":");
    json::write_text(&mut text, tool);
    let named = text.len();
    text.extend_from_slice(b",\"arguments\":");
    let begun = text.len();
    json::write(&mut text, arguments).map_err(|error| unwritable("the arguments", error))?;
    if text[begun..] == *b"null" {
        text.truncate(named);
    }
    text.push(b'}');
    // A copy of its own length is cheaper than cutting off what is left of the buffer.
    let text = str::from_utf8(&text).expect("JSON is written in whole characters");
    Ok(json::checked_raw_box(text.to_owned()).into())
}

fn page(cursor: Option<String>) -> Result<Option<RawJson>, Error> {
    match cursor {
        Some(cursor) => Ok(Some(json!({ "cursor": cursor }).into())),
        None => Ok(None),
    }
}

fn encode(value: &impl Serialize, what: &str) -> Result<RawJson, Error> {
    RawJson::from_serialize(value).map_err(|error| unwritable(what, error))
}

fn unwritable(what: &str, error: serde_json::Error) -> Error {
    Error::refused(format!("{what} cannot be written as JSON")).with_source(error)
}

fn decode<T: DeserializeOwned>(method: &str, result: &RawJson) -> Result<T, Error> {
    result
        .parse()
        .map_err(|error| Error::decode(format!("result of {method}"), error))
}
