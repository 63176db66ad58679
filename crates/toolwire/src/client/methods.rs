//! The methods of the protocol as typed calls.

use std::borrow::Cow;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use toolwire_proto::features::VersionFeatures;
use toolwire_types::{
    CallToolResult, CompleteRequestParams, CompleteResult, CompletionArgument, CompletionReference,
    DiscoverResult, EmptyResult, GetPromptResult, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, LoggingLevel, Prompt, RawJson, ReadResourceRequestParams,
    ReadResourceResult, Resource, ResourceTemplate, Root, SetLevelRequestParams, Tool,
};

use crate::client::Client;
use crate::client::arguments::{self, serialize_error};
use crate::client::call::{Call, Finished};
use crate::client::list::ListCall;
use crate::error::Error;

impl Client {
    /// Calls a tool. The arguments are a value that serializes to a JSON object, or a list of names with values.
    ///
    /// A tool that fails returns a result with `is_error`. That is not an error of the call.
    pub fn call_tool(
        &self,
        name: impl Into<String>,
        arguments: impl Serialize,
    ) -> Call<CallToolResult> {
        let name = name.into();
        let params = arguments::tool_params(&name, &arguments).map(Some);
        Call::with_finish(
            self,
            "tools/call",
            params,
            move |client, result| match decode("tools/call", &result) {
                Ok(result) => client.check_output(name, result),
                Err(error) => Finished::Now(Err(error)),
            },
        )
    }

    /// Lists all tools of the server.
    pub fn list_tools(&self) -> ListCall<ListToolsResult, Tool> {
        ListCall::new(self, Self::list_tools_page, |page| {
            (page.tools, page.next_cursor)
        })
    }

    /// Lists one page of tools. `None` requests the first page.
    pub fn list_tools_page(&self, cursor: Option<String>) -> Call<ListToolsResult> {
        Call::new(self, "tools/list", page_params(cursor), |client, result| {
            let mut page = decode("tools/list", &result)?;
            client.store_tools(&mut page);
            Ok(page)
        })
    }

    /// Lists all resources of the server.
    pub fn list_resources(&self) -> ListCall<ListResourcesResult, Resource> {
        ListCall::new(self, Self::list_resources_page, |page| {
            (page.resources, page.next_cursor)
        })
    }

    /// Lists one page of resources. `None` requests the first page.
    pub fn list_resources_page(&self, cursor: Option<String>) -> Call<ListResourcesResult> {
        self.decoded_call("resources/list", page_params(cursor))
    }

    /// Lists all resource templates of the server.
    pub fn list_resource_templates(
        &self,
    ) -> ListCall<ListResourceTemplatesResult, ResourceTemplate> {
        ListCall::new(self, Self::list_resource_templates_page, |page| {
            (page.resource_templates, page.next_cursor)
        })
    }

    /// Lists one page of resource templates. `None` requests the first page.
    pub fn list_resource_templates_page(
        &self,
        cursor: Option<String>,
    ) -> Call<ListResourceTemplatesResult> {
        self.decoded_call("resources/templates/list", page_params(cursor))
    }

    /// Reads a resource.
    pub fn read_resource(&self, uri: impl Into<String>) -> Call<ReadResourceResult> {
        let params = ReadResourceRequestParams::new(uri);
        self.decoded_call("resources/read", encode(&params, "the URI").map(Some))
    }

    /// Lists all prompts of the server.
    pub fn list_prompts(&self) -> ListCall<ListPromptsResult, Prompt> {
        ListCall::new(self, Self::list_prompts_page, |page| {
            (page.prompts, page.next_cursor)
        })
    }

    /// Lists one page of prompts. `None` requests the first page.
    pub fn list_prompts_page(&self, cursor: Option<String>) -> Call<ListPromptsResult> {
        self.decoded_call("prompts/list", page_params(cursor))
    }

    /// Gets a prompt. The arguments are of the same kinds as those of [`call_tool`](Self::call_tool), but every value is
    /// text.
    ///
    /// ```
    /// # use serde_json::json;
    /// # async fn example(client: toolwire::Client) -> Result<(), toolwire::Error> {
    /// #[derive(serde::Serialize)]
    /// struct Greeting { name: String }
    ///
    /// let prompt = client.get_prompt("greet", Greeting { name: "Ada".to_owned() }).await?;
    /// let prompt = client.get_prompt("greet", json!({"name": "Ada"})).await?;
    /// let prompt = client.get_prompt("greet", [("name", "Ada")]).await?;
    /// let prompt = client.get_prompt("story", ()).await?;
    /// # drop(prompt);
    /// # Ok(())
    /// # }
    /// ```
    pub fn get_prompt(
        &self,
        name: impl Into<String>,
        arguments: impl Serialize,
    ) -> Call<GetPromptResult> {
        let params = arguments::prompt_params(name.into(), &arguments).map(Some);
        self.decoded_call("prompts/get", params)
    }

    /// Requests completions for an argument of a prompt or a resource template.
    pub fn complete(
        &self,
        reference: impl Into<CompletionReference>,
        argument: CompletionArgument,
    ) -> Call<CompleteResult> {
        self.complete_with(CompleteRequestParams::new(reference, argument))
    }

    /// Requests completions like [`complete`](Self::complete), with all parameters, such as arguments that are known.
    pub fn complete_with(&self, params: CompleteRequestParams) -> Call<CompleteResult> {
        self.decoded_call(
            "completion/complete",
            encode(&params, "the argument").map(Some),
        )
    }

    /// Requests the details and the supported versions of the server (revisions from 2026-07-28 on).
    pub fn discover(&self) -> Call<DiscoverResult> {
        self.decoded_call("server/discover", Ok(None))
    }

    /// Checks that the server responds. In revisions without `ping` it sends `server/discover`.
    pub fn ping(&self) -> Call<()> {
        let method = if self.version().has_ping() {
            "ping"
        } else {
            "server/discover"
        };
        let call = Call::new(self, method, Ok(None), |_, _| Ok(()));
        // A cached response would say nothing about the current state.
        call.with_cache(crate::client::cache::CacheMode::Bypass)
    }

    /// Requests log messages from this level on. `None` disables them in revisions that log per request.
    ///
    /// Older revisions set the level once for the session. Newer revisions send it with every request from now on.
    ///
    /// # Errors
    /// Returns an error if a legacy server rejects the request.
    #[deprecated(
        note = "MCP deprecates logging (SEP-2577), and a revision of 28 July 2027 or later may remove it. Write to standard error with `tracing`, or use OpenTelemetry instead"
    )]
    pub async fn set_log_level(&self, level: Option<LoggingLevel>) -> Result<(), Error> {
        self.store_log_level(level);
        match level {
            Some(level) if self.version().has_set_level() => {
                let params = encode(&SetLevelRequestParams::new(level), "the level").map(Some);
                let call: Call<EmptyResult> = self.decoded_call("logging/setLevel", params);
                call.await.map(drop)
            }
            _ => Ok(()),
        }
    }

    /// Replaces the roots that the server may list, and notifies a legacy server of the change.
    ///
    /// # Errors
    /// Returns an error if the client was built without roots, or if the notification could not be sent.
    #[deprecated(
        note = "MCP deprecates roots (SEP-2577), and a revision of 28 July 2027 or later may remove them. Pass paths as tool arguments, resource URIs or configuration instead"
    )]
    pub async fn set_roots(&self, roots: impl IntoIterator<Item = Root>) -> Result<(), Error> {
        let Some(list) = &self.shared.handlers.roots else {
            return Err(Error::invalid_request(
                "this client was built without roots; use ClientBuilder::with_roots",
            ));
        };
        list.replace(roots.into_iter().collect());
        if self.version().has_server_requests() {
            self.notify("notifications/roots/list_changed", None).await
        } else {
            Ok(())
        }
    }

    /// Sends any request, also of an extension, and returns the result as raw JSON.
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
    /// Returns an error if the transport did not accept the message.
    pub async fn notify(
        &self,
        method: impl Into<String>,
        params: Option<RawJson>,
    ) -> Result<(), Error> {
        let method = Cow::Owned(method.into());
        self.session().transport.notify(method, params).await
    }

    /// Creates a call whose result is only decoded.
    pub(crate) fn decoded_call<T: DeserializeOwned + Send + 'static>(
        &self,
        method: &'static str,
        params: Result<Option<RawJson>, Error>,
    ) -> Call<T> {
        Call::new(self, method, params, move |_, result| {
            decode(method, &result)
        })
    }
}

fn page_params(cursor: Option<String>) -> Result<Option<RawJson>, Error> {
    match cursor {
        Some(cursor) => Ok(Some(json!({ "cursor": cursor }).into())),
        None => Ok(None),
    }
}

fn encode(value: &impl Serialize, what: &str) -> Result<RawJson, Error> {
    RawJson::from_serialize(value).map_err(|error| serialize_error(what, error))
}

fn decode<T: DeserializeOwned>(method: &str, result: &RawJson) -> Result<T, Error> {
    result
        .parse()
        .map_err(|error| Error::decode(format!("result of {method}"), error))
}
