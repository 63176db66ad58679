//! The frame of a picture in SVG: its size, its description, and the colours of light and dark pages.

/// The style of all pictures. The background is painted, because a page can be dark while the reader's system is light.
const COLOURS: &str = "\
    svg { --background: #ffffff; --text: #1f2328; --muted: #59636e; --line: #d1d9e0; --accent: #0969da; --other: #9aa4b0; }
    @media (prefers-color-scheme: dark) {
      svg { --background: #0d1117; --text: #f0f6fc; --muted: #9198a1; --line: #3d444d; --accent: #4493f8; --other: #6b7580; }
    }
    .background { fill: var(--background); }
    text { fill: var(--text); }
    .muted { fill: var(--muted); }
";

/// What a picture shows, for readers who do not see it.
#[derive(Debug)]
pub(crate) struct Description<'a> {
    pub(crate) title: &'a str,
    pub(crate) text: &'a str,
}

/// Returns a picture with the given style and content.
pub(crate) fn picture(
    (width, height): (usize, usize),
    description: &Description<'_>,
    style: &str,
    content: &str,
) -> String {
    let (title, text) = (escape(description.title), escape(description.text));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         role=\"img\" aria-labelledby=\"title description\">\n\
         \x20 <title id=\"title\">{title}</title>\n\
         \x20 <desc id=\"description\">{text}</desc>\n\
         \x20 <style>\n{COLOURS}{style}  </style>\n\
         \x20 <rect class=\"background\" width=\"{width}\" height=\"{height}\" rx=\"6\"/>\n\
         {content}</svg>\n"
    )
}

/// Replaces the characters that have a meaning in XML.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn picture_has_a_title_and_a_description() {
        let description = Description {
            title: "a < b",
            text: "c & d",
        };
        let picture = picture((10, 20), &description, "", "  <g/>\n");
        assert!(picture.contains("<title id=\"title\">a &lt; b</title>"));
        assert!(picture.contains("<desc id=\"description\">c &amp; d</desc>"));
        assert!(picture.contains("viewBox=\"0 0 10 20\""));
        assert!(picture.ends_with("  <g/>\n</svg>\n"));
    }
}
