//! The tables of a Markdown file.

/// A row of a table, with the header of its table.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Row<'a> {
    header: Vec<&'a str>,
    cells: Vec<&'a str>,
}

impl<'a> Row<'a> {
    /// Finds the row with this text in its first cell.
    pub(super) fn find(text: &'a str, first_cell: &str) -> Option<Self> {
        let mut header = None;
        for line in text.lines() {
            if !line.starts_with('|') {
                header = None;
                continue;
            }
            let cells = cells(line);
            if header.is_some() && cells.first() == Some(&first_cell) {
                return Some(Self {
                    header: header.unwrap_or_default(),
                    cells,
                });
            }
            header = header.or(Some(cells));
        }
        None
    }

    /// Returns the cell below this name, if it is not empty or `-`.
    pub(super) fn cell(&self, column: &str) -> Option<&'a str> {
        let at = self.header.iter().position(|name| *name == column)?;
        let cell = self.cells.get(at)?;
        (!["", "-"].contains(cell)).then_some(*cell)
    }

    /// Returns the values of the second cell, which are separated by `, `.
    pub(super) fn values(&self) -> Vec<&'a str> {
        let cell = self.cells.get(1).copied().unwrap_or_default();
        cell.split(", ").collect()
    }
}

fn cells(line: &str) -> Vec<&str> {
    let inner = line.trim().trim_start_matches('|').trim_end_matches('|');
    inner.split('|').map(str::trim).collect()
}

/// Returns the number at the start of a cell: `1,859`, `10.9` or `99 ms`.
pub(super) fn number(cell: &str) -> Option<f64> {
    let digits = cell.split(' ').next()?.replace(',', "");
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
| x | a | b |
|---|---:|---:|
| one | 1 | - |

| | a |
|---|---|
| two | 3 ms, 4 ms |
";

    #[test]
    fn cells_are_found_by_row_and_column() {
        let row = Row::find(TEXT, "one").unwrap();
        assert_eq!(row.cell("a"), Some("1"));
        assert_eq!(row.cell("b"), None);
        assert_eq!(row.cell("c"), None);
        assert_eq!(Row::find(TEXT, "two").unwrap().values(), ["3 ms", "4 ms"]);
        assert_eq!(Row::find(TEXT, "x"), None);
        assert_eq!(Row::find(TEXT, "three"), None);
    }

    #[test]
    fn numbers_are_parsed() {
        fn check(cell: &str, expected: Option<f64>) {
            assert_eq!(number(cell), expected, "{cell}");
        }
        check("2,245.3", Some(2245.3));
        check("99 ms", Some(99.0));
        check("none", None);
    }
}
