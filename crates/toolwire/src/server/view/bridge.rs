//! Inserts the bridge script into the document of a view.

/// The bridge script, which defines `window.toolwire` for the scripts of a view.
pub const BRIDGE: &str = include_str!("bridge.js");

/// Returns the document with the bridge script before its other scripts: at the start of `head`, or after the start tag
/// of `html`, or after the document type.
pub(super) fn with_bridge(html: &str) -> String {
    let at = ["<head", "<html", "<!doctype"]
        .iter()
        .find_map(|tag| end_of_tag(html, tag))
        .unwrap_or(0);
    let (before, after) = html.split_at(at);
    format!("{before}<script>\n{BRIDGE}</script>{after}")
}

/// Returns the position after the first tag with this start.
fn end_of_tag(html: &str, start: &str) -> Option<usize> {
    // The lower case of ASCII letters has the same positions.
    let lower = html.to_ascii_lowercase();
    let is_name_end = |at: usize| {
        let next = lower.as_bytes().get(at);
        next.is_some_and(|byte| byte.is_ascii_whitespace() || *byte == b'>')
    };
    let mut tags = lower.match_indices(start).map(|(at, _)| at + start.len());
    let name_end = tags.find(|at| is_name_end(*at))?;
    let length = lower[name_end..].find('>')?;
    Some(name_end + length + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_precedes_the_scripts_of_the_view() {
        let check = |html: &str, before: &str, after: &str| {
            let expected = format!("{before}<script>\n{BRIDGE}</script>{after}");
            assert_eq!(with_bridge(html), expected, "{html}");
        };
        check(
            "<!doctype html><html><head><title>a</title></head>",
            "<!doctype html><html><head>",
            "<title>a</title></head>",
        );
        check(
            "<!DOCTYPE html>\n<HTML lang=\"en\">\n<HEAD data-a='1'>b",
            "<!DOCTYPE html>\n<HTML lang=\"en\">\n<HEAD data-a='1'>",
            "b",
        );
        check(
            "<!doctype html><html lang=en><header>a</header>",
            "<!doctype html><html lang=en>",
            "<header>a</header>",
        );
        check("<!doctype html><p>a", "<!doctype html>", "<p>a");
        check("<html", "", "<html");
    }

    #[test]
    fn script_is_small_and_speaks_the_revision_of_the_rules() {
        assert!(BRIDGE.len() < 6 * 1024, "{} bytes", BRIDGE.len());
        assert!(!BRIDGE.contains("</script"));
        let revision = format!("protocolVersion: \"{}\"", toolwire_proto::apps::REVISION);
        assert!(BRIDGE.contains(&revision));
    }
}
