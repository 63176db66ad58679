//! The skills.

use toolwire::skills::{Skill, Skills, embedded};
use toolwire::{RequestContext, Server, ToolError};

/// The suite reads the first skill, which therefore has a directory and front matter of several types.
const FILES: Skills = embedded!("skills");

pub(crate) fn add_to(server: Server) -> Server {
    let report = Skill::dynamic(
        "daily-report",
        "Summarizes the requests of today",
        |ctx: RequestContext| async move {
            Ok::<_, ToolError>(format!(
                "# Report\n\nThis is request {}.\n",
                ctx.request_id()
            ))
        },
    );
    server.skills(FILES.under("conformance")).skills(report)
}
