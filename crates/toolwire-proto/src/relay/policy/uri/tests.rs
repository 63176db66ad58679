//! Tables of equal URIs, and of texts that rules read strictly.

use proptest::prelude::*;

use super::*;

#[test]
fn equal_uris_have_one_normal_form() {
    let check = |text: &str, expected: Option<&str>| {
        assert_eq!(normalize(text).as_deref(), expected, "{text}");
    };
    for text in [
        "file:///a/b",
        "FILE:///a/b",
        "file:/a/b",
        "file://localhost/a/b",
        "file:////a//b",
        "file:///a/./b",
        "file:///%61/%62",
        "file:///a%2Fb",
        "file:///a%5Cb",
        "file:///a\\b",
        "file:///%2561/b",
    ] {
        check(text, Some("file:///a/b"));
    }
    for text in [
        "file:///a/../b",
        "..",
        "file:///a/%2e%2E/b",
        "/a/.%2e",
        "a\\..",
        "./F:",
        "file:///a/%252e%252e/b",
        "/a/%252525252561",
        "/a/.\t./b",
        "/a/%00",
        "a\n",
        "file:///a/..#",
        "file:///a/..?b",
        "file:..",
        "file:../a",
    ] {
        check(text, None);
    }
    check("get_Issue", Some("get_Issue"));
    check("note://Inbox/A", Some("note://inbox/A"));
    check("/a/...", Some("/a/..."));
    check("/a/.", Some("/a/"));
    check("./a/", Some("a/"));
    check("urn:a:B", Some("urn:a:B"));
    check("/100%", Some("/100%"));
    check("/%2a%3f", Some("/%2A%3F"));
    check("note://{id}", Some("note://{id}"));
}

#[test]
fn equal_urls_of_the_web_have_one_normal_form() {
    let check = |text: &str, expected: Option<&str>| {
        assert_eq!(normalize(text).as_deref(), expected, "{text}");
    };
    for text in [
        "https://x/",
        "https://x",
        "https:/x",
        "https:x",
        "https:///x",
        "https:\\\\x",
        "HTTPS://X/",
        " https://x/ ",
        "https://x./",
        "https://x:443/",
        "https://x:/",
        "https://user@x/",
        "https://user:password@x:443",
        "https://%78/",
    ] {
        check(text, Some("https://x/"));
    }
    check("http://x:443/a", Some("http://x:443/a"));
    check("http://x:080//a", Some("http://x/a"));
    check("https://x?Q", Some("https://x/?Q"));
    check("wss://[::1]:443/", Some("wss://[::1]/"));
    check("note://x:443", Some("note://x:443"));
    check("file:etc/a", Some("file:///etc/a"));
    check("file:etc", Some("file:///etc"));
    for ambiguous in [
        "https://good%2F@evil/",
        "https://good%40evil/",
        "https://good%3A80@evil/",
        "https://good\\@evil/",
        "https://x:443:443/",
        "https://b\u{fc}cher.example/",
        "https://b%C3%BCcher.example/",
        "https://\u{212a}.example/",
        "https://127.1/",
        "https://2130706433/",
        "https://0177.0.0.1/",
        "https://0x7f.0.0.1/",
        "https://127.0.0.0x1/",
        "https://0X7F000001:8443/",
        "https://x.1./",
        "https://[0:0::1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://[::ffff:7f00:1]/",
        "https://[::127.0.0.1]/",
        "https://[::1/",
    ] {
        check(ambiguous, None);
    }
    check("https://127.0.0.1/", Some("https://127.0.0.1/"));
    check("https://127.0.0.1.:443/", Some("https://127.0.0.1/"));
    check("https://1x.example/", Some("https://1x.example/"));
    check("https://[2001:DB8::1]/", Some("https://[2001:db8::1]/"));
}

#[test]
fn rules_about_hosts_apply_to_each_form_of_a_host() {
    let check = |pattern: &str, text: &str, surely: bool, maybe: bool| {
        let pattern = UriPattern::new(pattern.parse().unwrap());
        let actual = (pattern.matches_surely(text), pattern.may_match(text));
        assert_eq!(actual, (surely, maybe), "{pattern:?} {text}");
    };
    for text in [
        "https:/x/a",
        "https:///x/a",
        "https://user@x/a",
        "https://x:443/a",
        "https://x./a",
        "https://%78/a",
        "https://y%2F@x/a",
    ] {
        check("https://x/*", text, false, true);
        check("https://y/*", text, false, text.contains("y%2F"));
    }
    check("https://x/*", "https://x/a", true, true);
    check("https://x/*", "https://x", false, true);
    check("https://x", "https://x", true, true);
    check("https://x*", "https://x@y/", false, true);
    check("https://x*", "https://xy/a", true, true);
    check("https://x?.z/*", "https://xy.z/a", true, true);
    check("https://*.z/*", "https://xy.z/a", true, true);
    check("https://x:443/*", "https://x/a", false, true);
    check("https:*", "https://x/a", true, true);
    check("https:*", "https:x/a", true, true);
    check("*://x/*", "https://x/a", true, true);
    check("http*://x/*", "https://user@x/a", false, true);
    check("file:///etc/*", "file:etc/a", false, true);
    check("file:*", "file:///a", true, true);
}

#[test]
fn ambiguous_text_may_match_and_never_surely_matches() {
    let check = |pattern: &str, text: &str, surely: bool, maybe: bool| {
        let pattern = UriPattern::new(pattern.parse().unwrap());
        let actual = (pattern.matches_surely(text), pattern.may_match(text));
        assert_eq!(actual, (surely, maybe), "{pattern:?} {text}");
    };
    check("file:///s/*", "file:///s/a", true, true);
    check("file:///s/*", "file:///t/a", false, false);
    check("file:///s/*", "file:///t/../s/a", false, true);
    check("file:///s/*", "file:///s/../t", false, true);
    check("file:///s/*", "file:///%73/a", false, true);
    check("file:///s/*", "file://///s/a", false, true);
    check("file:///s/*", "File:/s/a", false, true);
    check("file:///s/*", "file:///t/.\t./s/a", false, true);
    check("file:///s", "file:///s#a", false, true);
    check("file:///s", "file:///s/?a", false, true);
    check("note://a%2Fb", "note://a%2Fb", true, true);
    check("note://a%2Fb", "note://a/b", false, true);
    check("File:///s//*", "file:///s/a", false, true);
    check("file:/*", "file:///s", true, true);
    check("*://x/*", "note://x/a", true, true);
    check("*", "file:///s/a", true, true);
    check("*", "file:///s/../a", false, true);
    // A tool's pattern cannot match a URI of another scheme.
    check("drop_*", "file:///s/../a", false, false);
    check("FILE*", "file:///s/../a", false, true);
    check("drop_*", "s/../a", false, true);
    check("drop_*", "drop_table", true, true);
}

#[test]
fn rule_about_a_host_that_is_not_ascii_denies_all_encoded_hosts() {
    let check = |pattern: &str, text: &str, surely: bool, maybe: bool| {
        let pattern = UriPattern::new(pattern.parse().unwrap());
        let actual = (pattern.matches_surely(text), pattern.may_match(text));
        assert_eq!(actual, (surely, maybe), "{pattern:?} {text}");
    };
    let encoded = "https://xn--bcher-kva.example/a";
    check("https://bücher.example/*", encoded, false, true);
    check("https:/b%C3%BCcher.example/*", encoded, false, true);
    check("*bücher*", encoded, false, true);
    check("*://bücher.example/*", encoded, false, true);
    check("*//bücher.example/*", encoded, false, true);
    check("https://bücher.example/*", "https://a.XN--x/b", false, true);
    // The text that is not ASCII has no normal form, so no rule allows it.
    let plain = "https://bücher.example/a";
    check("https://bücher.example/*", plain, false, true);
    check("https://xn--bcher-kva.example/*", plain, false, true);
    check("https://xn--bcher-kva.example/*", encoded, true, true);
    // Other hosts, schemes and paths are not affected.
    check(
        "https://bücher.example/*",
        "https://other.example/a",
        false,
        false,
    );
    check("http://bücher.example/*", encoded, false, false);
    check("https://a.example/bücher/*", encoded, false, false);
    check("lösche_*", encoded, false, false);
    assert!(may_start(encoded, "https://bücher.example/"));
    assert!(!starts_surely(encoded, "https://bücher.example/"));
    assert!(!may_start(
        "https://other.example/",
        "https://bücher.example/"
    ));
}

#[test]
fn starts_of_paths_are_compared_like_patterns() {
    let check = |text: &str, start: &str, surely: bool, maybe: bool| {
        let actual = (starts_surely(text, start), may_start(text, start));
        assert_eq!(actual, (surely, maybe), "{text} {start}");
    };
    check("/public/a", "/public/", true, true);
    check("/private/a", "/public/", false, false);
    check("/public/../a", "/public/", false, true);
    check("//public/a", "/public/", false, true);
    check("/%70ublic/a", "/public/", false, true);
    check("/public//a", "/public/", true, true);
    check("/a/.git", "/a/.", true, true);
    check("/a//.git", "/a/.", false, true);
    check("/a/git", "/a/.", false, false);
    check("https://x/a", "https://x/", true, true);
    check("https://x.y/a", "https://x", true, true);
    check("https://user@x/a", "https://x/", false, true);
    check("https://x@y/a", "https://x", false, true);
}

proptest! {
    #[test]
    fn normal_form_of_a_normal_form_is_itself(text in "[aF:/.%2e\\\\*]{0,12}") {
        if let Some(normal) = normalize(&text) {
            prop_assert_eq!(normalize(&normal), Some(Cow::Borrowed(&*normal)));
        }
    }

    #[test]
    fn normal_form_of_a_normal_url_is_itself(text in "(https|http|file):[aX:/.@?#%24\\\\]{0,12}") {
        if let Some(normal) = normalize(&text) {
            prop_assert_eq!(normalize(&normal), Some(Cow::Borrowed(&*normal)));
        }
    }

    #[test]
    fn text_that_surely_matches_also_may_match(pattern in "[a:/.%2e*]{1,6}", text in "[a:/.%2e]{0,8}") {
        let pattern = UriPattern::new(pattern.parse().unwrap());
        prop_assert!(!pattern.matches_surely(&text) || pattern.may_match(&text));
    }
}
