//! Servers and clients for MCP.
