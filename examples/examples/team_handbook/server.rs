//! The server: skills from a directory, as a value, and created when they are read.

use std::error::Error;
use std::time::{Duration, Instant};

use toolwire::skills::{Skill, SkillDirectory};
use toolwire::{RequestContext, Server, ToolError};

const BRANCHES: &str =
    "# Branches\n\nStart from `main`, and name the branch as in `references/names.md`.\n";
const NAMES: &str = "# Names\n\n`fix/…` for faults, `add/…` for features.\n";

pub(crate) fn server() -> Result<Server, Box<dyn Error>> {
    let directory = SkillDirectory::open(concat!(env!("CARGO_MANIFEST_DIR"), "/skills"))?
        .under("team")
        .rescan_every(Duration::from_secs(60));

    let workflow = Skill::new("git-workflow", "Our rules for branches", BRANCHES)
        .with_file("references/names.md", NAMES);

    // Clients cannot verify a skill that is different at each read, so use this only if nothing else is possible.
    let start = Instant::now();
    let report = Skill::dynamic(
        "daily",
        "The report of today",
        move |_: RequestContext| async move {
            let minutes = start.elapsed().as_secs() / 60;
            Ok::<_, ToolError>(format!(
                "# Report\n\nThe server runs for {minutes} minutes.\n"
            ))
        },
    );

    Ok(Server::new("handbook", "1.0.0")
        .skills(directory)
        .skills(workflow)
        .skills(report))
}
