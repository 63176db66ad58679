//! Directories of skills: what is served, and what happens when their files change.

#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use toolwire::skills::SkillDirectory;
use toolwire::{ResourceHandler, Server};
use toolwire_proto::skills::{digest, verify_file, verify_front_matter};
use toolwire_tests::peer::{Peer, legacy, modern, server, within};

use crate::skill_faults::Scratch;

fn open(scratch: &Scratch) -> SkillDirectory {
    SkillDirectory::open(scratch.path()).unwrap()
}

async fn entries(peer: &mut Peer) -> Vec<Value> {
    let listed = peer.result_of(modern(1, "skills/list", json!({}))).await;
    listed["skills"].as_array().unwrap().clone()
}

async fn uris(peer: &mut Peer) -> Vec<String> {
    let entries = entries(peer).await.into_iter();
    entries
        .map(|entry| entry["uri"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn every_directory_with_a_skill_file_is_served() {
    let scratch = Scratch::new();
    scratch.write_skill("release", "# Steps\n");
    scratch.write("release/references/LIST.md", "list");
    scratch.write("release/.env", "hidden");
    for skipped in [".git/config", ".DS_Store", "LIST.md~", ".LIST.md.swp"] {
        scratch.write(&format!("release/{skipped}"), "skipped");
    }
    scratch.write_skill("group/inner", "");
    scratch.write("group/README.md", "not part of a skill");
    fs::create_dir(scratch.path().join("release/empty")).unwrap();
    let server = server().skills(open(&scratch).under("team"));
    let mut peer = Peer::connect(&server);
    assert_eq!(
        uris(&mut peer).await,
        [
            "skill://team/group/inner/SKILL.md",
            "skill://team/release/SKILL.md"
        ]
    );
    let release = &entries(&mut peer).await[1];
    let files: Vec<&str> = release["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["uri"].as_str().unwrap())
        .collect();
    assert_eq!(
        files,
        [
            "skill://team/release/SKILL.md",
            "skill://team/release/.env",
            "skill://team/release/references/LIST.md",
        ]
    );
    for missing in [
        "skill://team/group/README.md",
        "skill://team/release/.git/config",
    ] {
        let request = modern(2, "resources/read", json!({"uri": missing}));
        peer.error_of(request, -32602).await;
    }
    let empty = json!({"uri": "skill://team/release/empty"});
    let read = peer.result_of(modern(3, "resources/directory/read", empty));
    assert_eq!(read.await["resources"], json!([]));
}

#[tokio::test]
async fn directory_that_is_a_skill_is_served() {
    let scratch = Scratch::new();
    scratch.write_skill("release", "");
    scratch.write_skill("release/inner", "");
    scratch.write("release/LIST.md", "list");
    let directory = SkillDirectory::open(scratch.path().join("release")).unwrap();
    let mut peer = Peer::connect(&server().skills(directory));
    assert_eq!(
        uris(&mut peer).await,
        ["skill://release/SKILL.md", "skill://release/inner/SKILL.md"]
    );
    let faulty = Scratch::new();
    faulty.write("release/SKILL.md", "");
    let faults = SkillDirectory::check(faulty.path().join("release"));
    assert_eq!(faults[0].path, faulty.path().join("release/SKILL.md"));
}

#[cfg(unix)]
#[tokio::test]
async fn links_inside_of_the_directory_are_followed() {
    use std::os::unix::fs::symlink;

    let scratch = Scratch::new();
    scratch.write("shared/LICENSE", "MIT");
    scratch.write_skill("a", "");
    symlink("../shared/LICENSE", scratch.path().join("a/LICENSE")).unwrap();
    symlink(scratch.path().join("shared"), scratch.path().join("a/all")).unwrap();
    let mut peer = Peer::connect(&server().skills(open(&scratch)));
    for uri in ["skill://a/LICENSE", "skill://a/all/LICENSE"] {
        let request = modern(1, "resources/read", json!({"uri": uri}));
        let read = peer.result_of(request).await;
        assert_eq!(read["contents"][0]["text"], "MIT", "{uri}");
    }
}

#[tokio::test]
async fn changes_are_served_after_a_reload_and_not_before() {
    let scratch = Scratch::new();
    scratch.write_skill("a", "one");
    scratch.write("a/LIST.md", "list");
    let directory = open(&scratch);
    let server = server()
        .with_resource_subscriptions()
        .skills(directory.clone());
    let mut peer = Peer::connect(&server);
    peer.initialize("2025-11-25").await;
    let list = json!({"uri": "skill://a/LIST.md"});
    peer.result_of(legacy(1, "resources/subscribe", list.clone()))
        .await;
    let before = entries(&mut peer).await;

    scratch.write("a/LIST.md", "changed");
    fs::remove_file(scratch.path().join("a/SKILL.md")).unwrap();
    scratch.write_skill("b", "new");
    assert_eq!(entries(&mut peer).await, before);
    let read = peer.result_of(legacy(2, "resources/read", list.clone()));
    assert_eq!(read.await["contents"][0]["text"], "list");

    // `a` is not a skill any more.
    assert!(directory.reload().unwrap());
    let changed = peer.receive().await;
    assert_eq!(changed["method"], "notifications/resources/list_changed");
    assert_eq!(uris(&mut peer).await, ["skill://b/SKILL.md"]);
    peer.error_of(legacy(3, "resources/read", list.clone()), -32002)
        .await;

    scratch.write_skill("a", "two");
    directory.reload().unwrap();
    let changed = peer.receive().await;
    assert_eq!(changed["method"], "notifications/resources/list_changed");
    scratch.write("a/LIST.md", "changed again");
    directory.reload().unwrap();
    let updated = peer.receive().await;
    assert_eq!(updated["method"], "notifications/resources/updated");
    assert_eq!(updated["params"], list);
    assert!(!directory.reload().unwrap());
    peer.expect_silence().await;
}

#[tokio::test]
async fn failed_reload_changes_nothing() {
    let scratch = Scratch::new();
    scratch.write_skill("a", "one");
    let directory = open(&scratch);
    let own = ResourceHandler::new("skill://taken/SKILL.md", "own", |_, _| async { "own" });
    let server = server().skills(directory.clone()).resource(own);
    let mut peer = Peer::connect(&server);
    let before = entries(&mut peer).await;
    scratch.write("broken/SKILL.md", "no front matter");
    let error = directory.reload().unwrap_err().to_string();
    let path = scratch.path().join("broken/SKILL.md");
    assert!(error.contains(&path.display().to_string()), "{error}");
    assert_eq!(entries(&mut peer).await, before);

    fs::remove_dir_all(scratch.path().join("broken")).unwrap();
    scratch.write_skill("taken", "");
    for _ in 0..2 {
        let error = directory.reload().unwrap_err().to_string();
        assert!(error.contains("skill://taken/SKILL.md"), "{error}");
        assert_eq!(entries(&mut peer).await, before);
    }
    fs::remove_dir_all(scratch.path().join("taken")).unwrap();
    scratch.write_skill("b", "");
    assert!(directory.reload().unwrap());
    assert_eq!(
        uris(&mut peer).await,
        ["skill://a/SKILL.md", "skill://b/SKILL.md"]
    );
}

#[tokio::test]
async fn rescans_happen_at_their_interval() {
    let scratch = Scratch::new();
    scratch.write_skill("a", "one");
    let directory = open(&scratch).rescan_every(Duration::from_millis(5));
    let mut peer = Peer::connect(&server().skills(directory));
    peer.initialize("2025-11-25").await;
    scratch.write("b/SKILL.md", "no front matter yet");
    scratch.write_skill("b", "two");
    let changed = within(peer.receive()).await;
    assert_eq!(changed["method"], "notifications/resources/list_changed");
    let uris = uris(&mut peer).await;
    assert_eq!(uris, ["skill://a/SKILL.md", "skill://b/SKILL.md"]);
}

/// Files are replaced, removed and added while clients list and read. Every read belongs to an entry: if the entry is the
/// same before and after the read, the bytes are those of the entry.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_agree_with_their_entries_while_files_change() {
    const ROUNDS: u64 = 150;
    let scratch = Arc::new(Scratch::new());
    write_round(&scratch, 0);
    let directory = open(&scratch);
    let server = server().skills(directory.clone());
    let is_done = Arc::new(AtomicBool::new(false));
    let agreed = Arc::new(AtomicU64::new(0));
    let clients: Vec<_> = (0..2)
        .map(|_| {
            let (is_done, agreed) = (Arc::clone(&is_done), Arc::clone(&agreed));
            tokio::spawn(compare_reads(server.clone(), is_done, agreed))
        })
        .collect();
    let writer = {
        let scratch = Arc::clone(&scratch);
        tokio::task::spawn_blocking(move || {
            let mut reloads = 0;
            for round in 1..=ROUNDS {
                write_round(&scratch, round);
                // A scan may meet a file that is being written. Then the last state stays.
                reloads += u64::from(directory.reload().is_ok_and(|changed| changed));
            }
            reloads
        })
    };
    let reloads = writer.await.unwrap();
    is_done.store(true, Ordering::Relaxed);
    for client in clients {
        within(client).await.unwrap();
    }
    assert!(reloads > ROUNDS / 2, "{reloads}");
    assert!(agreed.load(Ordering::Relaxed) > 0);
}

/// Writes skills whose content is unique to a round. Some exist only in some rounds.
fn write_round(scratch: &Scratch, round: u64) {
    scratch.write_skill("a", &format!("a in round {round}"));
    scratch.write("a/LIST.md", format!("list of round {round}"));
    scratch.write("a/deep/bytes", [&[0xff][..], &round.to_le_bytes()].concat());
    if round.is_multiple_of(3) {
        let _ = fs::remove_dir_all(scratch.path().join("b"));
    } else {
        scratch.write_skill("b", &format!("b in round {round}"));
    }
    if round.is_multiple_of(2) {
        let _ = fs::remove_file(scratch.path().join("a/SOMETIMES.md"));
    } else {
        scratch.write("a/SOMETIMES.md", format!("sometimes in round {round}"));
    }
}

async fn compare_reads(server: Server, is_done: Arc<AtomicBool>, agreed: Arc<AtomicU64>) {
    let mut peer = Peer::connect(&server);
    while !is_done.load(Ordering::Relaxed) {
        for entry in entries(&mut peer).await {
            for file in entry["resources"].as_array().unwrap() {
                let uri = file["uri"].as_str().unwrap();
                let request = modern(2, "resources/read", json!({"uri": uri}));
                let read = peer.call(request).await;
                let get = modern(3, "skills/get", json!({"uri": entry["uri"]}));
                let again = peer.call(get).await;
                if again["result"]["skill"] != entry {
                    // The skill changed meanwhile, which the digest shows to a client.
                    continue;
                }
                let bytes = bytes_of(&read["result"]["contents"][0]);
                let typed = serde_json::from_value(entry.clone()).unwrap();
                verify_file(&typed, uri, &bytes).unwrap();
                assert_eq!(file["digest"], digest(&bytes));
                if uri.ends_with("/SKILL.md") {
                    verify_front_matter(&typed, &bytes).unwrap();
                }
                agreed.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

fn bytes_of(contents: &Value) -> Vec<u8> {
    match contents.get("text") {
        Some(text) => text.as_str().unwrap().as_bytes().to_vec(),
        None => STANDARD.decode(contents["blob"].as_str().unwrap()).unwrap(),
    }
}
