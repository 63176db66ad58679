//! Inserts the bridge script into the document of a view.

use toolwire_proto::apps::first_script;

/// The bridge script, which defines `window.toolwire` for the scripts of a view.
pub const BRIDGE: &str = include_str!("bridge.js");

/// Returns the document with the bridge script before its other scripts.
pub(super) fn with_bridge(html: &str) -> String {
    let (before, after) = html.split_at(first_script::position(html));
    format!("{before}<script>\n{BRIDGE}</script>{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_precedes_the_scripts_of_the_view() {
        let html = "<!doctype html><!-- <head> --><html><head><script>'<head>'</script></head>";
        let (before, after) = html.split_once("<script>").expect("a script");
        let expected = format!("{before}<script>\n{BRIDGE}</script><script>{after}");
        assert_eq!(with_bridge(html), expected);
    }

    #[test]
    fn script_is_small_and_speaks_the_revision_of_the_rules() {
        assert!(BRIDGE.len() < 6 * 1024, "{} bytes", BRIDGE.len());
        assert!(!BRIDGE.contains("</script"));
        let revision = format!("protocolVersion: \"{}\"", toolwire_proto::apps::REVISION);
        assert!(BRIDGE.contains(&revision));
    }
}
