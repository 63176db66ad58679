//! A form field as `#[derive(Elicit)]` builds it: the schema of its type with the keys of `#[elicit(…)]`.
//!
//! A key that the schema does not have is ignored here, because the `checks` module has already rejected it.

use toolwire_types::{ElicitSchema, PrimitiveSchema, StringFormat};

use crate::server::elicit::ElicitField;

/// A form field under construction. Only for generated code.
#[derive(Debug)]
pub struct FormField {
    schema: PrimitiveSchema,
    optional: bool,
}

/// Defines setters for members that the named kinds of fields have.
macro_rules! keys {
    ($($(#[$doc:meta])* $key:ident($value:ty) on $($kind:ident)+;)*) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $key(mut self, value: $value) -> Self {
            match &mut self.schema {
                $(PrimitiveSchema::$kind(schema) => schema.$key = Some(value.into()),)+
                _ => {}
            }
            self
        }
    )*};
}

impl FormField {
    /// Creates the field of a type.
    #[must_use]
    pub fn of<T: ElicitField>() -> Self {
        Self {
            schema: T::field_schema(),
            optional: T::OPTIONAL,
        }
    }

    /// Makes the field optional.
    #[must_use]
    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }

    keys! {
        /// Sets the title.
        title(&str) on String Number Boolean UntitledSingleSelect TitledSingleSelect LegacyTitledEnum
            UntitledMultiSelect TitledMultiSelect;
        /// Sets the description.
        description(&str) on String Number Boolean UntitledSingleSelect TitledSingleSelect LegacyTitledEnum
            UntitledMultiSelect TitledMultiSelect;
        /// Sets the format of the text.
        format(StringFormat) on String;
        /// Sets the minimum number of characters.
        min_length(u64) on String;
        /// Sets the maximum number of characters.
        max_length(u64) on String;
        /// Sets the minimum.
        minimum(f64) on Number;
        /// Sets the maximum.
        maximum(f64) on Number;
        /// Sets the minimum number of choices.
        min_items(u64) on UntitledMultiSelect TitledMultiSelect;
        /// Sets the maximum number of choices.
        max_items(u64) on UntitledMultiSelect TitledMultiSelect;
    }

    /// Sets the default text, or the default choice.
    #[must_use]
    pub fn default_text(mut self, text: &str) -> Self {
        let member = match &mut self.schema {
            PrimitiveSchema::String(schema) => &mut schema.default,
            PrimitiveSchema::UntitledSingleSelect(schema) => &mut schema.default,
            PrimitiveSchema::TitledSingleSelect(schema) => &mut schema.default,
            PrimitiveSchema::LegacyTitledEnum(schema) => &mut schema.default,
            _ => return self,
        };
        *member = Some(text.to_owned());
        self
    }

    /// Sets the default number.
    #[must_use]
    pub fn default_number(mut self, number: f64) -> Self {
        if let PrimitiveSchema::Number(schema) = &mut self.schema {
            schema.default = Some(number);
        }
        self
    }

    /// Sets the default of a boolean.
    #[must_use]
    pub fn default_flag(mut self, flag: bool) -> Self {
        if let PrimitiveSchema::Boolean(schema) = &mut self.schema {
            schema.default = Some(flag);
        }
        self
    }

    /// Sets the default choices.
    #[must_use]
    pub fn default_words(mut self, words: &[&str]) -> Self {
        let member = match &mut self.schema {
            PrimitiveSchema::UntitledMultiSelect(schema) => &mut schema.default,
            PrimitiveSchema::TitledMultiSelect(schema) => &mut schema.default,
            _ => return self,
        };
        *member = Some(words.iter().map(|&word| word.to_owned()).collect());
        self
    }

    /// Adds the field to a form.
    #[must_use]
    pub fn add_to(self, form: ElicitSchema, name: &str) -> ElicitSchema {
        if self.optional {
            form.with_optional(name, self.schema)
        } else {
            form.with_required(name, self.schema)
        }
    }
}
