//! The options that tools, prompts, resources and templates share.

/// Defines `with_*` methods over a `descriptor` field.
macro_rules! descriptor_options {
    () => {
        /// Sets the title, a display name.
        #[must_use]
        pub fn with_title(mut self, title: impl Into<String>) -> Self {
            self.descriptor.title = Some(title.into());
            self
        }

        /// Sets the description, which models read.
        #[must_use]
        pub fn with_description(mut self, description: impl Into<String>) -> Self {
            self.descriptor.description = Some(description.into());
            self
        }

        /// Adds an icon.
        #[must_use]
        pub fn with_icon(mut self, icon: ::toolwire_types::Icon) -> Self {
            self.descriptor.icons.get_or_insert_default().push(icon);
            self
        }

        /// Sets the `_meta` of the descriptor.
        #[must_use]
        pub fn with_meta(mut self, meta: ::toolwire_types::Meta) -> Self {
            self.descriptor.meta = Some(meta);
            self
        }
    };
}

pub(crate) use descriptor_options;
