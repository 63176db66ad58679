//! Finds the types with options in formatted Rust code: their public fields, or the methods that set private ones.

/// How the names of these types end.
const NAMES: [&str; 4] = ["Config", "Limits", "Options", "Settings"];

/// Types with options and other names.
const OTHER_NAMES: [&str; 1] = ["Tasks"];

/// A type with options.
#[derive(Debug)]
pub(super) struct OptionType {
    pub(super) name: String,
    /// The first paragraph of its documentation.
    pub(super) summary: String,
    /// The file that defines it.
    pub(super) source: String,
    pub(super) rows: Vec<OptionRow>,
}

/// A public field, or a method that sets an option.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OptionRow {
    pub(super) name: String,
    /// The field that it sets, if the code says it in one line.
    pub(super) field: Option<String>,
    /// The first paragraph of its documentation.
    pub(super) documentation: String,
    /// `true` for a method without arguments.
    pub(super) is_switch: bool,
}

impl OptionType {
    /// Returns all types of a crate with options, in the order of its files.
    pub(super) fn all(sources: &[String]) -> Vec<Self> {
        let mut found = Vec::new();
        for source in sources {
            let lines: Vec<&str> = source.lines().collect();
            for (at, line) in lines.iter().enumerate() {
                let Some(name) = line
                    .strip_prefix("pub struct ")
                    .and_then(|rest| rest.strip_suffix(" {"))
                else {
                    continue;
                };
                let has_options = NAMES.iter().any(|end| name.ends_with(end));
                if !has_options && !OTHER_NAMES.contains(&name) {
                    continue;
                }
                let mut rows = public_fields(&lines[at..]);
                if rows.is_empty() {
                    rows = setters(sources, name);
                }
                found.push(Self {
                    name: name.to_owned(),
                    summary: documentation(&lines, at),
                    source: source.clone(),
                    rows,
                });
            }
        }
        found
    }
}

/// Returns the public fields of the struct that starts in the first line.
fn public_fields(lines: &[&str]) -> Vec<OptionRow> {
    let end = lines.iter().position(|line| *line == "}");
    let mut rows = Vec::new();
    for (at, line) in lines[..end.unwrap_or(lines.len())].iter().enumerate() {
        let field = line.strip_prefix("    pub ");
        if let Some((name, _)) = field.and_then(|field| field.split_once(": ")) {
            rows.push(OptionRow {
                name: name.to_owned(),
                field: Some(name.to_owned()),
                documentation: documentation(lines, at),
                is_switch: false,
            });
        }
    }
    rows
}

/// Returns the public methods that take the options and return them.
fn setters(sources: &[String], name: &str) -> Vec<OptionRow> {
    let start = format!("impl {name} {{");
    let mut rows = Vec::new();
    for source in sources {
        let lines: Vec<&str> = source.lines().collect();
        let mut is_inside = false;
        for (at, line) in lines.iter().enumerate() {
            if *line == start {
                is_inside = true;
            } else if *line == "}" {
                is_inside = false;
            } else if is_inside && line.starts_with("    pub fn ") {
                rows.extend(setter(&lines, at));
            }
        }
    }
    rows
}

fn setter(lines: &[&str], at: usize) -> Option<OptionRow> {
    let body_start = at + lines[at..].iter().position(|line| line.ends_with('{'))?;
    let signature = lines[at..=body_start].concat();
    let sets = signature.contains("mut self") && signature.contains("Self");
    if !sets {
        return None;
    }
    let (name, _) = lines[at]
        .trim()
        .strip_prefix("pub fn ")?
        .split_once(['(', '<'])?;
    let body = &lines[body_start..];
    let end = body.iter().position(|line| *line == "    }")?;
    let assigned = body[..end].iter().find_map(|line| {
        let (field, _) = line.trim().strip_prefix("self.")?.split_once(" = ")?;
        Some(field.to_owned())
    });
    Some(OptionRow {
        name: name.to_owned(),
        field: assigned,
        documentation: documentation(lines, at),
        is_switch: signature.contains("(mut self)"),
    })
}

/// Returns the first paragraph of the documentation before a line. Attributes may be between them.
fn documentation(lines: &[&str], at: usize) -> String {
    let mut comment = Vec::new();
    let mut is_attribute = false;
    for line in lines[..at].iter().rev().map(|line| line.trim()) {
        if let Some(text) = line.strip_prefix("///") {
            comment.push(text.trim());
        } else if line.ends_with(")]") || is_attribute {
            // An attribute over several lines ends, upwards, at its first line.
            is_attribute = !line.starts_with("#[");
        } else if !line.starts_with("#[") {
            break;
        }
    }
    comment.reverse();
    let paragraph = comment.split(|line| line.is_empty()).next();
    paragraph.unwrap_or_default().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "\
/// Limits of A.
///
/// More.
#[derive(Debug)]
pub struct ALimits {
    /// The bytes.
    /// Default: 5.
    pub bytes: usize,
}

/// Options of B.
#[expect(
    dead_code,
    reason = \"an attribute over several lines\"
)]
pub struct BOptions {
    time: u32,
}

impl BOptions {
    /// Creates them.
    pub fn new() -> Self {
        Self { time: 1 }
    }

    /// Sets the time.
    #[must_use]
    pub fn with_time(mut self, time: u32) -> Self {
        self.time = time;
        self
    }

    /// Returns the time.
    pub fn time(&self) -> u32 {
        self.time
    }
}

/// Another type.
pub struct Other {
    /// A field.
    pub field: u32,
}
";

    #[test]
    fn fields_and_setters_are_found() {
        let all = OptionType::all(&[SOURCE.to_owned()]);
        let names: Vec<&str> = all.iter().map(|found| found.name.as_str()).collect();
        assert_eq!(names, ["ALimits", "BOptions"]);
        assert_eq!(all[0].summary, "Limits of A.");
        assert_eq!(all[1].summary, "Options of B.");
        let bytes = super::super::row("bytes", "bytes", "The bytes. Default: 5.");
        assert_eq!(all[0].rows, [bytes]);
        let time = super::super::row("with_time", "time", "Sets the time.");
        assert_eq!(all[1].rows, [time]);
    }
}
