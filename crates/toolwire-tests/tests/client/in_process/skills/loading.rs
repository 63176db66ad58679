//! Skills of servers whose files are as listed.

use serde_json::json;
use toolwire::skills::{Skill, approval_hash};
use toolwire::{CacheMode, Server};

use super::{
    CHECKLIST, CHECKLIST_URI, EXTENSION, LEGACY, MODERN, SKILL, SKILL_URI, SkillClient,
    assert_mismatch, builder, contents, entry, entry_with, file, parsed, release,
};

#[tokio::test]
async fn files_are_read_only_when_they_are_needed() {
    for version in [LEGACY, MODERN] {
        let skills = SkillClient::connect(builder(), version, json!({}), release).await;
        let list = skills.client.list_skills().await.expect("a list");
        assert_eq!(list, [parsed(entry())], "{version}");
        assert!(approval_hash(&list[0]).is_some());
        assert_eq!(skills.requests(), ["skills/list"]);

        let skill = skills.client.load_skill(&list[0]).await.expect("loaded");
        assert_eq!(skill.instructions(), "Follow references/CHECKLIST.md.\n");
        assert_eq!(skill.entry(), &list[0]);
        let read_skill = format!("resources/read {SKILL_URI}");
        assert_eq!(skills.requests()[1..], [read_skill]);

        for path in ["references/CHECKLIST.md", "./references/CHECKLIST.md"] {
            assert_eq!(skill.read_text(path).await.expect("a text"), CHECKLIST);
        }
        assert_eq!(
            skill.read("SKILL.md").await.expect("bytes"),
            SKILL.as_bytes()
        );
        let read_list = format!("resources/read {CHECKLIST_URI}");
        assert_eq!(skills.requests()[2..4], [read_list.clone(), read_list]);
    }
}

#[tokio::test]
async fn entry_of_an_unlisted_skill_is_fetched_by_its_uri() {
    let skills = SkillClient::modern(release).await;
    let found = skills.client.skill(SKILL_URI).await.expect("an entry");
    assert_eq!(found, parsed(entry()));
    let error = skills.client.skill("skill://team/other/SKILL.md").await;
    let error = error.expect_err("unknown");
    assert_eq!(error.rpc().expect("an error of the server").code, -32602);
    assert!(!error.is_skill_mismatch());
}

#[tokio::test]
async fn changed_skill_is_loaded_with_a_new_entry_and_needs_a_new_approval() {
    let changed = SKILL.replace("Follow", "Read");
    let skills = SkillClient::modern(move |method, params| {
        let file_is = |uri: &str| params["uri"] == uri;
        match method {
            // The server has changed after the client listed its skills.
            "skills/get" => Ok(json!({"skill": entry_with(json!([file(SKILL_URI, &changed)]))})),
            "resources/read" if file_is(SKILL_URI) => Ok(contents(SKILL_URI, &changed)),
            _ => release(method, params),
        }
    })
    .await;
    let client = &skills.client;
    let listed = client.list_skills().await.expect("a list").remove(0);
    let error = client.load_skill(&listed).await.expect_err("changed");
    assert_mismatch(&error, &["skills/get"]);
    let new = client.skill(&listed.uri).await.expect("an entry");
    assert_ne!(approval_hash(&new), approval_hash(&listed));
    let skill = client.load_skill(&new).await.expect("loaded");
    assert_eq!(skill.instructions(), "Read references/CHECKLIST.md.\n");
}

#[tokio::test]
async fn bytes_and_encoded_paths_are_read() {
    let uri = "skill://team/release/assets/a%20b%2B.bin";
    let bytes: &[u8] = &[0, 255, 10];
    let listed = json!({
        "uri": uri,
        "digest": toolwire_proto::skills::digest(bytes),
        "size": bytes.len(),
    });
    let skills = SkillClient::modern(move |method, params| match params["uri"].as_str() {
        Some(read) if read == uri => Ok(json!({"contents": [{"uri": uri, "blob": "AP8K"}]})),
        _ => release(method, params),
    })
    .await;
    let entry = parsed(entry_with(json!([file(SKILL_URI, SKILL), listed])));
    let skill = skills.client.load_skill(&entry).await.expect("loaded");
    for path in ["assets/a b+.bin", "assets/a%20b%2B.bin"] {
        assert_eq!(skill.read(path).await.expect("bytes"), bytes, "{path}");
    }
    let error = skill.read_text("assets/a b+.bin").await;
    let error = error.expect_err("not a text");
    assert!(error.to_string().contains("LoadedSkill::read"), "{error}");
}

#[tokio::test]
async fn front_matter_of_a_dynamic_skill_is_verified_and_its_files_are_not() {
    let skills = SkillClient::modern(release).await;
    let dynamic = parsed(entry_with(json!("dynamic")));
    assert_eq!(approval_hash(&dynamic), None);
    let skill = skills.client.load_skill(&dynamic).await.expect("loaded");
    let checklist = skill.read_text("references/CHECKLIST.md").await;
    assert_eq!(checklist.expect("a text"), CHECKLIST);
    let sent = skills.requests().len();
    for path in [
        "../other/SKILL.md",
        "a/%2e%2e/%2E%2e/b",
        "/etc/passwd",
        "a//b",
        "",
    ] {
        let error = skill.read(path).await.expect_err(path);
        assert_mismatch(&error, &["does not list"]);
    }
    assert_eq!(skills.requests().len(), sent);

    let mut other = dynamic.clone();
    other.frontmatter.insert("license".to_owned(), json!("MIT"));
    let error = skills.client.load_skill(&other).await;
    assert_mismatch(&error.expect_err("a field is missing"), &["license"]);
}

#[tokio::test]
async fn cached_file_is_not_used() {
    let skills = SkillClient::modern(|method, params| {
        let mut result = release(method, params)?;
        result["ttlMs"] = json!(60_000);
        result["cacheScope"] = json!("private");
        Ok(result)
    })
    .await;
    let client = &skills.client;
    for _ in 0..2 {
        let list = client.list_skills().await.expect("a list");
        client.load_skill(&list[0]).await.expect("loaded");
    }
    let read = format!("resources/read {SKILL_URI}");
    assert_eq!(skills.requests(), ["skills/list", &read, &read]);
    let refreshed = client.list_skills().with_cache(CacheMode::Refresh);
    refreshed.await.expect("a list");
    assert_eq!(skills.requests().len(), 4);
}

#[tokio::test]
async fn methods_are_not_sent_to_a_server_that_does_not_declare_them() {
    let undeclared = async |settings, part: &str| {
        let skills = SkillClient::connect(builder(), MODERN, settings, release).await;
        let client = &skills.client;
        let directory = client.read_directory("skill://team/release").await;
        let error = directory.expect_err("undeclared");
        assert!(error.is_invalid_request(), "{error}");
        assert!(error.to_string().contains(part), "{error}");
        assert_eq!(skills.requests(), [""; 0]);
        skills
    };
    undeclared(json!({}), "directoryRead").await;
    undeclared(json!({"directoryRead": "yes"}), "directoryRead").await;
    let skills = undeclared(json!(null), EXTENSION).await;
    let client = &skills.client;
    for error in [
        client.list_skills().await.expect_err("undeclared"),
        client.skill(SKILL_URI).await.expect_err("undeclared"),
        client
            .load_skill(&parsed(entry()))
            .await
            .expect_err("undeclared"),
    ] {
        assert!(error.is_invalid_request(), "{error}");
        assert!(error.to_string().contains(EXTENSION), "{error}");
    }
    assert_eq!(skills.requests(), [""; 0]);
}

#[tokio::test]
async fn directory_is_read() {
    let settings = json!({"directoryRead": true});
    for version in [LEGACY, MODERN] {
        let skills = SkillClient::connect(builder(), version, settings.clone(), release).await;
        let directory = skills.client.read_directory("skill://team/release").await;
        let names: Vec<_> = directory
            .expect("a list")
            .into_iter()
            .map(|resource| resource.name)
            .collect();
        assert_eq!(names, ["references", "release"], "{version}");
    }
}

/// The same with a server of this workspace.
#[tokio::test]
async fn skills_of_a_server_are_listed_loaded_and_read_in_both_eras() {
    let release = Skill::new(
        "release",
        "Cut a release",
        "Follow references/CHECKLIST.md.\n",
    )
    .with_file("references/CHECKLIST.md", CHECKLIST);
    let server = Server::new("docs", "1.0.0").skills(release);
    for version in [LEGACY, MODERN] {
        let client = builder().with_versions([version]);
        let client = client.in_process(&server).await.expect("connected");
        let list = client.list_skills().await.expect("a list");
        assert_eq!(list[0].name(), Some("release"), "{version}");
        assert_eq!(client.skill(&list[0].uri).await.expect("an entry"), list[0]);
        let skill = client.load_skill(&list[0]).await.expect("loaded");
        assert_eq!(skill.instructions(), "Follow references/CHECKLIST.md.\n");
        let checklist = skill.read_text("references/CHECKLIST.md").await;
        assert_eq!(checklist.expect("a text"), CHECKLIST);
        assert_mismatch(
            &skill.read("SKILL").await.expect_err("unlisted"),
            &["SKILL"],
        );
    }
}
