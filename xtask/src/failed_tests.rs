//! Finds the reports of failed tests in the output of a run.
//!
//! The output of all tests is long, and services for continuous integration show only its end. So the reports are repeated
//! there.

/// The last lines of a report contain its result.
const MAX_LINES: usize = 200;

/// What one failed test printed.
#[derive(Debug, PartialEq, Eq)]
struct Report<'a> {
    /// The line of libtest with the name of the test.
    heading: &'a str,
    lines: &'a [String],
}

/// Returns the last lines of the report of each failed test, or an empty text if all passed.
pub(crate) fn reports(output: &[String]) -> String {
    let mut text = String::new();
    for report in find(output) {
        text.push_str(report.heading);
        text.push('\n');
        let omitted = report.lines.len().saturating_sub(MAX_LINES);
        if omitted > 0 {
            text.push_str(&format!("(lines omitted: {omitted})\n"));
        }
        for line in &report.lines[omitted..] {
            text.push_str(line);
            text.push('\n');
        }
        text.push('\n');
    }
    text
}

/// Returns the reports between `failures:` and the list of the failed tests, of each test program.
fn find(output: &[String]) -> Vec<Report<'_>> {
    let mut found: Vec<Report<'_>> = Vec::new();
    // The first line of the open report.
    let mut start = None;
    for (index, line) in output.iter().enumerate() {
        if !(is_heading(line) || is_end(&output[index..])) {
            continue;
        }
        if let (Some(start), Some(report)) = (start, found.last_mut()) {
            report.lines = trimmed(&output[start..index]);
        }
        start = is_heading(line).then_some(index + 1);
        if is_heading(line) {
            found.push(Report {
                heading: line,
                lines: &output[index + 1..],
            });
        }
    }
    found
}

fn is_heading(line: &str) -> bool {
    line.starts_with("---- ") && line.ends_with(" ----")
}

/// Returns `true` if these lines begin with the list of the failed tests. A test may print the word too.
fn is_end(lines: &[String]) -> bool {
    matches!(lines, [title, name, ..] if title == "failures:" && name.starts_with("    "))
}

/// Returns the lines without the empty ones at the end.
fn trimmed(lines: &[String]) -> &[String] {
    let last = lines.iter().rposition(|line| !line.is_empty());
    &lines[..last.map_or(0, |last| last + 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn reports_of_all_programs_are_found() {
        let output = lines(
            "\
running 3 tests
test a::one ... FAILED
test a::two ... FAILED
test a::three ... ok

failures:

---- a::one stdout ----
failures:

of something else

---- a::two stdout ----
panicked

failures:
    a::one
    a::two

test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s

running 1 test
test src/lib.rs - item (line 3) ... FAILED

failures:

---- src/lib.rs - item (line 3) stdout ----
error: expected `;`

failures:
    src/lib.rs - item (line 3)
",
        );
        let expected = "\
---- a::one stdout ----
failures:

of something else

---- a::two stdout ----
panicked

---- src/lib.rs - item (line 3) stdout ----
error: expected `;`

";
        assert_eq!(reports(&output), expected);
    }

    #[test]
    fn passing_run_has_no_reports() {
        let output = "running 1 test\ntest a ... ok\n\ntest result: ok. 1 passed";
        assert_eq!(reports(&lines(output)), "");
    }

    #[test]
    fn report_longer_than_limit_has_its_last_lines() {
        fn check(count: usize, first: &str) {
            let printed: Vec<String> = (1..=count).map(|number| number.to_string()).collect();
            let mut output = lines("failures:\n\n---- a stdout ----");
            output.extend(printed);
            output.extend(lines("\nfailures:\n    a"));
            let text = reports(&output);
            let mut text = text.lines();
            assert_eq!(text.next(), Some("---- a stdout ----"));
            assert_eq!(text.next(), Some(first), "{count} lines");
            assert_eq!(
                text.rfind(|line| !line.is_empty()),
                Some(&*count.to_string())
            );
        }
        check(MAX_LINES, "1");
        check(MAX_LINES + 1, "(lines omitted: 1)");
    }

    #[test]
    fn report_of_a_killed_program_ends_with_the_output() {
        let output = lines("failures:\n\n---- a stdout ----\npanicked");
        assert_eq!(reports(&output), "---- a stdout ----\npanicked\n\n");
    }
}
