//! The list of the releases, with the exact versions.

use crate::release::features::{DEMO, FILESYSTEM, KUBERNETES, SMALL_SERVER, TIME};
use crate::release::program::Program;
use crate::release::{Arguments, ClientRole, Features, Release, ServerRole};
use crate::server_peer::ServerWire::{self, Http, Sse, Stdio};

const PYTHON_SERVER: &[&str] = &["{releases}/python_sdk_server.py"];
const PYTHON_CLIENT: &[&str] = &["{releases}/python_sdk_client.py"];
const FASTMCP_SERVER: &[&str] = &["{releases}/fastmcp_server.py"];
const FASTMCP_CLIENT: &[&str] = &["{releases}/fastmcp_client.py"];
const TYPESCRIPT_SERVER: &str = "{releases}/typescript_server.mjs";
const TYPESCRIPT_CLIENT: &str = "{releases}/typescript_client.mjs";
const MCP_REMOTE: &str = "{releases}/node_modules/mcp-remote/dist/proxy.js";
const SUPERGATEWAY: &str = "{releases}/node_modules/supergateway/dist/index.js";
const KUBERNETES_SERVER: &str = "{releases}/node_modules/kubernetes-mcp-server/bin/index.js";
const FILESYSTEM_SERVER: &str =
    "{releases}/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js";

/// All releases, in the order of the README.
pub const RELEASES: &[Release] = &[
    Release {
        name: "Python SDK 1.0",
        package: "mcp",
        version: "1.0.0",
        program: Program::Python("python-sdk-1.0"),
        variables: &[],
        servers: &[
            script_server(Stdio, "2024-11-05", PYTHON_SERVER),
            script_server(Sse, "2024-11-05", PYTHON_SERVER),
        ],
        clients: &[
            script_client(Stdio, "2024-11-05", PYTHON_CLIENT),
            script_client(Sse, "2024-11-05", PYTHON_CLIENT),
        ],
    },
    Release {
        name: "Python SDK 1.6",
        package: "mcp",
        version: "1.6.0",
        program: Program::Python("python-sdk-1.6"),
        variables: &[],
        servers: &[
            script_server(Stdio, "2024-11-05", PYTHON_SERVER),
            script_server(Sse, "2024-11-05", PYTHON_SERVER),
        ],
        clients: &[
            script_client(Stdio, "2024-11-05", PYTHON_CLIENT),
            script_client(Sse, "2024-11-05", PYTHON_CLIENT),
        ],
    },
    Release {
        name: "Python SDK 1.15",
        package: "mcp",
        version: "1.15.0",
        program: Program::Python("python-sdk-1.15"),
        variables: &[],
        servers: &[
            script_server(Stdio, "2025-06-18", PYTHON_SERVER),
            script_server(Http, "2025-06-18", PYTHON_SERVER),
            script_server(Sse, "2025-06-18", PYTHON_SERVER),
        ],
        clients: &[
            script_client(Stdio, "2025-06-18", PYTHON_CLIENT),
            script_client(Http, "2025-06-18", PYTHON_CLIENT),
            script_client(Sse, "2025-06-18", PYTHON_CLIENT),
        ],
    },
    Release {
        name: "Python SDK 1.30",
        package: "mcp",
        version: "1.30.0",
        program: Program::Python("python-sdk-1.30"),
        variables: &[],
        servers: &[
            script_server(Stdio, "2025-11-25", PYTHON_SERVER),
            script_server(Http, "2025-11-25", PYTHON_SERVER),
        ],
        clients: &[
            script_client(Stdio, "2025-11-25", PYTHON_CLIENT),
            script_client(Http, "2025-11-25", PYTHON_CLIENT),
        ],
    },
    Release {
        name: "TypeScript SDK 0.6",
        package: "@modelcontextprotocol/sdk",
        version: "0.6.1",
        program: Program::Node,
        variables: &[],
        servers: &[
            script_server(
                Stdio,
                "2024-11-05",
                &[TYPESCRIPT_SERVER, "typescript-sdk-0.6"],
            ),
            script_server(
                Sse,
                "2024-11-05",
                &[TYPESCRIPT_SERVER, "typescript-sdk-0.6"],
            ),
        ],
        clients: &[
            script_client(
                Stdio,
                "2024-11-05",
                &[TYPESCRIPT_CLIENT, "typescript-sdk-0.6"],
            ),
            script_client(
                Sse,
                "2024-11-05",
                &[TYPESCRIPT_CLIENT, "typescript-sdk-0.6"],
            ),
        ],
    },
    Release {
        name: "TypeScript SDK 1.0",
        package: "@modelcontextprotocol/sdk",
        version: "1.0.4",
        program: Program::Node,
        variables: &[],
        servers: &[
            script_server(
                Stdio,
                "2024-11-05",
                &[TYPESCRIPT_SERVER, "typescript-sdk-1.0"],
            ),
            script_server(
                Sse,
                "2024-11-05",
                &[TYPESCRIPT_SERVER, "typescript-sdk-1.0"],
            ),
        ],
        clients: &[
            script_client(
                Stdio,
                "2024-11-05",
                &[TYPESCRIPT_CLIENT, "typescript-sdk-1.0"],
            ),
            script_client(
                Sse,
                "2024-11-05",
                &[TYPESCRIPT_CLIENT, "typescript-sdk-1.0"],
            ),
        ],
    },
    Release {
        name: "TypeScript SDK 1.10",
        package: "@modelcontextprotocol/sdk",
        version: "1.10.2",
        program: Program::Node,
        variables: &[],
        servers: &[
            script_server(
                Stdio,
                "2024-11-05",
                &[TYPESCRIPT_SERVER, "typescript-sdk-1.10"],
            ),
            script_server(
                Http,
                "2024-11-05",
                &[TYPESCRIPT_SERVER, "typescript-sdk-1.10"],
            ),
        ],
        clients: &[
            script_client(
                Stdio,
                "2024-11-05",
                &[TYPESCRIPT_CLIENT, "typescript-sdk-1.10"],
            ),
            script_client(
                Http,
                "2024-11-05",
                &[TYPESCRIPT_CLIENT, "typescript-sdk-1.10"],
            ),
        ],
    },
    Release {
        name: "TypeScript SDK 1.20",
        package: "@modelcontextprotocol/sdk",
        version: "1.20.2",
        program: Program::Node,
        variables: &[],
        servers: &[
            script_server(
                Stdio,
                "2025-06-18",
                &[TYPESCRIPT_SERVER, "typescript-sdk-1.20"],
            ),
            script_server(
                Http,
                "2025-06-18",
                &[TYPESCRIPT_SERVER, "typescript-sdk-1.20"],
            ),
        ],
        clients: &[
            script_client(
                Stdio,
                "2025-06-18",
                &[TYPESCRIPT_CLIENT, "typescript-sdk-1.20"],
            ),
            script_client(
                Http,
                "2025-06-18",
                &[TYPESCRIPT_CLIENT, "typescript-sdk-1.20"],
            ),
        ],
    },
    Release {
        name: "FastMCP 2.14",
        package: "fastmcp",
        version: "2.14.7",
        program: Program::Python("fastmcp-2.14"),
        variables: &[],
        servers: &[
            script_server(Stdio, "2025-11-25", FASTMCP_SERVER),
            script_server(Http, "2025-11-25", FASTMCP_SERVER),
        ],
        clients: &[
            script_client(Stdio, "2025-11-25", FASTMCP_CLIENT),
            script_client(Http, "2025-11-25", FASTMCP_CLIENT),
        ],
    },
    Release {
        name: "FastMCP 3.4",
        package: "fastmcp",
        version: "3.4.10",
        program: Program::Python("fastmcp-3.4"),
        variables: &[],
        servers: &[
            script_server(Stdio, "2025-11-25", FASTMCP_SERVER),
            script_server(Http, "2025-11-25", FASTMCP_SERVER),
        ],
        clients: &[
            script_client(Stdio, "2025-11-25", FASTMCP_CLIENT),
            script_client(Http, "2025-11-25", FASTMCP_CLIENT),
        ],
    },
    Release {
        name: "FastMCP 4.1",
        package: "fastmcp",
        version: "4.1.2",
        program: Program::Python("fastmcp-4.1"),
        variables: &[],
        servers: &[
            script_server(Stdio, "2026-07-28", FASTMCP_SERVER),
            script_server(Http, "2026-07-28", FASTMCP_SERVER),
        ],
        clients: &[
            script_client(Stdio, "2026-07-28", FASTMCP_CLIENT),
            script_client(Http, "2026-07-28", FASTMCP_CLIENT),
        ],
    },
    Release {
        name: "rmcp",
        package: "rmcp",
        version: "3.8.0",
        program: Program::Rmcp,
        variables: &[],
        servers: &[
            script_server(Stdio, "2026-07-28", &["interop-rmcp-server"]),
            script_server(Http, "2026-07-28", &["interop-rmcp-server"]),
        ],
        clients: &[
            script_client(Stdio, "2026-07-28", &["interop-rmcp-client"]),
            script_client(Stdio, "2025-11-25", &["interop-rmcp-client"]),
            script_client(Http, "2026-07-28", &["interop-rmcp-client"]),
            script_client(Http, "2025-11-25", &["interop-rmcp-client"]),
        ],
    },
    Release {
        name: "Inspector",
        package: "@modelcontextprotocol/inspector",
        version: "2.12.0",
        program: Program::Node,
        variables: &[],
        servers: &[],
        clients: &[
            script_client(Stdio, "2025-11-25", &["{releases}/inspector_client.mjs"]),
            script_client(Http, "2025-11-25", &["{releases}/inspector_client.mjs"]),
            script_client(Http, "2026-07-28", &["{releases}/inspector_client.mjs"]),
            script_client(Sse, "2025-11-25", &["{releases}/inspector_client.mjs"]),
        ],
    },
    // A client of `toolwire demo` over HTTP, and a server over stdio.
    Release {
        name: "mcp-remote",
        package: "mcp-remote",
        version: "0.15.1",
        program: Program::Node,
        variables: &[("MCP_REMOTE_CONFIG_DIR", "{directory}")],
        servers: &[server(
            Stdio,
            "2026-07-28",
            &[
                MCP_REMOTE,
                "{url}",
                "--transport",
                "http-only",
                "--allow-http",
            ],
            &DEMO,
        )],
        clients: &[],
    },
    // Forwards between `toolwire demo` and `toolwire::Client`, which use different transports.
    Release {
        name: "supergateway",
        package: "supergateway",
        version: "4.0.0",
        program: Program::Node,
        variables: &[],
        servers: &[
            server(
                Stdio,
                "2025-11-25",
                &[
                    SUPERGATEWAY,
                    "--streamableHttp",
                    "{url}",
                    "--logLevel",
                    "none",
                ],
                &DEMO,
            ),
            server(
                Http,
                "2026-07-28",
                &[
                    SUPERGATEWAY,
                    "--stdio",
                    "\"{toolwire}\" demo --stdio",
                    "--outputTransport",
                    "streamableHttp",
                    "--stateful",
                    "--port",
                    "{port}",
                ],
                &DEMO,
            ),
            server(
                Sse,
                "2025-11-25",
                &[
                    SUPERGATEWAY,
                    "--stdio",
                    "\"{toolwire}\" demo --stdio",
                    "--outputTransport",
                    "sse",
                    "--port",
                    "{port}",
                ],
                &DEMO,
            ),
        ],
        clients: &[],
    },
    Release {
        name: "filesystem",
        package: "@modelcontextprotocol/server-filesystem",
        version: "2026.8.31",
        program: Program::Node,
        variables: &[],
        servers: &[server(
            Stdio,
            "2025-11-25",
            &[FILESYSTEM_SERVER, "{directory}"],
            &FILESYSTEM,
        )],
        clients: &[],
    },
    Release {
        name: "time",
        package: "mcp-server-time",
        version: "2026.10.19",
        program: Program::Python("time"),
        variables: &[],
        servers: &[server(
            Stdio,
            "2026-07-28",
            &["-m", "mcp_server_time", "--local-timezone", "UTC"],
            &TIME,
        )],
        clients: &[],
    },
    Release {
        name: "Kubernetes (Go)",
        package: "kubernetes-mcp-server",
        version: "0.0.67",
        program: Program::Node,
        variables: &[("KUBECONFIG", "{releases}/kubeconfig.yaml")],
        servers: &[
            server(Stdio, "2026-07-28", &[KUBERNETES_SERVER], &KUBERNETES),
            server(
                Http,
                "2025-11-25",
                &[KUBERNETES_SERVER, "--port", "{port}"],
                &KUBERNETES,
            ),
        ],
        clients: &[],
    },
];

/// A script that starts the small server.
const fn script_server(
    wire: ServerWire,
    revision: &'static str,
    script: &'static [&'static str],
) -> ServerRole {
    ServerRole {
        wire,
        revision,
        arguments: Arguments::Script(script),
        features: &SMALL_SERVER,
    }
}

/// A program that is a server itself.
const fn server(
    wire: ServerWire,
    revision: &'static str,
    arguments: &'static [&'static str],
    features: &'static Features,
) -> ServerRole {
    ServerRole {
        wire,
        revision,
        arguments: Arguments::Program(arguments),
        features,
    }
}

/// A script that checks `toolwire demo`.
const fn script_client(
    wire: ServerWire,
    revision: &'static str,
    script: &'static [&'static str],
) -> ClientRole {
    ClientRole {
        wire,
        revision,
        arguments: Arguments::Script(script),
    }
}
