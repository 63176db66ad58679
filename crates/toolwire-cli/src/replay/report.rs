//! The result of a comparison, as text, JSON and JUnit XML.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::replay::compare::Difference;
use crate::show::{escaped_json, one_line, plain_text};

/// The longest shown value, in characters.
const SHOWN_CHARACTERS: usize = 200;

/// The results of all exchanges of a record.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(super) exchanges: Vec<ExchangeReport>,
}

/// The result of one exchange.
#[derive(Debug)]
pub(super) struct ExchangeReport {
    pub(super) connection: u64,
    /// The method and what the request is about.
    pub(super) description: String,
    pub(super) outcome: ExchangeOutcome,
}

#[derive(Debug, PartialEq)]
pub(super) enum ExchangeOutcome {
    /// The exchange was compared. Without differences it is the same.
    Compared(Vec<Difference>),
    /// The request was not sent, for this reason.
    Skipped(String),
}

impl Report {
    /// Returns `true` if an exchange differs from the record.
    pub(crate) fn has_differences(&self) -> bool {
        self.counts().1 > 0
    }

    /// Returns the numbers of exchanges that are the same, that differ, and that were skipped.
    fn counts(&self) -> (usize, usize, usize) {
        let mut counts = (0, 0, 0);
        for exchange in &self.exchanges {
            match &exchange.outcome {
                ExchangeOutcome::Compared(differences) if differences.is_empty() => counts.0 += 1,
                ExchangeOutcome::Compared(_) => counts.1 += 1,
                ExchangeOutcome::Skipped(_) => counts.2 += 1,
            }
        }
        counts
    }

    /// Returns the report for a person.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for exchange in &self.exchanges {
            let description = one_line(&exchange.description);
            match &exchange.outcome {
                ExchangeOutcome::Skipped(reason) => {
                    let _ = writeln!(text, "skipped    {description}: {}", one_line(reason));
                }
                ExchangeOutcome::Compared(differences) if differences.is_empty() => {
                    let _ = writeln!(text, "same       {description}");
                }
                ExchangeOutcome::Compared(differences) => {
                    let _ = writeln!(text, "different  {description}");
                    for difference in differences {
                        text += &lines(difference);
                    }
                }
            }
        }
        let (same, different, skipped) = self.counts();
        let _ = writeln!(
            text,
            "{same} same, {different} different, {skipped} skipped"
        );
        text
    }

    /// Returns the report as JSON.
    pub(crate) fn json(&self) -> Value {
        let exchanges = self.exchanges.iter().map(|exchange| {
            let mut report = json!({
                "connection": exchange.connection,
                "request": exchange.description,
            });
            match &exchange.outcome {
                ExchangeOutcome::Skipped(reason) => {
                    report["outcome"] = "skipped".into();
                    report["reason"] = reason.as_str().into();
                }
                ExchangeOutcome::Compared(differences) => {
                    let is_same = differences.is_empty();
                    report["outcome"] = if is_same { "same" } else { "different" }.into();
                    let differences = differences.iter().map(|difference| {
                        json!({
                            "path": difference.path,
                            "recorded": difference.recorded,
                            "received": difference.received,
                        })
                    });
                    report["differences"] = differences.collect();
                }
            }
            report
        });
        let exchanges: Vec<Value> = exchanges.collect();
        let (same, different, skipped) = self.counts();
        json!({ "same": same, "different": different, "skipped": skipped, "exchanges": exchanges })
    }

    /// Returns the report as JUnit XML, one test case per exchange.
    pub(crate) fn junit(&self) -> String {
        let (_, different, skipped) = self.counts();
        let tests = self.exchanges.len();
        let mut xml = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"toolwire replay\" tests=\"{tests}\" failures=\"{different}\" skipped=\"{skipped}\">\n"
        );
        for exchange in &self.exchanges {
            let (class, name) = (exchange.connection, xml_text(&exchange.description));
            let _ = write!(
                xml,
                "  <testcase classname=\"connection {class}\" name=\"{name}\""
            );
            match &exchange.outcome {
                ExchangeOutcome::Compared(differences) if differences.is_empty() => xml += "/>\n",
                ExchangeOutcome::Compared(differences) => {
                    let lines: String = differences.iter().map(lines).collect();
                    let count = differences.len();
                    let _ = writeln!(
                        xml,
                        ">\n    <failure message=\"{count} differences\">{}</failure>\n  </testcase>",
                        xml_text(&lines)
                    );
                }
                ExchangeOutcome::Skipped(reason) => {
                    let reason = xml_text(reason);
                    let _ = writeln!(xml, ">\n    <skipped message=\"{reason}\"/>\n  </testcase>");
                }
            }
        }
        xml + "</testsuite>\n"
    }
}

fn lines(difference: &Difference) -> String {
    let mut text = format!("  {}\n", one_line(&difference.path));
    for (sign, value) in [('-', &difference.recorded), ('+', &difference.received)] {
        if let Some(value) = value {
            let _ = writeln!(text, "    {sign} {}", shown(value));
        }
    }
    text
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    let text = escaped_json(&text);
    if text.chars().count() <= SHOWN_CHARACTERS {
        return text.into_owned();
    }
    let start: String = text.chars().take(SHOWN_CHARACTERS).collect();
    format!("{start}…")
}

/// Returns text for XML. Characters that XML does not have are replaced.
fn xml_text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in plain_text(text).chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let difference = Difference {
            path: "/result/a".to_owned(),
            recorded: Some(json!("<1\u{1b}>")),
            received: None,
        };
        let exchange = |description: &str, outcome| ExchangeReport {
            connection: 1,
            description: description.to_owned(),
            outcome,
        };
        Report {
            exchanges: vec![
                exchange("tools/list", ExchangeOutcome::Compared(Vec::new())),
                exchange(
                    "tools/call \u{1b}[2J",
                    ExchangeOutcome::Compared(vec![difference]),
                ),
                exchange(
                    "tools/call b",
                    ExchangeOutcome::Skipped("an argument".to_owned()),
                ),
            ],
        }
    }

    #[test]
    fn text_shows_each_exchange_without_control_characters() {
        let text = report().text();
        assert!(text.contains("same       tools/list\n"), "{text}");
        assert!(
            text.contains("  /result/a\n    - \"<1\\u001b>\"\n"),
            "{text}"
        );
        assert!(text.ends_with("1 same, 1 different, 1 skipped\n"), "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
    }

    #[test]
    fn junit_counts_and_escapes() {
        let xml = report().junit();
        assert!(
            xml.contains("tests=\"3\" failures=\"1\" skipped=\"1\""),
            "{xml}"
        );
        assert!(xml.contains("&lt;1"), "{xml}");
        assert!(!xml.contains('\u{1b}'), "{xml}");
    }
}
