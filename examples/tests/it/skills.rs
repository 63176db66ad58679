//! The example with skills: `team_handbook`.

use serde_json::{Value, json};

use crate::client::{BOTH, Client};

fn member<'a>(list: &'a Value, name: &str) -> Vec<&'a str> {
    let entries = list.as_array().unwrap().iter();
    entries.map(|entry| entry[name].as_str().unwrap()).collect()
}

#[tokio::test]
async fn skills_are_listed_and_read() {
    for revision in BOTH {
        let mut client = Client::start("team_handbook", revision).await;
        let listed = client.ask("skills/list", json!({})).await;
        assert_eq!(
            member(&listed["skills"], "uri"),
            [
                "skill://team/incident/SKILL.md",
                "skill://team/release/SKILL.md",
                "skill://git-workflow/SKILL.md",
                "skill://daily/SKILL.md",
            ]
        );
        let release = &listed["skills"][1];
        assert_eq!(release["frontmatter"]["metadata"]["version"], "2.1");
        assert_eq!(
            member(&release["resources"], "uri"),
            [
                "skill://team/release/SKILL.md",
                "skill://team/release/references/CHECKLIST.md",
            ]
        );
        assert_eq!(listed["skills"][3]["resources"], "dynamic");

        let read = json!({"uri": "skill://git-workflow/references/names.md"});
        let names = client.ask("resources/read", read).await;
        let text = names["contents"][0]["text"].as_str().unwrap();
        assert!(text.starts_with("# Names"), "{text}");
        let read = json!({"uri": "skill://daily/SKILL.md"});
        let report = client.ask("resources/read", read).await;
        let text = report["contents"][0]["text"].as_str().unwrap();
        assert!(text.ends_with("The server runs for 0 minutes.\n"), "{text}");
        let directory = json!({"uri": "skill://team/release"});
        let children = client.ask("resources/directory/read", directory).await;
        assert_eq!(
            member(&children["resources"], "mimeType"),
            ["text/markdown", "inode/directory"]
        );
        client.end().await;
    }
}
