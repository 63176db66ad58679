//! The client: finds the skill for a release, loads it, and reads the checklist that it names.

#![expect(
    clippy::print_stdout,
    reason = "a client prints its results, and only servers on stdio need standard output for messages"
)]

use std::error::Error;

use toolwire::Client;
use toolwire::skills::approval_hash;
use toolwire_examples::job::ServerChoice;

pub(crate) async fn run(choice: &ServerChoice) -> Result<(), Box<dyn Error>> {
    let client = choice
        .connect(Client::builder("handbook-client", "1.0.0"))
        .await?;
    // Names and descriptions only: an agent chooses by them, and no file is read.
    let skills = client.list_skills().await?;
    for skill in &skills {
        let name = skill.name().unwrap_or_default();
        println!("{name}: {}", skill.description().unwrap_or_default());
        // A host stores the hash with the consent of the user. If it differs later, the user is asked again.
        if approval_hash(skill).is_none() {
            println!("  is created when it is read, so it has to be approved each time");
        }
    }
    let release = skills.iter().find(|skill| skill.name() == Some("release"));
    let release = release.ok_or("the handbook has no skill for releases")?;
    // Each file is compared with the size and the digest of the list.
    let release = client.load_skill(release).await?;
    println!("{}", release.instructions().trim());
    let checklist = release.read_text("references/CHECKLIST.md").await?;
    for point in checklist.lines().filter_map(|line| line.strip_prefix("- ")) {
        println!("[ ] {point}");
    }
    client.close().await;
    Ok(())
}
