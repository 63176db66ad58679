//! Harness that runs real MCP peers against toolwire.
