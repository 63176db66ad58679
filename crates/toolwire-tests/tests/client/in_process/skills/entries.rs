//! Servers with invalid entries.

use serde_json::{Value, json};

use super::{
    CHECKLIST, SKILL, SKILL_URI, SkillClient, assert_mismatch, entry, entry_with, file, parsed,
    release,
};

/// Checks that a skill with this entry is not loaded, and that nothing is sent for it.
async fn check(entry: Value, part: &str) {
    let skills = SkillClient::modern(release).await;
    let error = skills.client.load_skill(&parsed(entry)).await;
    assert_mismatch(&error.expect_err(part), &["its entry is invalid", part]);
    assert_eq!(skills.requests(), [""; 0]);
}

/// Returns the entry of a skill with one more file.
fn with_file(file: Value) -> Value {
    let mut entry = entry();
    let files = entry["resources"].as_array_mut().expect("files");
    files.push(file);
    entry
}

#[tokio::test]
async fn files_outside_of_the_skill_are_rejected() {
    for uri in [
        "skill://team/release/../other/SKILL.md",
        "skill://team/release/%2e%2E/other/SKILL.md",
        "skill://team/release",
        "skill://team/release-notes/SKILL.md",
        "skill://team/other/SKILL.md",
        "skill://Team/release/a.md",
        "file:///etc/passwd",
        "",
    ] {
        check(with_file(file(uri, CHECKLIST)), uri).await;
    }
}

#[tokio::test]
async fn malformed_lists_of_files_are_rejected() {
    check(with_file(file(SKILL_URI, SKILL)), "listed twice").await;
    check(entry_with(json!([])), "SKILL.md").await;
    for resources in [json!(null), json!("static"), json!([{"uri": SKILL_URI}])] {
        check(entry_with(resources), "resources").await;
    }
    let uri = "skill://team/release/a.md";
    let digest = json!({"uri": uri, "digest": "md5:00", "size": 1});
    check(with_file(digest), "digest").await;
}

#[tokio::test]
async fn uri_and_front_matter_must_belong_together() {
    let changed = |pointer: &str, value: Value| {
        let mut entry = entry_with(json!("dynamic"));
        *entry.pointer_mut(pointer).expect("a member") = value;
        entry
    };
    for uri in [
        "skill://team/release",
        "skill://team/release/skill.md",
        "skill://team/../release/SKILL.md",
        "/team/release/SKILL.md",
        "",
    ] {
        check(changed("/uri", json!(uri)), "URI").await;
    }
    let other = json!("skill://team/deploy/SKILL.md");
    check(changed("/uri", other), "differs from the last segment").await;
    check(changed("/frontmatter/name", json!("Release")), "'R'").await;
    check(changed("/frontmatter/name", json!(7)), "`name`").await;
    check(
        changed("/frontmatter", json!({"name": "release"})),
        "`description`",
    )
    .await;
}

#[tokio::test]
async fn skill_may_have_512_files_and_16_mebibytes() {
    let skills = SkillClient::modern(release).await;
    let load = async |files: usize, size: u64| {
        let more = (2..files).map(|number| {
            let mut file = file(&format!("skill://team/release/{number}"), "");
            if number == 2 {
                file["size"] = json!(size);
            }
            file
        });
        let resources = [file(SKILL_URI, SKILL), file("skill://team/release/0", "")];
        let resources: Vec<_> = resources.into_iter().chain(more).collect();
        let entry = parsed(entry_with(json!(resources)));
        skills.client.load_skill(&entry).await
    };
    let rest = 16 * 1024 * 1024 - SKILL.len() as u64;
    load(512, rest).await.expect("within the limits");
    let sent = skills.requests().len();
    for (files, size) in [(513, 0), (3, rest + 1), (3, u64::MAX)] {
        let error = load(files, size).await.expect_err("beyond a limit");
        assert!(error.is_limit(), "{error}");
        assert!(error.to_string().contains(&files.to_string()), "{error}");
    }
    assert_eq!(skills.requests().len(), sent);
}

#[tokio::test]
async fn entry_of_another_skill_is_rejected() {
    let skills = SkillClient::modern(release).await;
    let other = SkillClient::modern(|_, _| Ok(json!({"skill": entry()}))).await;
    assert!(skills.client.skill(SKILL_URI).await.is_ok());
    let error = other.client.skill("skill://team/deploy/SKILL.md").await;
    let error = error.expect_err("another skill");
    assert_mismatch(&error, &[SKILL_URI, "skill://team/deploy/SKILL.md"]);
}
