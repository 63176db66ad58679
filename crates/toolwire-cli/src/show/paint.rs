//! Adds colours to text.

/// A switch that adds colours to texts or leaves them unchanged.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Paint {
    pub(crate) colours: bool,
}

impl Paint {
    pub(crate) fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    pub(crate) fn red(self, text: &str) -> String {
        self.wrap("31", text)
    }

    pub(crate) fn green(self, text: &str) -> String {
        self.wrap("32", text)
    }

    pub(crate) fn yellow(self, text: &str) -> String {
        self.wrap("33", text)
    }

    pub(crate) fn cyan(self, text: &str) -> String {
        self.wrap("36", text)
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.colours {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_appear_only_if_enabled() {
        assert_eq!(Paint { colours: false }.red("a"), "a");
        assert_eq!(Paint { colours: true }.red("a"), "\u{1b}[31ma\u{1b}[0m");
    }
}
