//! The server: one tool for each request of the API, with the scope it needs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolwire::{RequestContext, ToolError};

use crate::api;

pub(crate) struct Tracker {
    http: reqwest::Client,
    api: String,
}

/// The fields of the API that a model needs.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Issues {
    issues: Vec<Issue>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Issue {
    number: u32,
    title: String,
}

impl Tracker {
    pub(crate) fn new(api: String) -> Self {
        Self {
            http: reqwest::Client::new(),
            api,
        }
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> Result<String, ToolError> {
        let request = request.header("authorization", api::CREDENTIAL);
        let response = request.send().await?;
        // The model sees what went wrong, but no address or credential.
        if response.status().is_success() {
            Ok(response.text().await?)
        } else {
            let status = response.status();
            Err(ToolError::failed(format!(
                "the tracker responded with {status}"
            )))
        }
    }
}

#[toolwire::server(name = "issue-tracker", version = "1.0.0")]
impl Tracker {
    /// Lists the open issues.
    #[tool(read_only)]
    async fn list_issues(&self) -> Result<Issues, ToolError> {
        let body = self
            .send(self.http.get(format!("{}/issues", self.api)))
            .await?;
        Ok(serde_json::from_str(&body)?)
    }

    /// Closes an issue.
    #[tool(destructive, idempotent, scopes("issues:read", "issues:write"))]
    async fn close_issue(&self, ctx: &RequestContext, number: u32) -> Result<String, ToolError> {
        let address = format!("{}/issues/{number}/close", self.api);
        self.send(self.http.post(address)).await?;
        let user = ctx.auth().subject.as_deref().unwrap_or("the local user");
        Ok(format!("{user} closed issue {number}"))
    }
}
