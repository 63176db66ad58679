//! Writes results to standard output and everything else to standard error.

use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::Value;
use toolwire::RawJson;
use toolwire::types::tasks::extension::DetailedTask;
use toolwire::types::{LoggingMessageNotificationParams, ProgressNotificationParams};

use crate::failure::Failure;
use crate::output_arguments::Colour;
use crate::show::{Paint, Style, escaped_json, level_name, plain_text, pretty_json, status_name};
use crate::sync::lock;

/// The shortest time between two updates of the progress bar.
const REDRAW_INTERVAL: Duration = Duration::from_millis(50);

const BAR_WIDTH: usize = 20;

/// Standard output and standard error, with their formatting.
#[derive(Debug)]
pub(crate) struct Screen {
    pub(crate) json: bool,
    /// The formatting of standard output.
    pub(crate) style: Style,
    /// The formatting of standard error.
    errors: Style,
    /// The width of the progress bar, or `None` if standard error cannot show one.
    bar_width: Option<usize>,
    bar: Mutex<Bar>,
}

#[derive(Debug, Default)]
struct Bar {
    /// The text that the last line shows now.
    shown: Option<String>,
    drawn: Option<Instant>,
    /// `true` while the user is asked for input: the bar is not drawn.
    hidden: bool,
}

impl Screen {
    pub(crate) fn new(json: bool, colour: Colour) -> Self {
        let errors = style(&io::stderr(), colour);
        Self {
            json,
            style: style(&io::stdout(), colour),
            errors,
            // A bar is redrawn with control characters, which a dumb terminal does not know.
            bar_width: errors.width.filter(|_| !is_dumb()),
            bar: Mutex::default(),
        }
    }

    /// Returns `true` if standard input and standard error are terminals, so that the user can be asked for input.
    pub(crate) fn is_interactive() -> bool {
        io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// Returns `true` if the user watches standard error in a terminal.
    pub(crate) fn is_watched(&self) -> bool {
        self.errors.width.is_some()
    }

    /// Writes a text to standard output.
    pub(crate) fn print(&self, text: &str) -> Result<(), Failure> {
        self.clear();
        let mut output = io::stdout().lock();
        output.write_all(text.as_bytes())?;
        Ok(output.flush()?)
    }

    /// Writes a result as protocol JSON, indented if standard output is a terminal.
    pub(crate) fn print_raw(&self, raw: &RawJson) -> Result<(), Failure> {
        match (self.style.width, raw.to_value()) {
            (Some(_), Ok(value)) => self.print(&format!("{}\n", pretty_json(&value))),
            _ => self.print(&format!("{}\n", one_line(raw))),
        }
    }

    /// Writes a value to standard output as JSON in one line.
    pub(crate) fn print_json_line(&self, value: &Value) -> Result<(), Failure> {
        self.print(&format!("{}\n", one_line(&RawJson::from_value(value))))
    }

    pub(crate) fn print_json(&self, value: &impl Serialize) -> Result<(), Failure> {
        let value = serde_json::to_value(value).unwrap_or(Value::Null);
        self.print_raw(&RawJson::from_value(&value))
    }

    /// Writes a line of plain text to standard error, above the bar.
    pub(crate) fn show_line(&self, text: &str) {
        self.show_unescaped_line(&plain_text(text));
    }

    /// Writes a warning to standard error.
    pub(crate) fn warn(&self, text: &str) {
        let label = self.errors.paint.yellow("warning");
        self.show_unescaped_line(&format!("toolwire: {label}: {}", plain_text(text)));
    }

    /// Writes a line to standard error that may contain colours of this program.
    fn show_unescaped_line(&self, text: &str) {
        let mut bar = self.bar();
        erase(&mut bar);
        // The program continues if standard error is closed.
        let _ = writeln!(io::stderr(), "{text}");
    }

    /// Shows a log message of the server.
    pub(crate) fn log(&self, message: &LoggingMessageNotificationParams) {
        let paint = self.errors.paint;
        let level = match message.level {
            level if level >= toolwire::LoggingLevel::Error => paint.red(level_name(level)),
            level if level >= toolwire::LoggingLevel::Warning => paint.yellow(level_name(level)),
            level => paint.dim(level_name(level)),
        };
        let data = match message.data.to_value() {
            Ok(Value::String(text)) => text,
            _ => message.data.get().to_owned(),
        };
        let logger = message.logger.as_deref().map(|name| format!("{name}: "));
        let text = format!("{}{data}", logger.unwrap_or_default());
        self.show_unescaped_line(&format!("{level} {}", plain_text(&text)));
    }

    /// Draws the progress of a call if standard error is a terminal.
    pub(crate) fn progress(&self, progress: &ProgressNotificationParams) {
        let is_complete = progress
            .total
            .is_some_and(|total| progress.progress >= total);
        self.draw_bar(|| bar_text(progress), is_complete);
    }

    /// Draws the status of a task like the progress of a call.
    pub(crate) fn task_status(&self, task: &DetailedTask) {
        if task.task.status.is_terminal() {
            return self.clear();
        }
        let message = task.task.status_message.as_deref();
        let message = message.unwrap_or_else(|| status_name(task.task.status));
        self.draw_bar(|| format!("… {}", one_line_text(message)), true);
    }

    /// Draws a line, unless the last one was drawn just before and this one is not important.
    fn draw_bar(&self, text: impl FnOnce() -> String, is_important: bool) {
        let Some(width) = self.bar_width else {
            return;
        };
        let mut bar = self.bar();
        let now = Instant::now();
        let too_soon = bar
            .drawn
            .is_some_and(|drawn| now.duration_since(drawn) < REDRAW_INTERVAL);
        if bar.hidden || (too_soon && !is_important) {
            return;
        }
        erase(&mut bar);
        let line: String = text().chars().take(width.saturating_sub(1)).collect();
        let mut output = io::stderr();
        let _ = write!(output, "{line}").and_then(|()| output.flush());
        bar.shown = Some(line);
        bar.drawn = Some(now);
    }

    /// Removes the progress bar.
    pub(crate) fn clear(&self) {
        erase(&mut self.bar());
    }

    /// Hides the progress bar while the user is asked for input.
    pub(crate) fn hide_bar(&self, hidden: bool) {
        let mut bar = self.bar();
        bar.hidden = hidden;
        erase(&mut bar);
    }

    /// Writes a failure to standard error.
    pub(crate) fn fail(&self, failure: &Failure) {
        if failure.is_silent() {
            return self.clear();
        }
        if self.json {
            self.show_line(&escaped_json(&failure.json().to_string()));
        } else {
            self.show_line(failure.text().trim_end());
        }
    }

    fn bar(&self) -> MutexGuard<'_, Bar> {
        lock(&self.bar)
    }
}

fn erase(bar: &mut Bar) {
    if bar.shown.take().is_some() {
        let mut output = io::stderr();
        let _ = write!(output, "\r\u{1b}[K").and_then(|()| output.flush());
    }
}

fn bar_text(progress: &ProgressNotificationParams) -> String {
    let message = one_line_text(progress.message.as_deref().unwrap_or_default());
    match progress.total.filter(|total| *total > 0.0) {
        Some(total) => {
            let part = (progress.progress / total).clamp(0.0, 1.0);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss,
                reason = "it is between 0 and BAR_WIDTH"
            )]
            let full = (part * BAR_WIDTH as f64) as usize;
            let bar = format!("{}{}", "█".repeat(full), "░".repeat(BAR_WIDTH - full));
            format!("{bar} {}/{total} {message}", progress.progress)
        }
        None => format!("… {} {message}", progress.progress),
    }
}

/// Returns plain text without line breaks, which would break the bar.
fn one_line_text(text: &str) -> String {
    let text = plain_text(text);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns JSON without line breaks, so that each line is one value. Characters that a terminal must not get are
/// escaped.
fn one_line(raw: &RawJson) -> String {
    if raw.get().contains(['\n', '\r']) {
        // Line breaks are between tokens only: within strings they are escaped.
        escaped_json(&raw.get().replace(['\n', '\r'], " ")).into_owned()
    } else {
        escaped_json(raw.get()).into_owned()
    }
}

fn style(output: &impl Terminal, colour: Colour) -> Style {
    let colours = has_colours(output, colour);
    let is_terminal = output.is_terminal();
    Style {
        paint: Paint { colours },
        width: is_terminal.then(|| output.width().unwrap_or(80)),
    }
}

/// Returns `true` if an output gets colours: in a terminal, unless `NO_COLOR` is set or the terminal has none.
pub(crate) fn has_colours(output: &impl IsTerminal, colour: Colour) -> bool {
    match colour {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto => output.is_terminal() && !colours_are_disabled(),
    }
}

/// Returns the colours of the help. By itself, clap ignores `TERM=dumb` if `CI` is set.
pub(crate) fn help_colours() -> clap::ColorChoice {
    if colours_are_disabled() {
        clap::ColorChoice::Never
    } else {
        clap::ColorChoice::Auto
    }
}

fn colours_are_disabled() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) || is_dumb()
}

/// Returns `true` if the terminal has neither colours nor control characters.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// An output that may be a terminal.
trait Terminal: IsTerminal {
    /// Returns the width of the terminal in columns.
    fn width(&self) -> Option<usize>;
}

#[cfg(unix)]
impl<T: IsTerminal + std::os::fd::AsFd> Terminal for T {
    fn width(&self) -> Option<usize> {
        let size = rustix::termios::tcgetwinsize(self).ok()?;
        Some(usize::from(size.ws_col)).filter(|width| *width > 0)
    }
}

#[cfg(not(unix))]
impl<T: IsTerminal> Terminal for T {
    fn width(&self) -> Option<usize> {
        std::env::var("COLUMNS").ok()?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bar_shows_progress_and_total() {
        fn check(progress: ProgressNotificationParams, expected: &str) {
            assert_eq!(bar_text(&progress), expected);
        }
        let progress = |done, total, message: Option<&str>| {
            let mut progress = ProgressNotificationParams::new(1, done);
            progress.total = total;
            progress.message = message.map(str::to_owned);
            progress
        };
        check(
            progress(5.0, Some(10.0), Some("half\nway")),
            "██████████░░░░░░░░░░ 5/10 half way",
        );
        check(
            progress(12.0, Some(10.0), None),
            "████████████████████ 12/10 ",
        );
        check(progress(3.0, None, Some("steps")), "… 3 steps");
        check(progress(3.0, Some(0.0), None), "… 3 ");
        check(
            progress(-1.0, Some(4.0), None),
            "░░░░░░░░░░░░░░░░░░░░ -1/4 ",
        );
    }

    #[test]
    fn json_is_printed_on_one_line() {
        let raw = RawJson::from_string("{\n \"a\": \"b\\nc\"\n}".to_owned()).unwrap();
        assert_eq!(one_line(&raw), "{  \"a\": \"b\\nc\" }");
        let raw = RawJson::from_string("\"\u{9b}\u{202e}\"".to_owned()).unwrap();
        assert_eq!(one_line(&raw), r#""\u009b\u202e""#);
    }
}
