//! What a diagram consists of: boxes with texts, frames around them, arrows and labels.

use std::fmt::Write as _;

use crate::svg::{Description, escape, picture};

/// The height of a line of text.
const LINE: usize = 18;

/// The size of text. The estimated width of a character is that of a wide font, so that all usual fonts fit.
const TITLE_WIDTH: usize = 9;
const TEXT_WIDTH: usize = 8;

/// The space between the border of a box and its text.
const PADDING: usize = 10;

const STYLE: &str = "\
    text { font: 13px system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif; paint-order: stroke; stroke: var(--background); stroke-width: 4px; }
    .title { font-size: 14px; font-weight: 600; }
    .box { fill: var(--background); stroke: var(--other); stroke-width: 1.5; }
    .ours { stroke: var(--accent); stroke-width: 2; }
    .frame { fill: none; stroke: var(--line); stroke-width: 1.5; stroke-dasharray: 6 4; }
    .arrow { fill: none; stroke: var(--muted); stroke-width: 1.5; }
    .lane { stroke: var(--line); stroke-width: 1.5; }
    .tip { fill: var(--muted); }
";

/// The end of an arrow.
const MARKER: &str = "  <defs><marker id=\"tip\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"8\" markerHeight=\"8\" \
    orient=\"auto-start-reverse\"><path class=\"tip\" d=\"M0 0 L10 5 L0 10 z\"/></marker></defs>\n";

/// A point, from the left and from the top.
pub(super) type Point = (usize, usize);

/// A rectangle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Area {
    pub(super) x: usize,
    pub(super) y: usize,
    pub(super) width: usize,
    pub(super) height: usize,
}

impl Area {
    pub(super) const fn new((x, y): Point, (width, height): (usize, usize)) -> Self {
        Self {
            x,
            y,
            width,
            height,
        }
    }

    pub(super) fn left(&self) -> Point {
        (self.x, self.y + self.height / 2)
    }

    pub(super) fn right(&self) -> Point {
        (self.x + self.width, self.y + self.height / 2)
    }

    pub(super) fn top(&self) -> Point {
        (self.x + self.width / 2, self.y)
    }

    pub(super) fn bottom(&self) -> Point {
        (self.x + self.width / 2, self.y + self.height)
    }
}

/// Where a label is relative to its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
}

/// How a box or an arrow looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A part of toolwire.
    Ours,
    Other,
}

/// A diagram while it is drawn.
#[derive(Debug)]
pub(super) struct Canvas {
    content: String,
    /// Texts that are wider than their boxes.
    problems: Vec<String>,
}

impl Canvas {
    pub(super) fn new() -> Self {
        Self {
            content: MARKER.to_owned(),
            problems: Vec::new(),
        }
    }

    /// Draws a box with a title and lines of text.
    pub(super) fn block(&mut self, kind: Kind, area: Area, title: &str, lines: &[&str]) {
        let class = match kind {
            Kind::Ours => "box ours",
            Kind::Other => "box",
        };
        self.rectangle(class, area);
        let rows = lines.len() + 1;
        let (x, _) = area.top();
        let mut y = area.y + (area.height.saturating_sub(rows * LINE)) / 2 + LINE - 5;
        self.check_fits(area, title.chars().count() * TITLE_WIDTH, rows, title);
        self.text("title", (x, y), Anchor::Middle, title);
        for line in lines {
            y += LINE;
            self.check_fits(area, line.chars().count() * TEXT_WIDTH, rows, line);
            self.text("muted", (x, y), Anchor::Middle, line);
        }
    }

    /// Draws a frame with a title at its upper left corner.
    pub(super) fn frame(&mut self, area: Area, title: &str) {
        self.rectangle("frame", area);
        let at = (area.x + PADDING, area.y + LINE);
        self.text("title", at, Anchor::Start, title);
    }

    /// Draws an arrow through points.
    pub(super) fn arrow(&mut self, points: &[Point]) {
        self.line(points, " marker-end=\"url(#tip)\"");
    }

    /// Draws an arrow with two ends.
    pub(super) fn double_arrow(&mut self, points: &[Point]) {
        self.line(
            points,
            " marker-start=\"url(#tip)\" marker-end=\"url(#tip)\"",
        );
    }

    /// Draws the vertical line below an actor.
    pub(super) fn lane(&mut self, (x, from): Point, to: usize) {
        let _ = writeln!(
            self.content,
            "  <line class=\"lane\" x1=\"{x}\" y1=\"{from}\" x2=\"{x}\" y2=\"{to}\"/>"
        );
    }

    /// Writes a text without a box.
    pub(super) fn label(&mut self, at: Point, anchor: Anchor, text: &str) {
        self.text("muted", at, anchor, text);
    }

    /// Writes the title of a part of the diagram.
    pub(super) fn heading(&mut self, at: Point, text: &str) {
        self.text("title", at, Anchor::Start, text);
    }

    /// Returns the picture. The error lists the texts that do not fit.
    pub(super) fn finish(
        self,
        size: (usize, usize),
        description: &Description<'_>,
    ) -> Result<String, String> {
        if self.problems.is_empty() {
            return Ok(picture(size, description, STYLE, &self.content));
        }
        Err(self.problems.join("\n"))
    }

    fn rectangle(&mut self, class: &str, area: Area) {
        let Area {
            x,
            y,
            width,
            height,
        } = area;
        let _ = writeln!(
            self.content,
            "  <rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"6\"/>"
        );
    }

    fn line(&mut self, points: &[Point], ends: &str) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x},{y}")).collect();
        let _ = writeln!(
            self.content,
            "  <polyline class=\"arrow\" points=\"{}\"{ends}/>",
            points.join(" ")
        );
    }

    fn text(&mut self, class: &str, (x, y): Point, anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
        };
        let _ = writeln!(
            self.content,
            "  <text class=\"{class}\" x=\"{x}\" y=\"{y}\"{anchor}>{}</text>",
            escape(text)
        );
    }

    fn check_fits(&mut self, area: Area, width: usize, rows: usize, text: &str) {
        if width + 2 * PADDING > area.width || rows * LINE > area.height {
            self.problems
                .push(format!("`{text}` does not fit into its box"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_is_wider_than_its_box_is_an_error() {
        let check = |text: &str, is_drawn: bool| {
            let mut canvas = Canvas::new();
            canvas.block(Kind::Ours, Area::new((0, 0), (100, 40)), "a", &[text]);
            let description = Description {
                title: "a",
                text: "b",
            };
            let drawn = canvas.finish((100, 40), &description);
            assert_eq!(drawn.is_ok(), is_drawn, "{text}: {drawn:?}");
        };
        check("fits", true);
        check("does not fit at all", false);
    }
}
