//! Attribute and derive macros of toolwire.
//!
//! Use them through the `toolwire` crate, which re-exports them: generated code names only `toolwire::__private`. A crate
//! that reaches toolwire by another path says so with `crate = "path"` in the attribute.

mod access;
mod arguments;
mod attributes;
mod constraints;
mod definition;
mod docs;
mod elicit;
mod free_function;
mod handler;
mod kinds;
mod parameters;
mod presentation;
mod prompt;
mod resource;
mod resource_template;
mod self_type;
mod server;
mod template_variables;
mod text_values;
mod tool;

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
/// The function may be async or not. A free function becomes a unit struct of its name; the function itself is then
/// `add::call`, and other functions of the module cannot have a variable called `add`. A method belongs in a
/// [`#[server]`](macro@server) block.
///
/// # Keys
///
/// | key | meaning |
/// |---|---|
/// | `name`, `title`, `description`, `icon` | how it is shown; the function's name and doc comment unless given |
/// | `read_only`, `destructive`, `idempotent`, `open_world` | hints, alone or `= true` / `= false` |
/// | `requires("sampling", …)` | capabilities a client must have to call it |
/// | `scopes("files:read", …)` | scopes an access token must grant to call it over HTTP |
/// | `output_schema = false` | publishes no output schema |
/// | `blocking` | runs it on the pool for blocking work |
/// | `strict` | refuses arguments that are not parameters |
/// | `crate = "path"` | where toolwire is found |
///
/// # Parameters
///
/// A parameter of type `RequestContext` or `&RequestContext` gets the context. All others are arguments: `Option<T>` may
/// be left out, `&str` and `&[T]` are lent from what arrived, doc comments are their descriptions. `#[arg(…)]` adds:
/// `name`, `title`, `description`, `default` (alone or `= value`), `minimum`, `maximum`, `exclusive_minimum`,
/// `exclusive_maximum`, `multiple_of`, `min_length`, `max_length`, `pattern`, `format`, `min_items`, `max_items`, and
/// `header = "Region"`, which mirrors the argument into an HTTP header.
#[proc_macro_attribute]
pub fn tool(attribute: TokenStream, item: TokenStream) -> TokenStream {
    free_function::expand(&definition::TOOL, attribute.into(), &item.into()).into()
}

/// Makes a function a prompt: `server.prompt(greet)`.
///
/// ```text
/// /// Greets somebody.
/// #[prompt]
/// fn greet(#[arg(complete = known_names)] name: String, mood: Option<String>) -> String {
///     format!("Say hello to {name}.")
/// }
/// ```
///
/// Keys: `name`, `title`, `description`, `icon`, `requires` and `scopes` (see [`#[tool]`](macro@tool)), `crate`.
/// Parameters are strings or any type that parses from one;
/// `Option<T>` and those with a default may be left out. `#[arg(…)]` knows `name`, `title`, `description`, `default` and
/// `complete = path`, a function from the text typed so far (`&str`) to suggestions (`Vec<String>` or `Completion`); in a
/// [`#[server]`](macro@server) block also `complete = self.method`.
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
/// Keys: `uri` (needed), `name`, `title`, `description`, `mime_type`, `size`, `icon`, `audience("user", "assistant")`,
/// `priority`, `requires` and `scopes` (see [`#[tool]`](macro@tool)), `crate`. A parameter marked `#[arg(uri)]` gets the
/// URI.
#[proc_macro_attribute]
pub fn resource(attribute: TokenStream, item: TokenStream) -> TokenStream {
    free_function::expand(&definition::RESOURCE, attribute.into(), &item.into()).into()
}

/// Makes a function every resource of a URI template: `server.resource_template(note)`.
///
/// ```text
/// /// One note.
/// #[resource_template(uri = "notes://{name}")]
/// async fn note(name: String) -> Result<String, ToolError> {
///     read(&name).await
/// }
/// ```
///
/// Keys: those of [`#[resource]`](macro@resource) without `size`. The parameters are the variables of the template, each
/// of a type that parses from text; `Option<T>` may be missing, and `Vec<String>` takes every value of a list. `#[arg(…)]`
/// knows `name`, `default`, `complete` (see [`#[prompt]`](macro@prompt)) and `uri`, which asks for the whole URI.
#[proc_macro_attribute]
pub fn resource_template(attribute: TokenStream, item: TokenStream) -> TokenStream {
    free_function::expand(
        &definition::RESOURCE_TEMPLATE,
        attribute.into(),
        &item.into(),
    )
    .into()
}

/// Serves the methods of an `impl` block: `server.handlers(notes)`, or `notes.into_server()`.
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
/// Methods marked `#[tool]`, `#[prompt]`, `#[resource]` or `#[resource_template]` take `&self`, which all calls share; they
/// remain ordinary methods. Keys: `name` and `version` of the server that `into_server` makes (the type's name and the
/// package's version unless given), `crate`.
#[proc_macro_attribute]
pub fn server(attribute: TokenStream, item: TokenStream) -> TokenStream {
    server::expand(attribute.into(), &item.into()).into()
}

/// Makes a flat struct a form that a client can show, or a unit enum a choice in one.
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
/// Fields are text (`String`, `char`), numbers of up to 64 bits, booleans, enums that derive `Elicit`, `Vec`s and sets of
/// those enums (a choice of several), `Option`s of all these, and aliases of them.
///
/// # Keys
///
/// | key | on | meaning |
/// |---|---|---|
/// | `title` | fields, variants | the label |
/// | `description` | fields | the explanation, instead of the doc comment |
/// | `default` | fields | what stands there at first; `default("a", "b")` for a choice of several |
/// | `format` | text | `email`, `uri`, `date` or `date-time` |
/// | `min_length`, `max_length` | text | in characters |
/// | `minimum`, `maximum` | numbers | both included; the range of the type unless given |
/// | `min_items`, `max_items` | choices of several | how many to choose |
/// | `crate = "path"` | the type | where toolwire is found |
///
/// Values are constants, and one that does not fit its field fails the build. Names follow serde's `rename` and
/// `rename_all`; `default` makes a field optional and `skip` leaves it out.
#[proc_macro_derive(Elicit, attributes(elicit))]
pub fn elicit(item: TokenStream) -> TokenStream {
    elicit::expand(item.into()).into()
}
