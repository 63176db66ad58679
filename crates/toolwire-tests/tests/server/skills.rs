//! Skills: `skills/list`, `skills/get`, `resources/directory/read`, and the resources of their files.

use serde_json::{Value, json};
use toolwire::skills::{Skill, Skills};
use toolwire::{RequestContext, ResourceHandler, Server, ToolError};
use toolwire_proto::skills::digest;
use toolwire_tests::legacy_server::LEGACY;
use toolwire_tests::peer::{Peer, complete, legacy, modern, result_response, server};

const EXTENSION: &str = "io.modelcontextprotocol/skills";
const RELEASE: &str = "skill://team/release/SKILL.md";
const RELEASE_TEXT: &str =
    "---\n\"name\": \"release\"\n\"description\": \"Cut a release\"\n---\n\n# Steps\n";

fn release() -> Skill {
    Skill::new("release", "Cut a release", "# Steps\n")
        .with_file("references/CHECKLIST.md", "\u{feff}1. Test\r\n")
        .with_file("logo.png", [0x89, 0xff])
        .under("team")
}

fn daily() -> Skill {
    Skill::dynamic(
        "daily",
        "Today's report",
        |ctx: RequestContext| async move { Ok::<_, ToolError>(format!("Request {}", ctx.request_id())) },
    )
}

fn release_entry() -> Value {
    let file = |path: &str, bytes: &[u8]| {
        let uri = format!("skill://team/release/{path}");
        json!({"uri": uri, "digest": digest(bytes), "size": bytes.len()})
    };
    json!({
        "uri": RELEASE,
        "frontmatter": {"name": "release", "description": "Cut a release"},
        "resources": [
            file("SKILL.md", RELEASE_TEXT.as_bytes()),
            file("logo.png", &[0x89, 0xff]),
            file("references/CHECKLIST.md", "\u{feff}1. Test\r\n".as_bytes()),
        ],
    })
}

fn daily_entry() -> Value {
    json!({
        "uri": "skill://daily/SKILL.md",
        "frontmatter": {"name": "daily", "description": "Today's report"},
        "resources": "dynamic",
    })
}

fn skilled() -> Server {
    server().skills(release()).skills(daily())
}

#[tokio::test]
async fn skills_are_declared_and_listed_from_2025_11_25_on() {
    let server = skilled();
    let capabilities = json!({
        "resources": {"listChanged": true},
        "extensions": {EXTENSION: {"directoryRead": true}},
    });
    let skills = json!({"skills": [release_entry(), daily_entry()]});
    for version in LEGACY {
        let mut peer = Peer::connect(&server);
        let initialized = peer.initialize(version).await;
        let request = legacy(1, "skills/list", json!({}));
        if version == "2025-11-25" {
            assert_eq!(initialized["capabilities"], capabilities);
            peer.send(request).await;
            peer.expect(result_response(1, skills.clone())).await;
            let get = legacy(2, "skills/get", json!({"uri": RELEASE}));
            peer.send(get).await;
            let result = json!({"skill": release_entry()});
            peer.expect(result_response(2, result)).await;
        } else {
            assert_eq!(initialized["capabilities"].get("extensions"), None);
            peer.error_of(request, -32601).await;
        }
    }

    let mut peer = Peer::connect(&server);
    let discovered = peer.result_of(modern(1, "server/discover", json!({})));
    assert_eq!(discovered.await["capabilities"], capabilities);
    let mut listed = skills;
    listed["ttlMs"] = json!(0);
    listed["cacheScope"] = json!("private");
    peer.send(modern(2, "skills/list", json!({}))).await;
    peer.expect(complete(2, listed)).await;
    let get = modern(3, "skills/get", json!({"uri": "skill://daily/SKILL.md"}));
    peer.send(get).await;
    let result = json!({"skill": daily_entry(), "ttlMs": 0, "cacheScope": "private"});
    peer.expect(complete(3, result)).await;
}

#[tokio::test]
async fn server_without_skills_has_no_methods_for_them() {
    let plain = server().resource(ResourceHandler::new("a:b", "b", |_, _| async { "b" }));
    let mut peer = Peer::connect(&plain);
    for method in ["skills/list", "skills/get", "resources/directory/read"] {
        peer.error_of(modern(1, method, json!({"uri": RELEASE})), -32601)
            .await;
    }
    let empty = server().skills(Vec::<Skill>::new());
    let mut peer = Peer::connect(&empty);
    let listed = peer.result_of(modern(1, "skills/list", json!({}))).await;
    assert_eq!(listed["skills"], json!([]));
    let listed = peer.result_of(modern(2, "resources/list", json!({}))).await;
    assert_eq!(listed["resources"], json!([]));
}

#[tokio::test]
async fn only_skill_files_are_in_the_list_of_resources() {
    let mut peer = Peer::connect(&skilled());
    let listed = peer.result_of(modern(1, "resources/list", json!({}))).await;
    let expected = json!([
        {
            "uri": RELEASE, "name": "release", "description": "Cut a release",
            "mimeType": "text/markdown", "size": RELEASE_TEXT.len(),
        },
        {
            "uri": "skill://daily/SKILL.md", "name": "daily", "description": "Today's report",
            "mimeType": "text/markdown",
        },
    ]);
    assert_eq!(listed["resources"], expected);
}

#[tokio::test]
async fn files_are_read_as_exactly_their_bytes() {
    let mut peer = Peer::connect(&skilled());
    let mut check = async |uri: &str, expected: Value| {
        let request = modern(1, "resources/read", json!({"uri": uri}));
        let result = peer.result_of(request).await;
        let mut contents = expected;
        contents["uri"] = json!(uri);
        assert_eq!(result["contents"], json!([contents]));
    };
    let text = |mime_type: &str, text: &str| json!({"mimeType": mime_type, "text": text});
    check(RELEASE, text("text/markdown", RELEASE_TEXT)).await;
    let checklist = text("text/markdown", "\u{feff}1. Test\r\n");
    check("skill://team/release/references/CHECKLIST.md", checklist).await;
    let logo = json!({"mimeType": "image/png", "blob": "if8="});
    check("skill://team/release/logo.png", logo).await;
    let daily = "---\n\"name\": \"daily\"\n\"description\": \"Today's report\"\n---\n\nRequest 1";
    check("skill://daily/SKILL.md", text("text/markdown", daily)).await;
}

#[tokio::test]
async fn directories_list_their_direct_children() {
    let mut peer = Peer::connect(&skilled());
    let mut check = async |uri: &str, expected: Value| {
        let request = modern(1, "resources/directory/read", json!({"uri": uri}));
        peer.send(request).await;
        peer.expect(complete(1, json!({"resources": expected})))
            .await;
    };
    check(
        "skill://team/release",
        json!([
            {
                "uri": RELEASE, "name": "release", "description": "Cut a release",
                "mimeType": "text/markdown", "size": RELEASE_TEXT.len(),
            },
            {
                "uri": "skill://team/release/logo.png", "name": "logo.png", "mimeType": "image/png", "size": 2,
            },
            {
                "uri": "skill://team/release/references", "name": "references", "mimeType": "inode/directory",
            },
        ]),
    )
    .await;
    let checklist = json!({
        "uri": "skill://team/release/references/CHECKLIST.md", "name": "CHECKLIST.md",
        "mimeType": "text/markdown", "size": 12,
    });
    check("skill://team/release/references", json!([checklist])).await;
    let daily = json!({
        "uri": "skill://daily/SKILL.md", "name": "daily", "description": "Today's report",
        "mimeType": "text/markdown",
    });
    check("skill://daily", json!([daily])).await;
}

#[tokio::test]
async fn every_other_uri_is_unknown() {
    let mut peer = Peer::connect(&skilled());
    let uris = [
        "",
        "skill://",
        "skill://team",
        "skill://team/release/",
        "skill://team/release//SKILL.md",
        "skill://team/release/./SKILL.md",
        "skill://team/release/references/../SKILL.md",
        "skill://team/release/%53KILL.md",
        "skill://team/release/references%2FCHECKLIST.md",
        "skill://team/release/references/%2e%2e/SKILL.md",
        "skill://team/release/references\\CHECKLIST.md",
        "skill://team/release/skill.md",
        "SKILL://team/release/SKILL.md",
        "skill://Team/release/SKILL.md",
        "skill://team/release/SKILL.md\0",
        "skill://team/release/SKILL.md?x",
        "skill://team/release/SKILL.md#x",
        "skill://team/release/../../../../etc/passwd",
        "file:///etc/passwd",
        "/etc/passwd",
    ];
    for uri in uris {
        for method in ["resources/read", "skills/get", "resources/directory/read"] {
            let error = peer.error_of(modern(1, method, json!({"uri": uri})), -32602);
            assert_eq!(error.await["data"], json!({"uri": uri}), "{method} {uri}");
        }
    }
    // A file is not a directory, and a directory or a supporting file is not a skill.
    for (method, uri) in [
        ("resources/directory/read", RELEASE),
        ("resources/read", "skill://team/release"),
        ("resources/read", "skill://team/release/references"),
        ("skills/get", "skill://team/release"),
        ("skills/get", "skill://team/release/references/CHECKLIST.md"),
    ] {
        peer.error_of(modern(1, method, json!({"uri": uri})), -32602)
            .await;
    }
    for method in ["skills/get", "resources/directory/read"] {
        peer.error_of(modern(1, method, json!({})), -32602).await;
        peer.error_of(modern(1, method, json!({"uri": 1})), -32602)
            .await;
    }
}

#[tokio::test]
async fn lists_have_pages() {
    let skills: Vec<Skill> = ["a", "b", "c"]
        .map(|name| Skill::new(name, "d", ""))
        .into_iter()
        .collect();
    let server = server().with_page_size(2).skills(skills);
    let mut peer = Peer::connect(&server);
    let first = peer.result_of(modern(1, "skills/list", json!({}))).await;
    assert_eq!(first["skills"].as_array().map(Vec::len), Some(2));
    let params = json!({"cursor": first["nextCursor"]});
    let second = peer.result_of(modern(2, "skills/list", params)).await;
    assert_eq!(second["skills"][0]["uri"], "skill://c/SKILL.md");
    assert_eq!(second.get("nextCursor"), None);
    let unknown = json!({"cursor": "?"});
    peer.error_of(modern(3, "skills/list", unknown), -32602)
        .await;

    let files = Skill::new("d", "d", "")
        .with_file("x", "")
        .with_file("y", "");
    server.add_skills(files).unwrap();
    let params = |cursor: Option<&Value>| json!({"uri": "skill://d", "cursor": cursor});
    let read = |params: Value| modern(4, "resources/directory/read", params);
    let first = peer.result_of(read(json!({"uri": "skill://d"}))).await;
    assert_eq!(first["resources"].as_array().map(Vec::len), Some(2));
    let second = peer.result_of(read(params(first.get("nextCursor")))).await;
    assert_eq!(second["resources"][0]["uri"], "skill://d/y");
    assert_eq!(second.get("nextCursor"), None);
}

#[tokio::test]
async fn registration_rejects_uris_that_are_taken() {
    let uri = "skill://a/SKILL.md";
    let resource = || ResourceHandler::new(uri, "own", |_, _| async { "own" });
    let skill = || Skill::new("a", "d", "");
    let before = server().resource(resource());
    let error = before.add_skills(skill()).unwrap_err().to_string();
    assert!(error.contains("resource `skill://a/SKILL.md` is registered twice"));
    assert_eq!(before.capabilities().extensions, None);

    let after = server().skills(skill());
    assert!(after.add_resource(resource()).is_err());
    let error = after.add_skills(skill()).unwrap_err().to_string();
    assert!(error.contains("skill `skill://a/SKILL.md` is registered twice"));
    let mut peer = Peer::connect(&after);
    let listed = peer.result_of(modern(1, "skills/list", json!({}))).await;
    assert_eq!(listed["skills"].as_array().map(Vec::len), Some(1));

    let declared = server().with_extension(EXTENSION, json!({}));
    let error = declared.add_skills(skill()).unwrap_err().to_string();
    assert!(error.contains(EXTENSION), "{error}");
}

const EMBEDDED: Skills = toolwire::skills::embedded!("tests/server/embedded_skills");

#[tokio::test]
async fn embedded_files_are_skills() {
    let server = server().skills(EMBEDDED.under("built-in"));
    let mut peer = Peer::connect(&server);
    let listed = peer.result_of(modern(1, "skills/list", json!({}))).await;
    let uris = |value: &Value| -> Vec<String> {
        let entries = value.as_array().unwrap().iter();
        entries
            .map(|entry| entry["uri"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(
        uris(&listed["skills"]),
        [
            "skill://built-in/reviews/SKILL.md",
            "skill://built-in/reviews/security/SKILL.md"
        ]
    );
    let outer = &listed["skills"][0];
    assert_eq!(
        uris(&outer["resources"]),
        [
            "skill://built-in/reviews/SKILL.md",
            "skill://built-in/reviews/.hidden",
            "skill://built-in/reviews/security/SKILL.md",
        ]
    );
    let expected = json!({
        "name": "reviews", "description": "How we review code", "license": "MIT",
        "metadata": {"version": 1.0, "draft": "no"},
    });
    assert_eq!(outer["frontmatter"], expected);
}

#[tokio::test]
async fn files_of_a_hidden_skill_are_hidden() {
    let hiding = skilled().with_visibility(|_, uri| uri != RELEASE);
    let reference = server()
        .skills(daily())
        .with_visibility(|_, uri| uri != RELEASE);
    let (mut peer, mut reference) = (Peer::connect(&hiding), Peer::connect(&reference));
    let requests = [
        ("skills/list", json!({})),
        ("skills/get", json!({"uri": RELEASE})),
        ("resources/read", json!({"uri": RELEASE})),
        (
            "resources/read",
            json!({"uri": "skill://team/release/logo.png"}),
        ),
        (
            "resources/directory/read",
            json!({"uri": "skill://team/release"}),
        ),
        ("resources/directory/read", json!({"uri": "skill://team"})),
        ("skills/get", json!({"uri": "skill://daily/SKILL.md"})),
    ];
    for (method, params) in requests {
        let request = modern(1, method, params);
        peer.send(&request).await;
        reference.send(&request).await;
        let expected = reference.receive_text().await;
        assert_eq!(peer.receive_text().await, expected, "{request}");
    }
    let shown = skilled().with_visibility(|_, uri| !uri.ends_with("logo.png"));
    let mut peer = Peer::connect(&shown);
    let params = json!({"uri": "skill://team/release"});
    let read = modern(2, "resources/directory/read", params);
    let read = peer.result_of(read).await;
    let children = read["resources"].as_array().unwrap();
    assert_eq!(children.len(), 2, "`SKILL.md` and a directory: {read}");
}
