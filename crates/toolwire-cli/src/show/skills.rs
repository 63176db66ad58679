//! Formats skills.

use std::fmt::Write;

use serde_json::Value;
use toolwire::skills::{SkillEntry, SkillResource, SkillResources, approval_hash};
use toolwire_proto::skills::check_entry;

use crate::show::lists::first_paragraph;
use crate::show::{Style, Table, plain_text, size};

/// Returns a table of skills.
pub(crate) fn skills(skills: &[SkillEntry], style: Style) -> String {
    let mut table = Table::new(&["SKILL", "FILES", "SIZE", "URI", "DESCRIPTION"]);
    for skill in skills {
        let files = skill.resources.listed();
        let count = match &skill.resources {
            SkillResources::Listed(files) => files.len().to_string(),
            SkillResources::Dynamic => "dynamic".to_owned(),
            _ => "invalid".to_owned(),
        };
        table.row([
            skill.name().unwrap_or_default(),
            &count,
            &files.map(total_size).unwrap_or_default(),
            &skill.uri,
            first_paragraph(skill.description()),
        ]);
    }
    if table.is_empty() {
        return format!("{}\n", style.paint.dim("no skills"));
    }
    table.render(style)
}

/// Formats one skill in detail: its front matter, its approval hash and its files.
pub(crate) fn skill(skill: &SkillEntry, style: Style) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let label = format!("{:<13}", plain_text(name));
        let _ = writeln!(text, "{} {}", style.paint.dim(&label), plain_text(value));
    };
    line("uri", &skill.uri);
    for (name, value) in &skill.frontmatter {
        match value {
            Value::String(value) => line(name, value.trim_end()),
            value => line(name, &value.to_string()),
        }
    }
    if let Err(reason) = check_entry(skill) {
        line("invalid", &reason.to_string());
    } else if let Some(approval) = approval_hash(skill) {
        line("approval", &approval);
    } else {
        line("files", "dynamic: not known before they are read");
    }
    let Some(files) = skill.resources.listed() else {
        return text;
    };
    let mut table = Table::new(&["FILE", "SIZE", "DIGEST"]);
    for file in files {
        table.row([&file.uri, &bytes(file.size), &file.digest]);
    }
    let _ = write!(text, "\n{}", table.render(style));
    text
}

fn total_size(files: &[SkillResource]) -> String {
    let sizes = files.iter().map(|file| file.size);
    bytes(sizes.fold(0, u64::saturating_add))
}

fn bytes(count: u64) -> String {
    size(usize::try_from(count).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(resources: Value) -> SkillEntry {
        let entry = json!({
            "uri": "skill://team/release/SKILL.md",
            "frontmatter": {"name": "release", "description": "Cut a release", "tags": ["a"]},
            "resources": resources,
        });
        serde_json::from_value(entry).expect("an entry")
    }

    fn listed() -> SkillEntry {
        let digest = format!("sha256:{}", "0".repeat(64));
        entry(json!([
            {"uri": "skill://team/release/SKILL.md", "digest": digest, "size": 40},
            {"uri": "skill://team/release/a.md", "digest": digest, "size": 2},
        ]))
    }

    #[test]
    fn list_shows_files_and_size() {
        let list = skills(&[listed(), entry(json!("dynamic"))], Style::default());
        assert_eq!(
            list,
            "SKILL    FILES    SIZE      URI                            DESCRIPTION\n\
             release  2        42 bytes  skill://team/release/SKILL.md  Cut a release\n\
             release  dynamic            skill://team/release/SKILL.md  Cut a release\n"
        );
        assert_eq!(skills(&[], Style::default()), "no skills\n");
    }

    #[test]
    fn entry_shows_front_matter_and_files() {
        let text = skill(&listed(), Style::default());
        for part in [
            "name          release\n",
            "tags          [\"a\"]\n",
            "approval      sha256:",
            "skill://team/release/a.md      2 bytes   sha256:00",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let text = skill(&entry(json!("dynamic")), Style::default());
        assert!(text.contains("files         dynamic"), "{text}");
        let text = skill(&entry(json!([])), Style::default());
        assert!(
            text.contains("invalid       the files do not contain"),
            "{text}"
        );
        assert!(!text.contains("approval"), "{text}");
    }

    #[test]
    fn text_of_the_server_is_escaped() {
        let hidden = "\u{1b}\u{202e}";
        let mut bad = listed();
        bad.uri = hidden.to_owned();
        bad.frontmatter.insert(hidden.to_owned(), json!([hidden]));
        for text in [
            skill(&bad, Style::default()),
            skills(&[bad], Style::default()),
        ] {
            assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
        }
    }
}
