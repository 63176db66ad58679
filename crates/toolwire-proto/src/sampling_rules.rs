//! Checks of both sides before a model is called, and on its response.
//!
//! Tools are offered only to clients that declared them. The next message after a tool use has the result of every use,
//! and nothing else. Models reject other conversations, with less helpful messages. The order of roles is not
//! restricted otherwise. Spec 2025-11-25 and 2026-07-28, client/sampling, "Message Content Guidelines".

use std::collections::BTreeSet;
use std::fmt;

use toolwire_types::{
    ClientCapabilities, CreateMessageRequestParams, CreateMessageResult, ErrorObject,
    IncludeContext, ProtocolVersion, Role, SamplingMessage, SamplingMessageContentBlock,
};

use crate::features::VersionFeatures;

/// Checks a sampling request.
///
/// `declared` are the client capabilities that the server received in this revision, see
/// [`capabilities_for`](crate::request_meta::capabilities_for).
///
/// # Errors
/// Returns the first violation. As an [`ErrorObject`] it is the response to send.
pub fn check_sampling(
    params: &CreateMessageRequestParams,
    declared: &ClientCapabilities,
) -> Result<(), InvalidSampling> {
    let takes_tools = declared
        .sampling
        .as_ref()
        .is_some_and(|sampling| sampling.tools.is_some());
    let offers_tools = params.tools.is_some() || params.tool_choice.is_some();
    if offers_tools && !takes_tools {
        return Err(InvalidSampling::ToolsNotDeclared);
    }
    check_conversation(&params.messages)
}

/// Checks the tool uses in a model's response: each has its own id, and none is by the user.
///
/// # Errors
/// Returns the first violation. The response counts as message 0.
pub fn check_uses(response: &CreateMessageResult) -> Result<(), InvalidSampling> {
    uses(0, response.role, response.content.blocks()).map(|_| ())
}

/// Removes `includeContext` if the client did not declare that it adds the context of MCP servers.
///
/// Revisions from 2025-11-25 on have a capability for it. In earlier ones any client may receive the member. A client
/// may always ignore it, so its removal loses nothing. Spec 2026-07-28, schema,
/// `CreateMessageRequestParams.includeContext`.
pub fn drop_undeclared_context(
    params: &mut CreateMessageRequestParams,
    version: ProtocolVersion,
    declared: &ClientCapabilities,
) {
    let sampling = declared.sampling.as_ref();
    let offered = sampling.is_some_and(|sampling| sampling.context.is_some());
    let is_requested = !matches!(params.include_context, None | Some(IncludeContext::None));
    if version.has_sampling_context() && is_requested && !offered {
        params.include_context = None;
    }
}

/// Checks that tool uses and tool results match.
///
/// # Errors
/// Returns the first message that violates a rule.
pub fn check_conversation(messages: &[SamplingMessage]) -> Result<(), InvalidSampling> {
    // The tool uses of the previous message, whose results this message must have.
    let mut open = BTreeSet::new();
    for (message, content) in messages.iter().enumerate() {
        let results = results(message, content)?;
        for id in results.iter().flatten() {
            if !open.remove(id) {
                let id = (*id).to_owned();
                return Err(InvalidSampling::UnexpectedResult { message, id });
            }
        }
        none_open(message, &open)?;
        open = uses(message, content.role, content.content.blocks())?;
    }
    none_open(messages.len(), &open)
}

/// Returns the ids of the tool results of a message. Returns `None` if the message has no tool results.
fn results(
    message: usize,
    content: &SamplingMessage,
) -> Result<Option<Vec<&str>>, InvalidSampling> {
    let blocks = content.content.blocks();
    let ids: Vec<_> = blocks
        .iter()
        .filter_map(|block| match block {
            SamplingMessageContentBlock::ToolResult(result) => Some(result.tool_use_id.as_str()),
            _ => None,
        })
        .collect();
    match (ids.len(), content.role) {
        (0, _) => Ok(None),
        (_, Role::Assistant) => Err(InvalidSampling::WrongRole { message }),
        (count, _) if count < blocks.len() => Err(InvalidSampling::MixedResults { message }),
        _ => Ok(Some(ids)),
    }
}

/// Returns the ids of the tool uses of a message.
fn uses(
    message: usize,
    role: Role,
    blocks: &[SamplingMessageContentBlock],
) -> Result<BTreeSet<&str>, InvalidSampling> {
    let mut ids = BTreeSet::new();
    for block in blocks {
        if let SamplingMessageContentBlock::ToolUse(tool_use) = block {
            if role == Role::User {
                return Err(InvalidSampling::WrongRole { message });
            }
            if !ids.insert(tool_use.id.as_str()) {
                let id = tool_use.id.clone();
                return Err(InvalidSampling::RepeatedUse { message, id });
            }
        }
    }
    Ok(ids)
}

fn none_open(message: usize, open: &BTreeSet<&str>) -> Result<(), InvalidSampling> {
    match open.first() {
        Some(&id) => Err(InvalidSampling::MissingResult {
            message,
            id: id.to_owned(),
        }),
        None => Ok(()),
    }
}

/// A sampling request that must not reach a model. Messages are counted from 0, as in `messages[0]`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidSampling {
    /// The request has `tools` or `toolChoice`, and the client did not declare `sampling.tools`.
    ToolsNotDeclared,
    /// The message lacks the result of a tool use of the previous message.
    MissingResult {
        /// The index of the message.
        message: usize,
        /// The id of the tool use.
        id: String,
    },
    /// The message has a result without a tool use in the previous message, or has it twice.
    UnexpectedResult {
        /// The index of the message.
        message: usize,
        /// The id in the result.
        id: String,
    },
    /// The message has tool results and other content.
    MixedResults {
        /// The index of the message.
        message: usize,
    },
    /// The message has two tool uses with one id.
    RepeatedUse {
        /// The index of the message.
        message: usize,
        /// The id of the tool uses.
        id: String,
    },
    /// The user uses a tool, or the assistant has a tool result.
    WrongRole {
        /// The index of the message.
        message: usize,
    },
}

impl fmt::Display for InvalidSampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ToolsNotDeclared => f.write_str(
                "`tools` and `toolChoice` require the client capability `sampling.tools`, which was not declared",
            ),
            Self::MissingResult { message, id } => write!(
                f,
                "tool result missing: messages[{message}] must have the result of the tool use {id:?} of the \
                 previous message"
            ),
            Self::UnexpectedResult { message, id } => write!(
                f,
                "messages[{message}] has a tool result for {id:?}, which matches no open tool use of the \
                 previous message"
            ),
            Self::MixedResults { message } => write!(
                f,
                "tool results mixed with other content: messages[{message}] must have tool results only"
            ),
            Self::RepeatedUse { message, id } => {
                write!(f, "messages[{message}] has two tool uses with the id {id:?}")
            }
            Self::WrongRole { message } => write!(
                f,
                "messages[{message}] has the wrong role: tool uses belong to the assistant and tool results to the user"
            ),
        }
    }
}

impl std::error::Error for InvalidSampling {}

impl From<InvalidSampling> for ErrorObject {
    fn from(invalid: InvalidSampling) -> Self {
        Self::invalid_params(invalid.to_string())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};
    use toolwire_types::ToolChoiceMode;

    use super::*;

    /// Builds a conversation from a script: `u` and `a` are the roles, `t` is a text, `+x` a tool use and `-x` its
    /// result.
    fn messages(script: &str) -> Vec<SamplingMessage> {
        let message = |message: &str| {
            let (role, blocks) = message.split_once(':').expect("a role");
            let block = |block: &str| match (block.get(..1), block.get(1..)) {
                (Some("+"), Some(id)) => {
                    json!({"type": "tool_use", "id": id, "name": "n", "input": {}})
                }
                (Some("-"), Some(id)) => {
                    json!({"type": "tool_result", "toolUseId": id, "content": []})
                }
                _ => json!({"type": "text", "text": block}),
            };
            let blocks: Vec<Value> = blocks
                .split(',')
                .filter(|text| !text.is_empty())
                .map(block)
                .collect();
            let role = if role == "u" { "user" } else { "assistant" };
            let content = match blocks.as_slice() {
                [only] => only.clone(),
                _ => Value::Array(blocks),
            };
            serde_json::from_value(json!({"role": role, "content": content})).expect("a message")
        };
        script.split_whitespace().map(message).collect()
    }

    fn check(script: &str, expected: &str) {
        let shown = match check_conversation(&messages(script)) {
            Ok(()) => "ok".to_owned(),
            Err(InvalidSampling::MissingResult { message, id }) => {
                format!("missing {message} {id}")
            }
            Err(InvalidSampling::UnexpectedResult { message, id }) => {
                format!("unexpected {message} {id}")
            }
            Err(InvalidSampling::MixedResults { message }) => format!("mixed {message}"),
            Err(InvalidSampling::RepeatedUse { message, id }) => format!("repeated {message} {id}"),
            Err(InvalidSampling::WrongRole { message }) => format!("role {message}"),
            Err(other) => other.to_string(),
        };
        assert_eq!(shown, expected, "{script}");
    }

    #[test]
    fn plain_conversations_need_no_order() {
        check("", "ok");
        check("u:t", "ok");
        check("a:t u:t u:t a:t a:t,t", "ok");
        check("u:", "ok");
    }

    #[test]
    fn every_tool_use_has_its_result_in_the_next_message() {
        check("u:t a:+1 u:-1", "ok");
        check("u:t a:t,+1,+2 u:-2,-1 a:t", "ok");
        check("a:+1 u:-1 a:+1 u:-1", "ok");
        check("a:+1 u:-1 a:+2 u:-2 u:t", "ok");
        check("u:t a:+1", "missing 2 1");
        check("a:+1 u:t", "missing 1 1");
        check("a:+1 a:t u:-1", "missing 1 1");
        check("a:+1,+2 u:-1", "missing 1 2");
        check("a:+1,+2 u:-1 u:-2", "missing 1 2");
        check("a:+1 u:", "missing 1 1");
    }

    #[test]
    fn results_need_a_tool_use() {
        check("u:-1", "unexpected 0 1");
        check("a:+1 u:-2", "unexpected 1 2");
        check("a:+1 u:-1,-1", "unexpected 1 1");
        check("a:+1 u:-1 u:-1", "unexpected 2 1");
        check("a:t u:-1", "unexpected 1 1");
    }

    #[test]
    fn results_are_alone_and_roles_match() {
        check("a:+1 u:-1,t", "mixed 1");
        check("a:+1 u:t,-1", "mixed 1");
        check("u:t,-1", "mixed 0");
        check("u:+1", "role 0");
        check("a:+1 a:-1", "role 1");
        check("a:+1,-1", "role 0");
        check("a:+1,+1 u:-1", "repeated 0 1");
    }

    #[test]
    fn tools_require_the_capability() {
        let check = |params: CreateMessageRequestParams, declared: Value, is_valid: bool| {
            let declared: ClientCapabilities =
                serde_json::from_value(declared).expect("capabilities");
            let expected = if is_valid {
                Ok(())
            } else {
                Err(InvalidSampling::ToolsNotDeclared)
            };
            assert_eq!(check_sampling(&params, &declared), expected);
        };
        let plain = || CreateMessageRequestParams::new(messages("u:t"), 1);
        let choice = || plain().with_tool_choice(ToolChoiceMode::None);
        let tools = || plain().with_tools([]);
        for params in [
            choice(),
            tools(),
            tools().with_tool_choice(ToolChoiceMode::Auto),
        ] {
            check(params.clone(), json!({}), false);
            check(params.clone(), json!({"sampling": {}}), false);
            check(params.clone(), json!({"sampling": {"context": {}}}), false);
            check(params, json!({"sampling": {"tools": {}}}), true);
        }
        check(plain(), json!({"sampling": {}}), true);
        let incomplete = CreateMessageRequestParams::new(messages("a:+1"), 1);
        let declared = serde_json::from_value(json!({"sampling": {"tools": {}}})).expect("plain");
        assert!(check_sampling(&incomplete, &declared).is_err());
    }

    #[test]
    fn context_is_requested_only_if_declared() {
        let check = |version, context: Value, declared: Value, expected: Value| {
            let params = json!({"messages": [], "maxTokens": 1, "includeContext": context});
            let mut params: CreateMessageRequestParams =
                serde_json::from_value(params).expect("a request");
            let declared = serde_json::from_value(declared).expect("capabilities");
            drop_undeclared_context(&mut params, version, &declared);
            let remaining = serde_json::to_value(&params.include_context).expect("a word");
            assert_eq!(remaining, expected, "{version}");
        };
        let plain = || json!({"sampling": {}});
        let able = || json!({"sampling": {"context": {}}});
        for context in ["thisServer", "allServers", "later"] {
            for version in [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
                check(version, json!(context), plain(), json!(null));
                check(version, json!(context), able(), json!(context));
            }
            for version in [ProtocolVersion::V2024_11_05, ProtocolVersion::V2025_06_18] {
                check(version, json!(context), plain(), json!(context));
            }
        }
        check(
            ProtocolVersion::V2026_07_28,
            json!("none"),
            plain(),
            json!("none"),
        );
        check(
            ProtocolVersion::V2026_07_28,
            json!(null),
            plain(),
            json!(null),
        );
    }

    #[test]
    fn errors_are_invalid_parameters_that_name_the_message() {
        let error = |script: &str| {
            let invalid = check_conversation(&messages(script)).expect_err("a broken rule");
            let error = ErrorObject::from(invalid);
            assert_eq!(error.code, -32602);
            error.message.to_string()
        };
        assert!(
            error("u:t a:+x").contains("messages[2] must have the result of the tool use \"x\"")
        );
        assert!(error("a:+1 u:-1,t").contains("messages[1] must have tool results only"));
        assert!(error("u:-1").contains("messages[0] has a tool result for \"1\""));
        assert!(error("u:+1").contains("messages[0] has the wrong role"));
        assert!(error("a:+1,+1").contains("two tool uses"));
        let tools = InvalidSampling::ToolsNotDeclared.to_string();
        assert!(tools.contains("sampling.tools"));
    }

    proptest! {
        /// Conversations with all results in order are valid. Without one message of results they are not.
        #[test]
        fn complete_conversations_are_valid(uses in proptest::collection::vec(0_usize..4, 1..6), left_out in any::<proptest::sample::Index>()) {
            let ids = |sign: &str, count: usize| {
                (0..count).map(|id| format!("{sign}{id}")).collect::<Vec<_>>().join(",")
            };
            let mut turns: Vec<_> = uses
                .iter()
                .flat_map(|&count| [format!("a:t,{}", ids("+", count)), format!("u:{}", ids("-", count))])
                .collect();
            prop_assert_eq!(check_conversation(&messages(&turns.join(" "))), Ok(()));
            let index = left_out.index(uses.len());
            turns.remove(2 * index + 1);
            let outcome = check_conversation(&messages(&turns.join(" ")));
            prop_assert_eq!(outcome.is_err(), uses[index] > 0);
        }
    }
}
