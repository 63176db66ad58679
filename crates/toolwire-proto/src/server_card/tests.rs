use serde_json::json;
use toolwire_types::Implementation;
use toolwire_types::server_card::CARD_MEDIA_TYPE;

use super::read::{CardAddresses, CardSource, MAX_CARDS};
use super::*;

fn name() -> CardName {
    CardName::parse("com.example/weather").unwrap()
}

#[test]
fn name_follows_the_pattern_of_the_schema() {
    fn check(name: &str, problem: &str) {
        match CardName::parse(name) {
            Ok(_) => assert_eq!(problem, "", "{name}"),
            Err(error) => {
                let error = error.to_string();
                assert!(!problem.is_empty() && error.contains(problem), "{error}");
                assert!(error.contains("as in `com.example/weather`"), "{error}");
            }
        }
    }
    check("com.example/weather", "");
    check("a/b", "");
    check("io.github.some-one/my_server.v2", "");
    check("weather", "no slash");
    check("/weather", "empty part");
    check("com.example/", "empty part");
    check("com.example/a/b", "one slash");
    check("com_example/weather", "character");
    check("com.example/wetter ", "character");
    check("com.example/wétter", "character");
    check(&format!("a/{}", "b".repeat(198)), "");
    check(&format!("a/{}", "b".repeat(199)), "200 characters");
}

#[test]
fn identifier_begins_with_the_domain() {
    fn check(name: &str, expected: &str) {
        assert_eq!(CardName::parse(name).unwrap().identifier(), expected);
    }
    check("com.example/weather", "urn:air:example.com:mcp:weather");
    check("com.example.eu/a_b", "urn:air:eu.example.com:mcp:a_b");
    check("example-org/minimal", "urn:air:example-org:mcp:minimal");
}

#[test]
fn version_is_one_version() {
    fn check(version: &str, is_valid: bool) {
        assert_eq!(check_version(version).is_ok(), is_valid, "{version}");
    }
    for valid in ["1.0.2", "2.1.0-alpha", "2026-07-28", "nightly", ""] {
        check(valid, true);
    }
    for range in ["^1.2.3", "~1.2.3", ">=1.2.3", "1.x", "1.*", "*"] {
        check(range, false);
    }
    check(&"1".repeat(255), true);
    check(&"1".repeat(256), false);
}

#[test]
fn public_url_has_no_query() {
    assert_eq!(check_public_url("https://example.com/mcp"), Ok(()));
    for invalid in ["example.com", "ftp://a/", "https://a/?b", "https://a/#b"] {
        assert!(check_public_url(invalid).is_err(), "{invalid}");
    }
}

#[test]
fn card_has_the_members_of_the_schema() {
    let mut info = Implementation::new("weather", "1.0.2");
    info.title = Some("Weather".to_owned());
    info.description = Some("Forecasts for every city.".to_owned());
    info.website_url = Some("https://example.com".to_owned());
    let versions = ["2025-11-25", "2026-07-28"];
    let card = card(&name(), &info, "https://example.com/mcp", versions);
    let expected = json!({
        "$schema": "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
        "name": "com.example/weather",
        "version": "1.0.2",
        "description": "Forecasts for every city.",
        "title": "Weather",
        "websiteUrl": "https://example.com",
        "remotes": [{
            "type": "streamable-http",
            "url": "https://example.com/mcp",
            "supportedProtocolVersions": ["2025-11-25", "2026-07-28"],
        }],
    });
    assert_eq!(serde_json::to_value(&card).unwrap(), expected);
    let text = expected.to_string();
    assert_eq!(read::card(text.as_bytes()), Ok(card));
}

#[test]
fn description_has_1_to_100_characters() {
    fn check(title: Option<&str>, description: Option<&str>, expected: &str) {
        let mut info = Implementation::new("weather", "1.0.2");
        info.title = title.map(str::to_owned);
        info.description = description.map(str::to_owned);
        let card = card(&name(), &info, "https://example.com/mcp", []);
        assert_eq!(card.description, expected);
        assert!(card.title.is_none_or(|title| title.chars().count() <= 100));
    }
    check(None, None, "MCP server weather");
    check(Some(""), Some(""), "MCP server weather");
    check(Some("Weather"), None, "Weather");
    let longest = "ü".repeat(100);
    check(None, Some(&longest), &longest);
    let too_long = "ü".repeat(101);
    let shortened = format!("{}…", "ü".repeat(99));
    check(Some(&too_long), Some(&too_long), &shortened);
}

#[test]
fn catalog_lists_the_card() {
    let catalog = catalog(&name(), "https://example.com/mcp");
    let expected = json!({
        "specVersion": "1.0",
        "entries": [{
            "identifier": "urn:air:example.com:mcp:weather",
            "type": "application/mcp-server-card+json",
            "url": "https://example.com/mcp/server-card",
        }],
    });
    assert_eq!(serde_json::to_value(catalog).unwrap(), expected);
}

#[test]
fn path_of_the_card_follows_that_of_the_endpoint() {
    assert_eq!(card_path("/mcp"), "/mcp/server-card");
    assert_eq!(card_path("/"), "/server-card");
}

#[test]
fn entries_that_are_not_cards_are_ignored() {
    let inline = json!({
        "$schema": "https://static.modelcontextprotocol.io/schemas/v2/server-card.schema.json",
        "name": "com.example/maps", "version": "1", "description": "Maps", "repository": {"url": "u"},
    });
    let document = json!({"specVersion": "1.0", "entries": [
        {"identifier": "skill", "type": "application/agentskill+zip", "url": "https://a/"},
        {"identifier": "one", "type": CARD_MEDIA_TYPE, "url": "https://a/1"},
        {"identifier": "old", "mediaType": CARD_MEDIA_TYPE, "url": "https://a/2"},
        {"identifier": "inline", "type": CARD_MEDIA_TYPE, "data": inline},
        {"identifier": "both", "type": CARD_MEDIA_TYPE, "data": inline, "url": "https://a/3"},
        {"identifier": "none", "type": CARD_MEDIA_TYPE},
        {"type": CARD_MEDIA_TYPE, "url": "https://a/4"},
        3,
    ]});
    let listed = read::catalog(document.to_string().as_bytes()).unwrap();
    let summary: Vec<_> = listed
        .cards
        .iter()
        .map(|(identifier, source)| match source {
            Ok(CardSource::Url(url)) => format!("{identifier} {url}"),
            Ok(CardSource::Inline(card)) => format!("{identifier} {}", card.name),
            Err(error) => format!("{identifier}: {error}"),
        })
        .collect();
    assert_eq!(
        summary,
        [
            "one https://a/1",
            "old https://a/2",
            "inline com.example/maps",
            "both: the entry needs either `url` or `data`",
            "none: the entry needs either `url` or `data`",
            ": the entry is invalid: missing field `identifier`",
        ]
    );
    assert_eq!(listed.left_out, 0);
    for invalid in ["", "[]", "{}", r#"{"specVersion":"1.0","entries":{}}"#] {
        assert!(read::catalog(invalid.as_bytes()).is_err(), "{invalid}");
    }
}

#[test]
fn cards_beyond_the_limit_are_counted() {
    let entry = json!({"identifier": "one", "type": CARD_MEDIA_TYPE, "url": "https://a/1"});
    for (entries, left_out) in [(MAX_CARDS, 0), (MAX_CARDS + 2, 2)] {
        let entries = vec![entry.clone(); entries];
        let document = json!({"specVersion": "1.0", "entries": entries}).to_string();
        let listed = read::catalog(document.as_bytes()).unwrap();
        assert_eq!((listed.cards.len(), listed.left_out), (MAX_CARDS, left_out));
    }
}

#[test]
fn invalid_cards_are_rejected() {
    fn check(member: &str, value: &str, problem: &str) {
        let mut card = json!({
            "$schema": "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
            "name": "com.example/maps", "version": "1", "description": "Maps",
        });
        card[member] = value.into();
        let error = read::card(card.to_string().as_bytes()).unwrap_err();
        assert!(error.to_string().contains(problem), "{error}");
    }
    check("name", "maps", "has no slash");
    check("$schema", "https://example.com/", "not the schema");
    let prefix = "https://static.modelcontextprotocol.io/schemas";
    check(
        "$schema",
        &format!("{prefix}/v1/server.schema.json"),
        "not the schema",
    );
    check(
        "$schema",
        &format!("{prefix}/v/server-card.schema.json"),
        "not the schema",
    );
    check("remotes", "", "not a server card");
    assert!(read::card(br#"{"name":"com.example/maps"}"#).is_err());
}

#[test]
fn errors_repeat_little_of_a_document() {
    fn check(error: InvalidCard, problem: &str) {
        let error = error.to_string();
        assert!(error.starts_with(problem), "{error}");
        assert!(error.ends_with('…'), "{error}");
        assert!(error.chars().count() < 200, "{error}");
    }
    let long = "ü".repeat(10_000);
    let catalog = json!({"specVersion": "1.0", "entries": long}).to_string();
    check(
        read::catalog(catalog.as_bytes()).unwrap_err(),
        "the document is not a catalog: invalid type",
    );
    let card =
        json!({"$schema": "", "name": "", "version": "", "description": "", "remotes": long});
    let problem = "the document is not a server card: invalid type";
    check(
        read::card(card.to_string().as_bytes()).unwrap_err(),
        problem,
    );
    let inline = json!({"identifier": "a", "type": CARD_MEDIA_TYPE, "data": card});
    let catalog = json!({"specVersion": "1.0", "entries": [inline]}).to_string();
    let listed = read::catalog(catalog.as_bytes()).unwrap();
    for (_, source) in listed.cards {
        check(source.unwrap_err(), problem);
    }
}

#[test]
fn card_url_decides_from_which_addresses_the_card_is_fetched() {
    fn check(catalog: &str, url: &str, expected: Result<CardAddresses, &str>) {
        let catalog = WebUrl::parse(catalog).unwrap();
        match (read::card_addresses(&catalog, url), expected) {
            (Ok(addresses), expected) => assert_eq!(Ok(addresses), expected, "{url}"),
            (Err(error), Ok(_)) => panic!("{url}: {error}"),
            (Err(error), Err(problem)) => {
                assert!(error.to_string().contains(problem), "{error}");
            }
        }
    }
    let (any, public_only) = (Ok(CardAddresses::Any), Ok(CardAddresses::PublicOnly));
    let not_https = Err("does not start with `https://`");
    let this_machine = Err("is on this machine");
    let public = "https://example.com/";
    check(public, "https://example.com/mcp/server-card", any);
    check(public, "https://EXAMPLE.com.:8443/server-card", any);
    check(public, "https://mcp.example.com/server-card", public_only);
    check(public, "https://other.example/server-card", public_only);
    check(public, "https://10.0.0.1/server-card", public_only);
    check(public, "https://[fd00::1]/server-card", public_only);
    check(public, "http://example.com/server-card", not_https);
    check(public, "http://other.example/server-card", not_https);
    check(public, "http://localhost:3000/server-card", this_machine);
    check(public, "https://127.0.0.1/server-card", this_machine);
    check(public, "/mcp/server-card", Err("URL"));
    let private = "https://10.0.0.1/";
    check(private, "https://10.0.0.1:8443/server-card", any);
    check(private, "https://[::ffff:10.0.0.1]/server-card", any);
    check(private, "https://10.0.0.2/server-card", public_only);
    let local = "http://localhost:3000/";
    check(local, "http://127.0.0.1:3000/server-card", any);
    check(local, "https://example.com/server-card", any);
    check(local, "https://10.0.0.1/server-card", any);
    check(local, "http://example.com/server-card", not_https);
}
