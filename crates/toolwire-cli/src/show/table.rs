//! Aligns rows in columns.

use crate::show::{Style, plain_text};

/// The minimum width of the last column, even if the line becomes too long.
const MIN_LAST_COLUMN: usize = 24;

const GAP: &str = "  ";

/// A table whose last column is wrapped at the width of the terminal.
#[derive(Debug)]
pub(crate) struct Table {
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(head: &[&'static str]) -> Self {
        Self {
            head: head.to_vec(),
            rows: Vec::new(),
        }
    }

    /// Adds a row. Each cell becomes one line of plain text.
    pub(crate) fn row<const N: usize>(&mut self, cells: [&str; N]) {
        let one_line = |cell: &str| {
            let words: Vec<_> = cell.split_whitespace().collect();
            plain_text(&words.join(" ")).into_owned()
        };
        self.rows.push(cells.into_iter().map(one_line).collect());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(crate) fn render(&self, style: Style) -> String {
        let last = self.head.len().saturating_sub(1);
        let widths: Vec<usize> = (0..last)
            .map(|column| {
                let cells = self.rows.iter().map(|row| width(&row[column]));
                cells.chain([width(self.head[column])]).max().unwrap_or(0)
            })
            .collect();
        let before: usize = widths.iter().map(|width| width + GAP.len()).sum();
        let available = style
            .width
            .map(|width| width.saturating_sub(before).max(MIN_LAST_COLUMN));
        let mut text = String::new();
        let head: Vec<String> = self.head.iter().map(|name| (*name).to_owned()).collect();
        line(&mut text, &head, &widths, |_, cell| style.paint.dim(cell));
        for row in &self.rows {
            let mut pieces = wrapped(&row[last], available).into_iter();
            let mut first = row.clone();
            first[last] = pieces.next().unwrap_or_default();
            line(&mut text, &first, &widths, |column, cell| match column {
                0 => style.paint.cyan(cell),
                _ => cell.to_owned(),
            });
            for piece in pieces {
                text.push_str(&" ".repeat(before));
                text.push_str(&piece);
                text.push('\n');
            }
        }
        text
    }
}

fn line(
    text: &mut String,
    cells: &[String],
    widths: &[usize],
    paint: impl Fn(usize, &str) -> String,
) {
    let start = text.len();
    for (column, cell) in cells.iter().enumerate() {
        text.push_str(&paint(column, cell));
        if let Some(wanted) = widths.get(column) {
            text.push_str(&" ".repeat(wanted.saturating_sub(width(cell))));
            text.push_str(GAP);
        }
    }
    let end = text.trim_end_matches(' ').len().max(start);
    text.truncate(end);
    text.push('\n');
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// Splits a text between words into pieces that fit.
fn wrapped(text: &str, available: Option<usize>) -> Vec<String> {
    let Some(available) = available else {
        return vec![text.to_owned()];
    };
    let mut pieces = vec![String::new()];
    for word in text.split(' ') {
        let piece = pieces.last_mut().expect("the list starts with one piece");
        if piece.is_empty() {
            piece.push_str(word);
        } else if width(piece) + 1 + width(word) <= available {
            piece.push(' ');
            piece.push_str(word);
        } else {
            pieces.push(word.to_owned());
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::Paint;

    fn table() -> Table {
        let mut table = Table::new(&["NAME", "DESCRIPTION"]);
        table.row(["add", "Adds two\nintegers and returns the sum of them."]);
        table.row(["countdown", ""]);
        table
    }

    #[test]
    fn columns_are_aligned() {
        let text = table().render(Style::default());
        assert_eq!(
            text,
            "NAME       DESCRIPTION\n\
             add        Adds two integers and returns the sum of them.\n\
             countdown\n"
        );
    }

    #[test]
    fn the_last_column_wraps_in_a_terminal() {
        let style = Style {
            paint: Paint::default(),
            width: Some(40),
        };
        assert_eq!(
            table().render(style),
            "NAME       DESCRIPTION\n\
             add        Adds two integers and returns\n           the sum of them.\n\
             countdown\n"
        );
    }

    #[test]
    fn colours_do_not_change_the_alignment() {
        let style = Style {
            paint: Paint { colours: true },
            width: None,
        };
        let text = table().render(style);
        assert!(
            text.contains("\u{1b}[36madd\u{1b}[0m        Adds"),
            "{text:?}"
        );
    }
}
