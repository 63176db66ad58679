//! Fills in a form field by field, and shows a URL to visit.

use serde_json::Value;
use toolwire::types::{
    ElicitRequestFormParams, ElicitRequestURLParams, ElicitResult, ElicitSchema,
};
use toolwire_proto::elicit_validation::read_schema;

use crate::input_requests::dialogue::Dialogue;
use crate::input_requests::field::Field;
use crate::show::plain_text;

/// The user's input for a field.
enum Reply {
    Value(Value),
    Skipped,
    Declined,
    Cancelled,
}

/// Fills in a form. Fields with a value from the command line are not asked for.
pub(super) fn fill_in(
    form: &ElicitRequestFormParams,
    given: &[(String, String)],
    dialogue: &mut dyn Dialogue,
) -> ElicitResult {
    let schema = match read_schema(form) {
        Ok(schema) => schema,
        Err(error) => {
            dialogue.show_line(&format!(
                "the server requests input with an unsupported form: {error}"
            ));
            return ElicitResult::cancel();
        }
    };
    if dialogue.has_user() {
        ask(form, &schema, given, dialogue)
    } else {
        fill_in_from_options(form, &schema, given, dialogue)
    }
}

/// Fills in a form without a user, from the values on the command line. The client adds defaults.
fn fill_in_from_options(
    form: &ElicitRequestFormParams,
    schema: &ElicitSchema,
    given: &[(String, String)],
    dialogue: &mut dyn Dialogue,
) -> ElicitResult {
    let mut content = Vec::new();
    for field in fields(schema) {
        match preset(&field, given) {
            Some(Ok(value)) => content.push((field.name.to_owned(), value)),
            None if !field.required || field.default.is_some() => {}
            Some(Err(problem)) => {
                dialogue.show_line(&format!("--answer {}: {problem}", field.name)); // tidy: allow(answer) name of the option
                return ElicitResult::cancel();
            }
            None => {
                dialogue.show_line(&format!(
                    "the server asks {:?} and needs `{}` ({}); pass --answer {}=…", // tidy: allow(answer) name of the option
                    plain_text(&form.message),
                    field.name,
                    field.hint(),
                    field.name
                ));
                return ElicitResult::cancel();
            }
        }
    }
    ElicitResult::accept().with_content(content)
}

fn ask(
    form: &ElicitRequestFormParams,
    schema: &ElicitSchema,
    given: &[(String, String)],
    dialogue: &mut dyn Dialogue,
) -> ElicitResult {
    dialogue.show_line(&format!("\nThe server asks: {}", plain_text(&form.message)));
    dialogue.show_line("(Enter accepts the value in brackets; !d declines, !c cancels)");
    let mut content: Vec<(String, Value)> = Vec::new();
    let mut first = true;
    loop {
        let earlier = std::mem::take(&mut content);
        for field in fields(schema) {
            let name = field.name.to_owned();
            if let Some(Ok(value)) = preset(&field, given).filter(|_| first) {
                dialogue.show_line(&format!("  {}: {}", label(&field), Field::typed(&value)));
                content.push((name, value));
                continue;
            }
            let before = earlier.iter().find(|(known, _)| *known == name);
            let suggestion = before
                .map(|(_, value)| value.clone())
                .or_else(|| field.default.clone());
            match ask_field(&field, suggestion, dialogue) {
                Reply::Value(value) => content.push((name, value)),
                Reply::Skipped => {}
                Reply::Declined => return ElicitResult::decline(),
                Reply::Cancelled => return ElicitResult::cancel(),
            }
        }
        first = false;
        loop {
            let reply = dialogue.ask("Send it? [Y]es, [e]dit, [d]ecline, [c]ancel: ");
            match reply.as_deref().map(str::to_ascii_lowercase).as_deref() {
                Some("" | "y" | "yes") => return ElicitResult::accept().with_content(content),
                Some("e" | "edit") => break,
                Some("d" | "decline" | "n" | "no" | "!d") => return ElicitResult::decline(),
                Some("c" | "cancel" | "!c") | None => return ElicitResult::cancel(),
                Some(_) => {}
            }
        }
    }
}

fn ask_field(field: &Field<'_>, suggestion: Option<Value>, dialogue: &mut dyn Dialogue) -> Reply {
    if let Some(description) = field.description {
        dialogue.show_line(&format!("  {}", plain_text(description)));
    }
    for (number, (word, name)) in (1..).zip(&field.choices) {
        let (word, name) = (plain_text(word), plain_text(name));
        if word == name {
            dialogue.show_line(&format!("    {number}. {name}"));
        } else {
            dialogue.show_line(&format!("    {number}. {name} ({word})"));
        }
    }
    let shown_default = match (&suggestion, field.required) {
        (Some(value), _) => format!(" [{}]", plain_text(&Field::typed(value))),
        (None, true) => String::new(),
        (None, false) => " [nothing]".to_owned(),
    };
    let prompt = format!("  {} ({}){shown_default}: ", label(field), field.hint());
    loop {
        let Some(text) = dialogue.ask(&prompt) else {
            return Reply::Cancelled;
        };
        match text.as_str() {
            "!d" => return Reply::Declined,
            "!c" => return Reply::Cancelled,
            "" => match (&suggestion, field.required) {
                (Some(value), _) => return Reply::Value(value.clone()),
                (None, false) => return Reply::Skipped,
                (None, true) => dialogue.show_line("    a value is required"),
            },
            text => match field.read(text) {
                Ok(value) => return Reply::Value(value),
                Err(problem) => dialogue.show_line(&format!("    {}", plain_text(&problem))),
            },
        }
    }
}

/// Shows a URL. Only the user opens it.
pub(super) fn visit(address: &ElicitRequestURLParams, dialogue: &mut dyn Dialogue) -> ElicitResult {
    dialogue.show_line(&format!(
        "\nThe server asks: {}",
        plain_text(&address.message)
    ));
    dialogue.show_line("It asks you to open this address in a browser:");
    dialogue.show_line(&format!("  {}", plain_text(&address.url)));
    loop {
        let reply = dialogue.ask("Open it? [y]es, [n]o, [c]ancel: ");
        match reply.as_deref().map(str::to_ascii_lowercase).as_deref() {
            Some("y" | "yes") => return ElicitResult::accept(),
            Some("n" | "no" | "d" | "decline" | "!d") => return ElicitResult::decline(),
            Some("c" | "cancel" | "!c") | None => return ElicitResult::cancel(),
            Some(_) => {}
        }
    }
}

fn fields(schema: &ElicitSchema) -> Vec<Field<'_>> {
    let properties = schema.properties.iter();
    properties
        .map(|(name, field)| Field::new(name, field, schema.is_required(name)))
        .collect()
}

fn preset(field: &Field<'_>, given: &[(String, String)]) -> Option<Result<Value, String>> {
    let (_, text) = given.iter().find(|(name, _)| name == field.name)?;
    Some(field.read(text))
}

fn label(field: &Field<'_>) -> String {
    plain_text(field.title.unwrap_or(field.name)).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolwire::types::ElicitAction;

    use super::*;
    use crate::input_requests::dialogue::Script;

    fn form() -> ElicitRequestFormParams {
        ElicitRequestFormParams::new(
            "Book a table?",
            json!({
                "type": "object",
                "properties": {
                    "name": {"type": "string", "title": "Your name", "minLength": 2},
                    "guests": {"type": "integer", "minimum": 1, "maximum": 8, "default": 2},
                    "inside": {"type": "boolean"},
                    "menu": {"type": "string", "oneOf": [
                        {"const": "m", "title": "Meat"}, {"const": "v", "title": "Vegetables"},
                    ]},
                    "extras": {"type": "array", "items": {"type": "string", "enum": ["cake", "tea"]}},
                },
                "required": ["name", "menu"],
            }),
        )
    }

    fn fill_in_with(inputs: &[&'static str]) -> (ElicitResult, String) {
        let mut user = Script::new(inputs);
        let result = fill_in(&form(), &[], &mut user);
        (result, user.shown)
    }

    #[test]
    fn form_is_filled_in_field_by_field() {
        let (result, shown) = fill_in_with(&["Ada", "", "no", "2", "1, tea", "y"]);
        assert_eq!(result.action, ElicitAction::Accept);
        assert_eq!(
            json!(result.content),
            json!({"name": "Ada", "guests": 2, "inside": false, "menu": "v", "extras": ["cake", "tea"]}),
        );
        assert!(shown.contains("The server asks: Book a table?"), "{shown}");
        assert!(shown.contains("Your name (text): Ada"), "{shown}");
        assert!(
            shown.contains("guests (integer from 1 to 8) [2]: "),
            "{shown}"
        );
        assert!(shown.contains("    2. Vegetables (v)"), "{shown}");
    }

    #[test]
    fn invalid_values_are_asked_again() {
        let (result, shown) = fill_in_with(&[
            "", "A", "Ada", "nine", "9", "3", "maybe", "", "3", "meat", "", "e", "", "", "", "",
            "", "",
        ]);
        assert_eq!(
            json!(result.content),
            json!({"name": "Ada", "guests": 3, "menu": "m"}),
            "{shown}"
        );
        for part in [
            "a value is required",
            "fewer characters",
            "type an integer",
            "at most 8",
            "type yes or no",
            "from 1 to 2",
            "Your name (text) [Ada]: ",
        ] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
    }

    #[test]
    fn form_can_be_declined_or_cancelled_at_any_field() {
        fn check(inputs: &[&'static str], action: ElicitAction) {
            let (result, shown) = fill_in_with(inputs);
            assert_eq!(result.action, action, "{shown}");
            assert_eq!(result.content, None);
        }
        check(&["!d"], ElicitAction::Decline);
        check(&["Ada", "!c"], ElicitAction::Cancel);
        check(
            &["Ada", "", "", "1", "", "what", "d"],
            ElicitAction::Decline,
        );
        check(&["Ada"], ElicitAction::Cancel);
    }

    #[test]
    fn values_from_the_command_line_are_not_asked_for() {
        let given = [
            ("name".to_owned(), "Ada".to_owned()),
            ("menu".to_owned(), "v".to_owned()),
        ];
        let mut user = Script::new(&["", "", "", ""]);
        let result = fill_in(&form(), &given, &mut user);
        assert_eq!(
            json!(result.content),
            json!({"name": "Ada", "guests": 2, "menu": "v"}),
            "{}",
            user.shown
        );
    }

    #[test]
    fn without_a_user_only_values_from_the_command_line_are_used() {
        fn check(given: &[(&str, &str)], action: ElicitAction, part: &str) {
            let given: Vec<_> = given
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect();
            let mut script = Script::without_user();
            let result = fill_in(&form(), &given, &mut script);
            assert_eq!(result.action, action, "{given:?}");
            assert!(script.shown.contains(part), "{}", script.shown);
        }
        check(&[("name", "Ada"), ("menu", "m")], ElicitAction::Accept, "");
        check(&[("name", "Ada")], ElicitAction::Cancel, "--answer menu=…");
        check(&[("name", "A")], ElicitAction::Cancel, "--answer name: ");
    }

    #[test]
    fn url_is_shown_in_full() {
        fn check(inputs: &[&'static str], action: ElicitAction) {
            let address = ElicitRequestURLParams::new("Log in", "https://example.com/login?x=1");
            let mut user = Script::new(inputs);
            assert_eq!(visit(&address, &mut user).action, action);
            assert!(user.shown.contains("https://example.com/login?x=1"));
        }
        check(&["", "y"], ElicitAction::Accept);
        check(&["n"], ElicitAction::Decline);
        check(&["c"], ElicitAction::Cancel);
        check(&[], ElicitAction::Cancel);
    }

    #[test]
    fn unsupported_form_is_cancelled() {
        let form = ElicitRequestFormParams::new("?", json!({"type": "array"}));
        let mut user = Script::new(&["y"]);
        assert_eq!(fill_in(&form, &[], &mut user).action, ElicitAction::Cancel);
    }
}
