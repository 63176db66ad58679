//! A field of a form as `#[derive(Elicit)]` builds it: the schema of its type, with the keys of `#[elicit(…)]` set.
//!
//! A key that the schema does not have is ignored here: the checks beside this module have refused it before.

use toolwire_types::{ElicitSchema, PrimitiveSchema, StringFormat};

use crate::server::elicit::ElicitField;

/// A field on its way into a form. Generated code only.
#[derive(Debug)]
pub struct FormField {
    schema: PrimitiveSchema,
    optional: bool,
}

/// Sets a member that the named kinds of fields have.
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
    /// The field of a type.
    #[must_use]
    pub fn of<T: ElicitField>() -> Self {
        Self {
            schema: T::field_schema(),
            optional: T::OPTIONAL,
        }
    }

    /// Lets the field be left empty.
    #[must_use]
    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }

    keys! {
        /// Sets the label.
        title(&str) on String Number Boolean UntitledSingleSelect TitledSingleSelect LegacyTitledEnum
            UntitledMultiSelect TitledMultiSelect;
        /// Sets the explanation.
        description(&str) on String Number Boolean UntitledSingleSelect TitledSingleSelect LegacyTitledEnum
            UntitledMultiSelect TitledMultiSelect;
        /// Sets what the text must look like.
        format(StringFormat) on String;
        /// Sets the fewest characters.
        min_length(u64) on String;
        /// Sets the most characters.
        max_length(u64) on String;
        /// Sets the smallest number.
        minimum(f64) on Number;
        /// Sets the largest number.
        maximum(f64) on Number;
        /// Sets the fewest words to choose.
        min_items(u64) on UntitledMultiSelect TitledMultiSelect;
        /// Sets the most words to choose.
        max_items(u64) on UntitledMultiSelect TitledMultiSelect;
    }

    /// Sets the text that stands there, or the word that is chosen, at first.
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

    /// Sets the number that stands there at first.
    #[must_use]
    pub fn default_number(mut self, number: f64) -> Self {
        if let PrimitiveSchema::Number(schema) = &mut self.schema {
            schema.default = Some(number);
        }
        self
    }

    /// Sets whether it is yes or no at first.
    #[must_use]
    pub fn default_flag(mut self, flag: bool) -> Self {
        if let PrimitiveSchema::Boolean(schema) = &mut self.schema {
            schema.default = Some(flag);
        }
        self
    }

    /// Sets the words that are chosen at first.
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

    /// Puts the field into a form.
    #[must_use]
    pub fn add_to(self, form: ElicitSchema, name: &str) -> ElicitSchema {
        if self.optional {
            form.with_optional(name, self.schema)
        } else {
            form.with_required(name, self.schema)
        }
    }
}
