//! Removes the reports of a server about its exchanges from its standard error, so that an error quotes other lines.

use toolwire_proto::inspection::MARKER;

/// Removes the lines that begin like a report. Output without such lines passes as it is, also if a line is not complete.
#[derive(Debug)]
pub(super) struct ReportFilter {
    state: LineState,
}

/// What is known about the current line.
#[derive(Debug, Clone, Copy)]
enum LineState {
    /// So far, the line is this long, and equal to the beginning of a report.
    Undecided(usize),
    Report,
    Other,
}

impl Default for ReportFilter {
    fn default() -> Self {
        Self {
            state: LineState::Undecided(0),
        }
    }
}

impl ReportFilter {
    /// Returns the bytes of a chunk that belong to other lines. The beginning of a line is returned when it is decided.
    pub(super) fn retain(&mut self, chunk: &[u8]) -> Vec<u8> {
        let marker = MARKER.as_bytes();
        let mut retained = Vec::with_capacity(chunk.len());
        for &byte in chunk {
            if let LineState::Undecided(length) = self.state {
                if byte == marker[length] {
                    self.state = match length + 1 {
                        all if all == marker.len() => LineState::Report,
                        length => LineState::Undecided(length),
                    };
                    continue;
                }
                retained.extend_from_slice(&marker[..length]);
                self.state = LineState::Other;
            }
            if let LineState::Other = self.state {
                retained.push(byte);
            }
            if byte == b'\n' {
                self.state = LineState::Undecided(0);
            }
        }
        retained
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_reports_are_removed_however_the_output_is_divided() {
        let output = format!("a\n{MARKER}{{}}\n\ntoolwire\n{MARKER}\nb {MARKER}c\nd");
        let expected = format!("a\n\ntoolwire\nb {MARKER}c\nd");
        for size in 1..=output.len() {
            let mut filter = ReportFilter::default();
            let chunks = output.as_bytes().chunks(size);
            let retained: Vec<u8> = chunks.flat_map(|chunk| filter.retain(chunk)).collect();
            assert_eq!(String::from_utf8_lossy(&retained), expected, "{size}");
        }
    }
}
