//! The parameters of a scenario besides the URL.

use std::env;

use serde::Deserialize;
use serde_json::Value;
use toolwire::ProtocolVersion;
use toolwire_proto::features::SupportedVersions;

use crate::credentials::Credentials;
use crate::scenarios::Problem;

const SCENARIO: &str = "MCP_CONFORMANCE_SCENARIO";
const SPEC_VERSION: &str = "MCP_CONFORMANCE_PROTOCOL_VERSION";
const CONTEXT: &str = "MCP_CONFORMANCE_CONTEXT";

/// The parameters that the suite sets in the environment.
#[derive(Debug)]
pub(crate) struct Parameters {
    pub(crate) scenario: String,
    pub(crate) context: Context,
    spec_version: String,
}

/// Data for some scenarios. The others leave it empty.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Context {
    /// The calls to make, in this order.
    #[serde(default)]
    pub(crate) tool_calls: Vec<ToolCall>,
    /// The credentials of the client, its user or its platform.
    #[serde(flatten)]
    pub(crate) credentials: Credentials,
}

/// One call to make.
#[derive(Debug, Deserialize)]
pub(crate) struct ToolCall {
    pub(crate) name: String,
    pub(crate) arguments: Value,
}

impl Parameters {
    pub(crate) fn from_environment() -> Result<Self, Problem> {
        let read = |name| env::var(name).map_err(|error| format!("{name}: {error}"));
        Ok(Self {
            scenario: read(SCENARIO)?,
            spec_version: read(SPEC_VERSION)?,
            context: match env::var(CONTEXT) {
                Ok(text) => serde_json::from_str(&text)?,
                Err(_) => Context::default(),
            },
        })
    }

    /// Returns the revision under test and the older ones, because some servers of the suite negotiate an older one.
    pub(crate) fn versions(&self) -> Result<Vec<ProtocolVersion>, Problem> {
        let tested: ProtocolVersion = self
            .spec_version
            .parse()
            .map_err(|error| format!("{SPEC_VERSION}: {error}"))?;
        let tested = SupportedVersions::from_iter([tested]);
        let up_to_tested = ProtocolVersion::ALL.split_inclusive(|known| tested.contains(*known));
        Ok(up_to_tested.take(1).flatten().copied().collect())
    }
}
