//! The server: one tool that works for a while and asks once.

use std::time::Duration;

use toolwire::tasks::Tasks;
use toolwire::{RequestContext, Server, ToolError, tool};

/// The work of a report.
const CHAPTERS: [&str; 4] = ["sales", "costs", "staff", "outlook"];

/// Writes the report of a year.
#[tool(task)]
async fn write_report(
    ctx: &RequestContext,
    #[arg(minimum = 2000, maximum = 2100)] year: u32,
) -> Result<String, ToolError> {
    let mut pages = 0;
    for chapter in CHAPTERS {
        ctx.set_status_message(format!("writing the chapter about {chapter}"));
        // The result of each chapter is stored with the task. If the handler runs again, after a response or after a
        // restart with a durable store, finished chapters are not written again.
        pages += ctx.once(chapter, write_chapter(chapter)).await?;
    }
    let message = format!("The report of {year} has {pages} pages. Send it to the board?");
    let send: bool = ctx.ask("send", message).await?;
    let end = if send { "sent" } else { "stored as a draft" };
    Ok(format!("{pages} pages about {year}, {end}"))
}

/// Returns the number of pages.
async fn write_chapter(chapter: &str) -> usize {
    tokio::time::sleep(Duration::from_millis(20)).await;
    chapter.len()
}

pub(crate) fn server() -> Server {
    // `Tasks::new(FileTaskStore::open(directory)?)` keeps tasks over a restart.
    let tasks = Tasks::in_memory().with_poll_interval(Duration::from_millis(50));
    Server::new("annual-report", "1.0.0")
        .with_tasks(tasks)
        .tool(write_report)
}
