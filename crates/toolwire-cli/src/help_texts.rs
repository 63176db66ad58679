//! Texts that the help of several commands shows.

/// The exit codes, as shown by `--help`. They match `failure::Exit`.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
    0  success
    1  the tool reported an error, `skills check` or `doctor` found a fault, or
       `pins` or `replay` found a change
    2  the command line, an argument of the tool or a configuration is invalid
    3  no connection: DNS, TCP, TLS, or a command that does not run
    4  the server returned an error or violated the protocol
    5  timeout
    6  the credentials were rejected (HTTP 401, 403), or a login is required
  130  interrupted (143: terminated, 129: the terminal was closed)";

pub(crate) const SERVER_HELP: &str = "\
A server is one of
    https://example.com/mcp   an address
    -- npx some-server /tmp   a command that starts the server; it comes last
    weather                   a name from --config, ./mcp.json, or a file of
                              Claude, Cursor, VS Code or another application;
                              `toolwire servers` lists these names";

pub(crate) const DOMAIN_HELP: &str = "\
A domain is a host such as example.com. Its servers are those of its catalog,
https://example.com/.well-known/ai-catalog.json (an experimental feature).";

pub(crate) const ARGUMENT_HELP: &str = "\
Arguments:
    count=3             converted to the type in the tool's schema
    place.city=Oslo     a member of an object
    tag=a tag=b         several elements of an array
    filter:='{\"a\":1}'   JSON, unchanged
    text=@notes.txt     the content of a file; @@ starts a text with @
    @arguments.json     all arguments from a file
    -                   all arguments from standard input";
