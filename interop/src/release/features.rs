//! What the servers of the list provide: one call of each kind, with its result.

/// The features of a server. Every text may have placeholders.
#[derive(Debug)]
#[non_exhaustive]
pub struct Features {
    /// The name of the server.
    pub server: &'static str,
    /// A call that succeeds.
    pub tool: ToolCall,
    /// A call that returns an error of the tool.
    pub failing_tool: ToolCall,
    /// The URI of a listed resource and a part of its text.
    pub resource: Option<(&'static str, &'static str)>,
    /// A listed prompt.
    pub prompt: Option<PromptCall>,
}

/// A call of a tool.
#[derive(Debug)]
#[non_exhaustive]
pub struct ToolCall {
    /// The name of the tool.
    pub name: &'static str,
    /// The arguments, as JSON.
    pub arguments: &'static str,
    /// A part of the text of the result.
    pub text: &'static str,
}

/// A request for a prompt.
#[derive(Debug)]
#[non_exhaustive]
pub struct PromptCall {
    /// The name of the prompt.
    pub name: &'static str,
    /// The arguments.
    pub arguments: &'static [(&'static str, &'static str)],
    /// A part of the text of the first message.
    pub text: &'static str,
}

/// The small server of the scripts.
pub(crate) const SMALL_SERVER: Features = Features {
    server: "interop-release",
    tool: ToolCall {
        name: "echo",
        arguments: r#"{"text": "grüß dich, 世界"}"#,
        text: "grüß dich, 世界",
    },
    failing_tool: ToolCall {
        name: "fail",
        arguments: r#"{"text": "out of paper"}"#,
        text: "out of paper",
    },
    resource: Some(("demo://motto", "less is more")),
    prompt: Some(PromptCall {
        name: "greet",
        arguments: &[("name", "Ada")],
        text: "Say hello to Ada.",
    }),
};

/// `toolwire demo`, behind a program that forwards messages.
pub(crate) const DEMO: Features = Features {
    server: "toolwire-demo",
    tool: ToolCall {
        name: "echo",
        arguments: r#"{"text": "grüß dich, 世界"}"#,
        text: "grüß dich, 世界",
    },
    failing_tool: ToolCall {
        name: "fail",
        arguments: r#"{"message": "out of paper"}"#,
        text: "out of paper",
    },
    resource: Some(("demo://notes/first", "This is the first note.")),
    prompt: Some(PromptCall {
        name: "greet",
        arguments: &[("name", "Ada")],
        text: "Greet Ada warmly",
    }),
};

pub(crate) const FILESYSTEM: Features = Features {
    server: "secure-filesystem-server",
    tool: ToolCall {
        name: "read_text_file",
        arguments: r#"{"path": "{directory}/note.txt"}"#,
        text: "a note",
    },
    failing_tool: ToolCall {
        name: "read_text_file",
        arguments: r#"{"path": "{directory}/../secret.txt"}"#,
        text: "Access denied",
    },
    resource: None,
    prompt: None,
};

pub(crate) const TIME: Features = Features {
    server: "mcp-time",
    tool: ToolCall {
        name: "convert_time",
        arguments: r#"{"source_timezone": "Asia/Tokyo", "time": "16:30", "target_timezone": "UTC"}"#,
        text: "07:30",
    },
    failing_tool: ToolCall {
        name: "get_current_time",
        arguments: r#"{"timezone": "Nowhere/Never"}"#,
        text: "Invalid timezone",
    },
    resource: None,
    prompt: None,
};

pub(crate) const KUBERNETES: Features = Features {
    server: "kubernetes-mcp-server",
    tool: ToolCall {
        name: "configuration_view",
        arguments: "{}",
        text: "current-context: interop",
    },
    failing_tool: ToolCall {
        name: "pods_list",
        arguments: "{}",
        text: "127.0.0.1:1",
    },
    resource: None,
    prompt: Some(PromptCall {
        name: "cluster-health-check",
        arguments: &[],
        text: "Cluster Health Check",
    }),
};
