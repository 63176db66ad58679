//! Attribute and derive macros of toolwire.
//!
//! Use the macros through the `toolwire` crate, which re-exports them: generated code uses only `toolwire::__private`. A
//! crate that imports toolwire under another path sets `crate = "path"` in the attribute.
//!
//! # Features
//!
//! | Feature | Default | Contents |
//! |---|---|---|
//! | `apps` | no | `#[tool(view = …)]` and `#[tool(visible_to(…))]`. The `apps` feature of toolwire enables it. |
//! | `skills` | no | `embedded_skills!`. The `skills` feature of toolwire enables it. |
//! | `tasks` | no | `#[tool(task)]`. The `tasks` feature of toolwire enables it. |

#![cfg_attr(docsrs, feature(doc_cfg))]

mod access;
mod arguments;
mod attributes;
mod constraints;
mod definition;
mod docs;
mod elicit;
#[cfg(feature = "skills")]
mod embedded_skills;
mod free_function;
mod handler;
mod kinds;
mod metadata;
mod parameters;
mod presentation;
mod prompt;
mod resource;
mod resource_template;
mod self_type;
mod server;
mod task;
mod template_variables;
mod text_values;
mod tool;
mod view;

use proc_macro::TokenStream;

/// Makes a function a tool: `server.tool(add)`.
///
/// ```text
/// /// Adds two integers.
/// #[tool(title = "Add", read_only)]
/// async fn add(/** first number */ a: i64, #[arg(default = 1, minimum = 0)] b: i64) -> i64 {
///     a + b
/// }
/// ```
///
/// The function may be async or not. For a free function, the macro generates a function of the same name that returns
/// the tool; the original function becomes `add::call`. A method must be in a [`#[server]`](macro@server) block.
///
/// # Keys
///
/// | key | meaning |
/// |---|---|
/// | `name`, `title`, `description`, `icon` | the presentation of the tool. Default: the name and the doc comment of the function |
/// | `meta("com.example/owner" = "docs", …)` | the `_meta` of the descriptor. Values are literals, or expressions that convert into a `serde_json::Value` |
/// | `read_only`, `destructive`, `idempotent`, `open_world` | annotations, alone or `= true` / `= false` |
/// | `requires("sampling", …)` | the capabilities that a client needs to call the tool |
/// | `scopes("files:read", …)` | the scopes that an access token needs for a call over HTTP |
/// | `output_schema = false` | omits the output schema |
/// | `blocking` | runs the function on the pool for blocking work |
/// | `strict` | rejects arguments that are not parameters |
/// | `task`, `task(…)` | lets calls become tasks, on a server with tasks; see below |
/// | `view = expression` | shows a view for the calls of the tool: a `View`, or the URI of one |
/// | `visible_to("app")` | which callers see the tool: `"model"`, `"app"` (views) or both |
/// | `crate = "path"` | the path of the `toolwire` crate |
///
/// # Tasks
///
/// The keys of `task(…)` are separated by commas. Numbers are seconds: `2` or `0.5`.
///
/// | key | meaning |
/// |---|---|
/// | `required` | rejects clients that do not support tasks. Without it they get the result as the response of the call |
/// | `after = 2` | responds directly if the call finishes in this time, and with a task otherwise |
/// | `on_demand` | an ordinary call until the handler calls `RequestContext::start_task` |
/// | `ttl = 7200` | how long a task may exist |
/// | `poll = 5` | how often clients should poll |
/// | `resume` | runs the handler again if its process stopped while it ran |
///
/// # Parameters
///
/// A parameter of type `RequestContext` or `&RequestContext` receives the context. All others are arguments. An
/// `Option<T>` argument is optional, `&str` and `&[T]` borrow from the parsed arguments, and a doc comment is the
/// description of an argument. The keys of `#[arg(…)]` are
/// `name`, `title`, `description`, `default` (alone or `= value`), `minimum`, `maximum`, `exclusive_minimum`,
/// `exclusive_maximum`, `multiple_of`, `min_length`, `max_length`, `pattern`, `format`, `min_items`, `max_items`, and
/// `header = "Region"`, which copies the argument into an HTTP header.
#[proc_macro_attribute]
#[doc(alias = "Parameters")]
pub fn tool(attribute: TokenStream, item: TokenStream) -> TokenStream {
    free_function::expand(&definition::TOOL, attribute.into(), &item.into()).into()
}

/// Makes a function a prompt: `server.prompt(greet)`.
///
/// ```text
/// /// Greets a user.
/// #[prompt]
/// fn greet(#[arg(complete = known_names)] name: String, mood: Option<String>) -> String {
///     format!("Say hello to {name}.")
/// }
/// ```
///
/// Keys: `name`, `title`, `description`, `icon`, `meta`, `requires` and `scopes` (see [`#[tool]`](macro@tool)), `crate`.
/// Parameters are strings or types that parse from a string. An `Option<T>` and a parameter with a default are optional.
///
/// The keys of `#[arg(…)]` are `name`, `title`, `description`, `default` and `complete = path`. The path names a function
/// from the entered text (`&str`) to suggestions (`Vec<String>` or `CompletionValues`). In a
/// [`#[server]`](macro@server) block, `complete = self.method` is possible too.
#[proc_macro_attribute]
pub fn prompt(attribute: TokenStream, item: TokenStream) -> TokenStream {
    free_function::expand(&definition::PROMPT, attribute.into(), &item.into()).into()
}

/// Makes a function a resource: `server.resource(readme)`.
///
/// ```text
/// /// The readme.
/// #[resource(uri = "docs://readme", mime_type = "text/markdown")]
/// async fn readme() -> String {
///     "# Hello".to_owned()
/// }
/// ```
///
/// Keys: `uri` (required), `name`, `title`, `description`, `mime_type`, `size`, `icon`, `audience("user", "assistant")`,
/// `priority`, `last_modified = "2026-07-28T12:00:00Z"`, `meta`, `requires` and `scopes` (see [`#[tool]`](macro@tool)),
/// `crate`. With `cache(ttl_ms = 60_000, scope = "public")`, clients may cache the contents; the default scope is
/// `"private"`. A parameter marked `#[arg(uri)]` receives the URI.
#[proc_macro_attribute]
pub fn resource(attribute: TokenStream, item: TokenStream) -> TokenStream {
    free_function::expand(&definition::RESOURCE, attribute.into(), &item.into()).into()
}

/// Makes a function the handler of all resources of a URI template: `server.resource_template(note)`.
///
/// ```text
/// /// One note.
/// #[resource_template(uri = "notes://{name}")]
/// async fn note(name: String) -> Result<String, ToolError> {
///     read(&name).await
/// }
/// ```
///
/// Keys: those of [`#[resource]`](macro@resource) without `size`. The parameters are the variables of the template. Each
/// has a type that parses from text. An `Option<T>` is optional, and a `Vec<String>` receives all values of a list.
///
/// The keys of `#[arg(…)]` are `name`, `default`, `complete` (see [`#[prompt]`](macro@prompt)) and `uri`, which marks the
/// parameter that receives the complete URI.
#[proc_macro_attribute]
pub fn resource_template(attribute: TokenStream, item: TokenStream) -> TokenStream {
    free_function::expand(
        &definition::RESOURCE_TEMPLATE,
        attribute.into(),
        &item.into(),
    )
    .into()
}

/// Makes methods of an `impl` block handlers of a server: `server.handlers(notes)`, or `notes.into_server()`.
///
/// ```text
/// #[toolwire::server]
/// impl Notes {
///     /// Reads a note.
///     #[tool(read_only)]
///     async fn read(&self, name: String) -> Result<String, NoteError> { … }
/// }
/// ```
///
/// Methods marked `#[tool]`, `#[prompt]`, `#[resource]` or `#[resource_template]` take `&self`, which all calls share. They
/// remain ordinary methods.
///
/// Keys: `name` and `version` of the server that `into_server` creates, `parts`, `part`, and `crate`. Default: the name of
/// the type and the version of the package.
///
/// # Several blocks
///
/// A type with many handlers can have several blocks, also in other modules of the crate. One block names the others as
/// its parts. All share the same value:
///
/// ```text
/// #[toolwire::server(parts("search", "admin"))]
/// impl Notes { … }
///
/// #[toolwire::server(part = "search")]
/// impl Notes { … }
///
/// #[toolwire::server(part = "admin")]
/// impl Notes { … }
/// ```
#[proc_macro_attribute]
#[doc(alias = "tool_router", alias = "tool_handler", alias = "prompt_router")]
pub fn server(attribute: TokenStream, item: TokenStream) -> TokenStream {
    server::expand(attribute.into(), &item.into()).into()
}

/// Makes a flat struct an elicitation form, or a unit enum a choice in a form. The enum is also a form of its own, with
/// one field.
///
/// ```text
/// #[derive(Deserialize, Elicit)]
/// struct Booking {
///     /// Where to send the ticket.
///     #[elicit(format = "email")]
///     email: String,
///     #[elicit(minimum = 1, maximum = 9)]
///     seats: u32,
///     class: Option<Class>,
/// }
///
/// #[derive(Deserialize, Elicit)]
/// #[serde(rename_all = "lowercase")]
/// enum Class {
///     #[elicit(title = "First class")]
///     First,
///     Second,
/// }
/// ```
///
/// A field is text (`String`, `char`), a number of up to 64 bits, a boolean or an enum that derives `Elicit`. A `Vec` or
/// set of such an enum is a multi-select field. An `Option` of these types is optional. Type aliases work too.
///
/// # Keys
///
/// | key | on | meaning |
/// |---|---|---|
/// | `title` | fields, variants | the label |
/// | `description` | fields | the explanation. Default: the doc comment |
/// | `default` | fields | the default value; `default("a", "b")` for a multi-select field |
/// | `format` | text | `email`, `uri`, `date` or `date-time` |
/// | `min_length`, `max_length` | text | the length in characters |
/// | `minimum`, `maximum` | numbers | the range, both inclusive. Default: the range of the type |
/// | `min_items`, `max_items` | multi-select fields | the number of selected values |
/// | `crate = "path"` | the type | the path of the `toolwire` crate |
///
/// Values are constants. A value that is invalid for its field is a compile error. Names follow serde's `rename` and
/// `rename_all`. The serde attribute `default` makes a field optional, and `skip` omits it.
#[proc_macro_derive(Elicit, attributes(elicit))]
pub fn elicit(item: TokenStream) -> TokenStream {
    elicit::expand(item.into()).into()
}

/// Puts a directory of skills into the binary: `server.skills(toolwire::skills::embedded!("skills"))`.
///
/// ```text
/// const SKILLS: Skills = toolwire::skills::embedded!("skills");
/// ```
///
/// The path is relative to the directory of the crate's `Cargo.toml`. Every directory below it with a `SKILL.md` is a
/// skill. `.git`, `.DS_Store` and backups of editors are skipped. A missing directory, a link, and a name that is not UTF-8 are
/// compile errors. The front matter is checked when the server starts.
///
/// The compiler detects changed files by itself. After files were added or removed, rebuild the crate, for example with
/// a build script that prints `cargo::rerun-if-changed=skills`.
///
/// A crate that imports toolwire under another path adds it: `embedded!("skills", crate = "path")`.
#[cfg(feature = "skills")]
#[proc_macro]
pub fn embedded_skills(input: TokenStream) -> TokenStream {
    embedded_skills::expand(input.into()).into()
}
