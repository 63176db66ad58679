//! Guides for common tasks, one page per subject.
//!
//! Start with [`getting_started`]. Every example on these pages is compiled, and run if it terminates.
//!
//! Each page includes `links.md`, which directs its links to the items of this documentation. On code hosts, the links of
//! the pages lead to docs.rs and to the other files.

#[doc = include_str!("links.md")]
#[doc = include_str!("getting_started.md")]
pub mod getting_started {}

#[doc = include_str!("links.md")]
#[doc = include_str!("tools.md")]
pub mod tools {}

#[doc = include_str!("links.md")]
#[doc = include_str!("resources_and_prompts.md")]
pub mod resources_and_prompts {}

#[doc = include_str!("links.md")]
#[doc = include_str!("request_context.md")]
pub mod request_context {}

#[doc = include_str!("links.md")]
#[doc = include_str!("middleware.md")]
pub mod middleware {}

#[doc = include_str!("links.md")]
#[doc = include_str!("mounting.md")]
pub mod mounting {}

#[doc = include_str!("links.md")]
#[doc = include_str!("asking_for_input.md")]
pub mod asking_for_input {}

#[cfg(feature = "tasks")]
#[doc = include_str!("links.md")]
#[doc = include_str!("tasks.md")]
pub mod tasks {}

#[cfg(feature = "skills")]
#[doc = include_str!("links.md")]
#[doc = include_str!("skills.md")]
pub mod skills {}

#[cfg(feature = "apps")]
#[doc = include_str!("links.md")]
#[doc = include_str!("apps.md")]
pub mod apps {}

#[cfg(feature = "events")]
#[doc = include_str!("links.md")]
#[doc = include_str!("events.md")]
pub mod events {}

#[doc = include_str!("links.md")]
#[doc = include_str!("versions.md")]
pub mod versions {}

#[doc = include_str!("links.md")]
#[doc = include_str!("extensions.md")]
pub mod extensions {}

#[doc = include_str!("links.md")]
#[doc = include_str!("serving.md")]
pub mod serving {}

#[cfg(feature = "http-server")]
#[doc = include_str!("links.md")]
#[doc = include_str!("http.md")]
pub mod http {}

#[cfg(feature = "http-client")]
#[doc = include_str!("links.md")]
#[doc = include_str!("client.md")]
pub mod client {}

#[doc = include_str!("links.md")]
#[doc = include_str!("terminal.md")]
pub mod terminal {}

#[doc = include_str!("links.md")]
#[doc = include_str!("dev.md")]
pub mod dev {}

#[doc = include_str!("links.md")]
#[doc = include_str!("inspect.md")]
pub mod inspect {}

#[doc = include_str!("links.md")]
#[doc = include_str!("install.md")]
pub mod install {}

#[doc = include_str!("links.md")]
#[doc = include_str!("publish.md")]
pub mod publish {}

#[doc = include_str!("links.md")]
#[doc = include_str!("proxy.md")]
pub mod proxy {}

#[doc = include_str!("links.md")]
#[doc = include_str!("record.md")]
pub mod record {}

#[cfg(feature = "testing")]
#[doc = include_str!("links.md")]
#[doc = include_str!("testing.md")]
pub mod testing {}

#[doc = include_str!("links.md")]
#[doc = include_str!("coming_from_mcpd.md")]
pub mod coming_from_mcpd {}

#[doc = include_str!("links.md")]
#[doc = include_str!("coming_from_rmcp.md")]
pub mod coming_from_rmcp {}

#[doc = include_str!("links.md")]
#[doc = include_str!("coming_from_typescript.md")]
pub mod coming_from_typescript {}

#[doc = include_str!("links.md")]
#[doc = include_str!("coming_from_python.md")]
pub mod coming_from_python {}

#[doc = include_str!("links.md")]
#[doc = include_str!("coming_from_fastmcp.md")]
pub mod coming_from_fastmcp {}
