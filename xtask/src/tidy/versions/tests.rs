use super::*;

const SHIPPED: &str = "crates/toolwire/src/server/a.rs";

fn check(path: &str, text: &str, expected: &[usize]) {
    let file = File {
        path: path.to_owned(),
        text: text.to_owned(),
    };
    let findings = super::check(&file, &Source::new(text));
    let lines: Vec<usize> = findings.iter().map(|finding| finding.line).collect();
    assert_eq!(lines, expected, "{path}: {text}");
}

#[test]
fn revisions_are_named_in_proto_only() {
    let named = "/// `2025-11-25`\nif a >= ProtocolVersion::V2025_11_25 {}";
    check(SHIPPED, named, &[2]);
    check("crates/toolwire-cli/src/tour.rs", named, &[2]);
    check("crates/toolwire-types/src/tools.rs", named, &[2]);
    check("crates/toolwire-types/src/version.rs", named, &[]);
    check("crates/toolwire-proto/src/a.rs", named, &[]);
    check("crates/toolwire-tests/tests/server/a.rs", named, &[]);
    check("crates/toolwire/src/engine/tests.rs", named, &[]);
    check(SHIPPED, "V::V2025_11_25 => 1,\nV2024_11_05 => 2,", &[1, 2]);
    check(SHIPPED, "let V2 = V20;", &[]);
}

#[test]
fn dates_are_written_in_proto_only() {
    check(SHIPPED, "f(\"2025-11-25\")", &[1]);
    check(SHIPPED, "f(\"ü since 2025-11-25, or so\")", &[1]);
    check(SHIPPED, "// since \"2025-11-25\"\nf(\"2025-11\")", &[]);
    check(
        SHIPPED,
        "#[cfg(test)]\nmod tests {\n    f(\"2025-11-25\")\n}",
        &[],
    );
}

#[test]
fn versions_are_compared_in_proto_only() {
    fn bad(code: &str) {
        check(SHIPPED, code, &[1]);
        check("crates/toolwire-proto/src/a.rs", code, &[]);
    }
    bad("if version >= ProtocolVersion::V2025_06_18 {}");
    bad("if version == ProtocolVersion::LATEST {}");
    bad("if version < other {}");
    bad("if oldest <= self.version {}");
    bad("a && context.version() != agreed");
    bad("if self.scope.version().as_str() > text {}");
    bad("ProtocolVersion::LATEST == offered");
    bad("offered == ProtocolVersion::ALL[2]");
    bad("offered.as_str() == ProtocolVersion::LATEST.as_str()");
    bad("if offered == Some(version) {}");
    bad("if peer.version()? == offered {}");
    bad("(*protocol_version) < (other)");
    bad("f(connection.state().version() == None)");
    bad("version.cmp(&other)");
    bad("let oldest = a.version().min(b.version());");
    bad("offered.max(ProtocolVersion::LATEST)");
    bad("matches!(version, NEWEST | OLDEST)");
    bad("match offered { Some(ProtocolVersion::LATEST) => 1, _ => 2 }");
    bad("fn f(a: ProtocolVersion, b: i32) -> bool { a < c }");
    bad("fn f(a: Option<&ProtocolVersion>) -> bool { c == a }");
    bad("let revision = context.version(); revision > other");
    check(SHIPPED, "connection\n    .version()\n    >= other", &[3]);
    check(SHIPPED, "other\n    == self\n        .version()", &[2]);
}

#[test]
fn version_feature_is_not_a_comparison() {
    fn good(code: &str) {
        check(SHIPPED, code, &[]);
    }
    good("if version.allows_batch() && a < b {}");
    good("let pages: HashMap<(List, ProtocolVersion), Page> = a;");
    good("fn version(&self) -> Option<ProtocolVersion> { self.version }");
    good("if let Some(version) = self.version() { f(version) }");
    good("match self.version() { Some(version) => f(version), None => 0 }");
    good("let newest = ProtocolVersion::LATEST.as_str();");
    good("f(version) == g(version)");
    good("ProtocolVersion::ALL.len() > 3");
    good("versions.len() == 1");
    good("conversion == other");
    good("// version == other\nf(\"version == other\")");
    good("if a <");
}
