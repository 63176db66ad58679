//! Servers whose lists do not end, or are too large.

use serde_json::{Value, json};
use toolwire::ClientLimits;

use super::{LEGACY, MODERN, SKILL_URI, SkillClient, builder, entry, parsed};

/// Returns a page whose next page has the next number as its cursor.
fn page(items: &str, item: Value, params: &Value) -> Value {
    let number = params["cursor"].as_str().map_or(0, |cursor| {
        cursor.parse::<u64>().expect("a cursor of this server")
    });
    json!({items: [item], "nextCursor": (number + 1).to_string()})
}

fn endless(method: &str, params: &Value) -> Result<Value, Value> {
    let file = json!({"uri": SKILL_URI, "name": "release"});
    match method {
        "skills/list" => Ok(page("skills", entry(), params)),
        "resources/directory/read" => Ok(page("resources", file, params)),
        _ => Err(json!({"code": -32601, "message": "unknown method"})),
    }
}

async fn connect(limits: ClientLimits) -> SkillClient {
    let builder = builder().with_limits(limits);
    SkillClient::connect(builder, MODERN, json!({"directoryRead": true}), endless).await
}

#[tokio::test]
async fn all_pages_are_listed() {
    for version in [LEGACY, MODERN] {
        let script = |_: &str, params: &Value| {
            let mut page = page("skills", entry(), params);
            if params["cursor"] == "2" {
                page.as_object_mut().expect("a page").remove("nextCursor");
            }
            Ok(page)
        };
        let skills = SkillClient::connect(builder(), version, json!({}), script).await;
        let list = skills.client.list_skills().await.expect("a list");
        assert_eq!(list, [(); 3].map(|()| parsed(entry())), "{version}");
    }
}

#[tokio::test]
async fn endless_list_is_an_error() {
    let mut limits = ClientLimits::default();
    limits.pages = 5;
    let skills = connect(limits).await;
    let error = skills.client.list_skills().await.expect_err("endless");
    assert!(error.is_limit(), "{error}");
    assert_eq!(skills.requests(), ["skills/list"; 5]);
    let directory = skills.client.read_directory("skill://team/release").await;
    let error = directory.expect_err("endless");
    assert!(error.is_limit(), "{error}");
    assert_eq!(skills.requests().len(), 10);
}

#[tokio::test]
async fn list_with_too_many_bytes_is_an_error() {
    let mut limits = ClientLimits::default();
    let page = page("skills", entry(), &json!({})).to_string().len();
    limits.list_bytes = 3 * page;
    let skills = connect(limits).await;
    let error = skills.client.list_skills().await.expect_err("too large");
    assert!(error.is_limit(), "{error}");
    assert!(error.to_string().contains("list_bytes"), "{error}");
    assert_eq!(skills.requests(), ["skills/list"; 4]);
}

#[tokio::test]
async fn repeated_cursor_is_an_error() {
    let again = |_: &str, _: &Value| Ok(json!({"skills": [], "nextCursor": "again"}));
    let skills = SkillClient::modern(again).await;
    let error = skills.client.list_skills().await.expect_err("endless");
    assert!(error.is_limit(), "{error}");
    assert_eq!(skills.requests(), ["skills/list"; 2]);
}
