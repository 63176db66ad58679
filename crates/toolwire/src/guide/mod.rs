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
#[doc = include_str!("limits.md")]
pub mod limits {}

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

/// Compares the page [`limits`] with the defaults of the code.
///
/// ```
/// fn text(field: &str, value: &str) -> String {
///     if field == "session_idle" && value == "None" {
///         return "5 min, 1 h with a store".to_owned();
///     }
///     if value == "None" {
///         return "no limit".to_owned();
///     }
///     if let Some(seconds) = value.strip_suffix('s') {
///         let seconds: u64 = seconds.parse().expect("whole seconds");
///         return match seconds % 60 {
///             0 => format!("{} min", seconds / 60),
///             _ => format!("{seconds} s"),
///         };
///     }
///     let number: u64 = value.parse().expect("a number");
///     match number {
///         _ if field.contains("bytes") && number % (1 << 20) == 0 => format!("{} MiB", number >> 20),
///         _ if field.contains("bytes") => format!("{} KiB", number >> 10),
///         1000.. => format!("{},{:03}", number / 1000, number % 1000),
///         _ => number.to_string(),
///     }
/// }
///
/// fn rows(limits: &dyn std::fmt::Debug) -> Vec<String> {
///     let printed = format!("{limits:#?}");
///     let fields = printed.lines().filter_map(|line| line.strip_prefix("    ")?.strip_suffix(','));
///     let simple = fields.filter_map(|field| field.split_once(": "));
///     simple
///         .filter(|(field, _)| !field.starts_with(' '))
///         .map(|(field, value)| format!("| `{field}` | {} |", text(field, value)))
///         .collect()
/// }
///
/// let page = std::fs::read_to_string("src/guide/limits.md").expect("there is a page");
/// let all: [&dyn std::fmt::Debug; 7] = [
///     &toolwire::transport::Limits::default(),
///     &toolwire::transport::http::HttpLimits::default(),
///     &toolwire::ClientLimits::default(),
///     &toolwire::store::MemorySessionLimits::default(),
///     &toolwire::store::MemoryEventLogLimits::default(),
///     &toolwire::tasks::MemoryTaskLimits::default(),
///     &toolwire::events::EventLimits::default(),
/// ];
/// let mut sections = page.split("\n## ").skip(1);
/// for limits in all {
///     let section = sections.next().expect("each type has a section");
///     let rows = rows(limits);
///     assert_eq!(section.matches("\n| `").count(), rows.len(), "{section}");
///     for row in rows {
///         assert!(section.contains(&row), "the page has no row that starts with {row}");
///     }
/// }
/// ```
#[cfg(all(
    doctest,
    feature = "events",
    feature = "http-client",
    feature = "http-server",
    feature = "tasks"
))]
mod limits_are_those_of_the_code {}
