//! Draws groups of horizontal bars.

use std::fmt::Write as _;

use crate::svg::{Description, escape, picture};

const WIDTH: usize = 760;
/// Where the bars start and how long the longest is. The rest of the line is for the value.
const BAR_START: f64 = 120.0;
const BAR_LENGTH: f64 = 520.0;
const BAR_HEIGHT: usize = 14;
const LINE: usize = 21;
const GROUP_TITLE: usize = 30;
const HEADER: usize = 66;
const FOOTER: usize = 16;
const AXIS: usize = 22;

const STYLE: &str = "\
    text { font: 13px system-ui, sans-serif; }
    .title { font-size: 17px; font-weight: 600; }
    .group { font-weight: 600; }
    .name { text-anchor: end; }
    .tick { font-size: 11px; text-anchor: middle; }
    .bar { fill: var(--other); }
    .own { fill: var(--accent); }
    .grid { stroke: var(--line); }
";

/// The bar with this name has the colour of the project.
const OWN: &str = "toolwire";

/// A picture with groups of bars.
#[derive(Debug)]
pub(super) struct Chart {
    pub(super) title: &'static str,
    pub(super) subtitle: &'static str,
    pub(super) scale: Scale,
    pub(super) groups: Vec<Group>,
}

/// Bars that are compared with each other.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) title: &'static str,
    pub(super) bars: Vec<Bar>,
}

/// One value.
#[derive(Debug)]
pub(super) struct Bar {
    pub(super) name: &'static str,
    pub(super) value: f64,
    /// The value as the table has it.
    pub(super) text: String,
}

/// How long the bar of a value is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Scale {
    /// Bars start at zero, and the longest of each group has the whole length.
    Linear,
    /// Bars start at one. An axis shows the powers of ten.
    Logarithmic,
}

impl Chart {
    /// Returns the picture.
    pub(super) fn svg(&self) -> String {
        let mut content = String::new();
        let _ = writeln!(
            content,
            "  <text class=\"title\" x=\"20\" y=\"30\">{}</text>",
            escape(self.title)
        );
        let _ = writeln!(
            content,
            "  <text class=\"muted\" x=\"20\" y=\"51\">{}</text>",
            escape(self.subtitle)
        );
        let bars: usize = self.groups.iter().map(|group| group.bars.len()).sum();
        let bottom = HEADER + self.groups.len() * GROUP_TITLE + bars * LINE;
        let axis = match self.scale {
            Scale::Linear => 0,
            Scale::Logarithmic => AXIS,
        };
        self.draw_axis(&mut content, bottom);
        let mut y = HEADER;
        for group in &self.groups {
            y += GROUP_TITLE;
            let _ = writeln!(
                content,
                "  <text class=\"group\" x=\"20\" y=\"{}\">{}</text>",
                y - 9,
                escape(group.title)
            );
            for bar in &group.bars {
                self.draw_bar(&mut content, group, bar, y);
                y += LINE;
            }
        }
        let description = Description {
            title: self.title,
            text: &self.description(),
        };
        picture(
            (WIDTH, bottom + axis + FOOTER),
            &description,
            STYLE,
            &content,
        )
    }

    fn draw_bar(&self, content: &mut String, group: &Group, bar: &Bar, y: usize) {
        let length = self.length(group, bar.value);
        let own = if bar.name == OWN { " own" } else { "" };
        let baseline = y + 11;
        let _ = writeln!(
            content,
            "  <text class=\"name\" x=\"{}\" y=\"{baseline}\">{}</text>\n  \
             <rect class=\"bar{own}\" x=\"{BAR_START}\" y=\"{y}\" width=\"{length:.1}\" height=\"{BAR_HEIGHT}\" rx=\"2\"/>\n  \
             <text x=\"{:.1}\" y=\"{baseline}\">{}</text>",
            BAR_START - 8.0,
            escape(bar.name),
            BAR_START + length + 6.0,
            escape(&bar.text)
        );
    }

    fn draw_axis(&self, content: &mut String, bottom: usize) {
        if let Scale::Linear = self.scale {
            return;
        }
        for power in 0..=self.decades() {
            let x = BAR_START + BAR_LENGTH * f64::from(power) / f64::from(self.decades());
            let _ = writeln!(
                content,
                "  <path class=\"grid\" d=\"M{x:.1} {HEADER}V{bottom}\"/>\n  \
                 <text class=\"tick muted\" x=\"{x:.1}\" y=\"{}\">{}</text>",
                bottom + 16,
                10_u64.pow(power)
            );
        }
    }

    fn length(&self, group: &Group, value: f64) -> f64 {
        let part = match self.scale {
            Scale::Linear => value / largest(&group.bars),
            Scale::Logarithmic => value.max(1.0).log10() / f64::from(self.decades()),
        };
        BAR_LENGTH * part
    }

    /// Returns the number of powers of ten up to the largest value, at least one.
    fn decades(&self) -> u32 {
        let values = self.groups.iter().map(|group| largest(&group.bars));
        let largest = values.fold(1.0, f64::max);
        let mut decades = 1;
        while 10_f64.powi(decades) < largest {
            decades += 1;
        }
        decades.unsigned_abs()
    }

    fn description(&self) -> String {
        let groups = self.groups.iter().map(|group| {
            let bars = group.bars.iter();
            let bars: Vec<String> = bars
                .map(|bar| format!("{} {}", bar.name, bar.text))
                .collect();
            format!("{}: {}.", group.title, bars.join(", "))
        });
        let groups: Vec<String> = groups.collect();
        format!("{}. {}", self.subtitle, groups.join(" "))
    }
}

fn largest(bars: &[Bar]) -> f64 {
    bars.iter()
        .map(|bar| bar.value)
        .fold(f64::MIN_POSITIVE, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(scale: Scale) -> Chart {
        let bar = |name, value: f64| Bar {
            name,
            value,
            text: value.to_string(),
        };
        Chart {
            title: "Time",
            subtitle: "shorter is better",
            scale,
            groups: vec![Group {
                title: "calls",
                bars: vec![
                    bar("toolwire", 10.0),
                    bar("limit", 40.0),
                    bar("rmcp", 100.0),
                ],
            }],
        }
    }

    #[test]
    fn lengths_follow_the_scale() {
        fn check(scale: Scale, expected: [f64; 3]) {
            let chart = chart(scale);
            let group = &chart.groups[0];
            for (bar, expected) in group.bars.iter().zip(expected) {
                let part = chart.length(group, bar.value) / BAR_LENGTH;
                assert!((part - expected).abs() < 1e-3, "{scale:?} {bar:?}: {part}");
            }
        }
        check(Scale::Linear, [0.1, 0.4, 1.0]);
        check(Scale::Logarithmic, [0.5, 0.801, 1.0]);
    }

    #[test]
    fn description_has_all_values() {
        let svg = chart(Scale::Logarithmic).svg();
        let expected = "shorter is better. calls: toolwire 10, limit 40, rmcp 100.";
        assert!(svg.contains(expected), "{svg}");
        assert_eq!(svg.matches("class=\"bar own\"").count(), 1);
        // 1, 10 and 100.
        assert_eq!(svg.matches("class=\"grid\"").count(), 3);
    }
}
