//! Input requests of the server, with responses from the command line and from a terminal.

use crate::client::{TempDirectory, run_demo};

#[tokio::test]
async fn options_respond_to_elicitations() {
    for era in ["modern", "legacy"] {
        for tool in ["confirm", "approve"] {
            let call = ["call", tool, "question=Sure?", "--era", era];
            let with = async |more: &[&str]| run_demo(&[&call[..], more].concat()).await;
            let yes = if tool == "confirm" {
                "confirmed"
            } else {
                "approved"
            };
            let text = with(&["--answer", "confirmed=yes"]).await.ok();
            assert_eq!(text, format!("{yes}\n"), "{era}");
            let text = with(&["--answer", "confirmed=no"]).await.ok();
            assert_eq!(text, format!("not {yes}\n"), "{era}");
            let text = with(&["--decline"]).await.ok();
            assert_eq!(text, format!("not {yes}\n"), "{era}");
        }
    }
}

#[tokio::test]
async fn options_respond_to_consecutive_elicitations() {
    for era in ["modern", "legacy"] {
        let values = ["city=Rome", "nights=3", "confirmed=yes"];
        let options = values.map(|value| ["--answer", value]).concat();
        let text = run_demo(&[&["call", "trip", "--era", era], &options[..]].concat()).await;
        assert_eq!(
            text.ok(),
            "offer 1 is accepted: 3 nights in Rome\n",
            "{era}"
        );
    }
}

#[tokio::test]
async fn url_elicitation_is_declined_or_not_declared() {
    for era in ["modern", "legacy"] {
        let text = run_demo(&["call", "sign_in", "--era", era, "--decline"]).await;
        assert_eq!(text.ok(), "declined\n", "{era}");
        // A user who fills in forms from the command line cannot open a page.
        let forms_only = ["call", "sign_in", "--era", era, "--answer", "a=b"];
        let text = run_demo(&forms_only).await.failed(4);
        assert!(text.contains("elicitation"), "{era}: {text}");
    }
}

#[tokio::test]
async fn missing_value_is_named() {
    let ran = run_demo(&["call", "confirm", "question=Sure?", "--answer", "other=1"]).await;
    assert!(ran.stderr.contains("pass --answer confirmed=…"), "{ran:?}");
    assert_eq!(ran.stdout, "cancelled\n", "{ran:?}");
}

#[tokio::test]
async fn without_a_user_no_elicitation_is_declared() {
    for era in ["modern", "legacy"] {
        let text = run_demo(&["call", "confirm", "question=Sure?", "--era", era])
            .await
            .failed(4);
        assert!(text.contains("elicitation"), "{era}: {text}");
    }
}

#[tokio::test]
async fn without_a_user_the_option_for_input_is_proposed() {
    for era in ["modern", "legacy"] {
        for tool in ["confirm", "approve"] {
            let text = run_demo(&["call", tool, "question=Sure?", "--era", era])
                .await
                .failed(4);
            assert!(
                text.contains("--answer FIELD=VALUE"),
                "{era} {tool}: {text}"
            );
        }
        let text = run_demo(&["call", "sign_in", "--era", era]).await.failed(4);
        assert!(text.contains("--decline"), "{era}: {text}");
        assert!(text.contains("open a page"), "{era}: {text}");
    }
    // Some servers report it as an error of the tool.
    let message = "message=Client does not support form elicitation.";
    let ran = run_demo(&["call", "fail", message]).await;
    assert!(ran.stderr.contains("--answer FIELD=VALUE"), "{ran:?}");
    let ran = run_demo(&["call", "fail", message, "--decline"]).await;
    assert_eq!(ran.stderr, "", "{ran:?}");
}

#[tokio::test]
async fn option_responds_to_sampling() {
    for era in ["modern", "legacy"] {
        let call = ["call", "summarise", "text=Long.", "--era", era];
        let with = async |more: &[&str]| run_demo(&[&call[..], more].concat()).await;
        let text = with(&["--model-response", "In short."]).await.ok();
        assert_eq!(text, "In short.\n", "{era}");
        let declined = with(&["--decline"]).await;
        let is_named = declined.stderr.contains("the user rejected the request");
        assert!(declined.code != Some(0) && is_named, "{era}: {declined:?}");
        // Neither of the other options is about sampling.
        for other in [&[][..], &["--answer", "a=b"]] {
            let text = with(other).await.failed(4);
            assert!(text.contains("--model-response TEXT"), "{era}: {text}");
        }
        // And the other way round.
        let confirm = ["call", "confirm", "question=Sure?", "--era", era];
        let text = run_demo(&[&confirm[..], &["--model-response", "Yes."]].concat()).await;
        let text = text.failed(4);
        assert!(text.contains("--answer FIELD=VALUE"), "{era}: {text}");
    }
}

#[tokio::test]
async fn saved_call_has_its_response_to_sampling() {
    let directory = TempDirectory::new("saved-sampling");
    let file = directory.write("calls.json", r#"{"toolwireCalls": 1, "calls": []}"#);
    let calls = ["--calls", &file];
    let call = ["call", "summarise", "text=Long.", "--save", "short"];
    let options = ["--model-response", "In short."];
    run_demo(&[&call[..], &calls, &options].concat()).await.ok();
    for era in ["modern", "legacy"] {
        let again = ["call", "--saved", "short", "--era", era];
        let text = run_demo(&[&again[..], &calls].concat()).await.ok();
        assert_eq!(text, "In short.\n", "{era}");
    }
}

#[cfg(target_os = "linux")]
mod terminal {
    use crate::client::demo_command;
    use crate::client::terminal::run_at_terminal;

    async fn at_terminal(
        arguments: &[&str],
        script: &[(&'static str, &'static str)],
    ) -> (String, String) {
        let ended = run_at_terminal(demo_command(arguments), script).await;
        (ended.stdout, ended.shown)
    }

    #[tokio::test]
    async fn user_is_asked_at_a_terminal() {
        for era in ["modern", "legacy"] {
            let arguments = ["call", "approve", "question=Shall we?", "--era", era];
            let script: &[_] = &[
                ("(yes or no): ", "perhaps"),
                ("(yes or no): ", "y"),
                ("Send it?", ""),
            ];
            let (out, shown) = at_terminal(&arguments, script).await;
            assert_eq!(out, "approved\n", "{shown}");
            assert!(shown.contains("The server asks: Shall we?"), "{shown}");
            assert!(shown.contains("type yes or no"), "{shown}");
        }
    }

    #[tokio::test]
    async fn user_can_decline() {
        let arguments = ["call", "approve", "question=Shall we?"];
        let (out, shown) = at_terminal(&arguments, &[("(yes or no): ", "!d")]).await;
        assert_eq!(out, "not approved\n", "{shown}");
    }

    #[tokio::test]
    async fn consecutive_elicitations_are_asked_in_order() {
        for era in ["modern", "legacy"] {
            let script: &[_] = &[
                ("Where to?", ""),
                ("a value is required", "Rome"),
                ("Send it?", ""),
                ("How many nights in Rome?", "40"),
                ("at most 14", "3"),
                ("Send it?", ""),
                ("Offer 1: 3 nights in Rome for 270. Do you agree?", "y"),
                ("Send it?", ""),
            ];
            let (out, shown) = at_terminal(&["call", "trip", "--era", era], script).await;
            assert_eq!(out, "offer 1 is accepted: 3 nights in Rome\n", "{shown}");
            assert_eq!(shown.matches("The server asks: ").count(), 3, "{shown}");
        }
    }

    #[tokio::test]
    async fn url_is_shown_and_the_user_decides() {
        for era in ["modern", "legacy"] {
            for (input, outcome) in [
                ("y", "accepted\n"),
                ("n", "declined\n"),
                ("c", "cancelled\n"),
            ] {
                // Enter alone is not consent.
                let script = [
                    ("Open it? [y]es, [n]o, [c]ancel: ", ""),
                    ("Open it?", input),
                ];
                let (out, shown) = at_terminal(&["call", "sign_in", "--era", era], &script).await;
                assert_eq!(out, outcome, "{era}: {shown}");
                for part in [
                    "The server asks: Please sign in.",
                    "open this address in a browser:",
                    "  https://example.com/sign-in?for=toolwire-demo",
                ] {
                    assert!(shown.contains(part), "{era}, {part}: {shown}");
                }
            }
        }
    }

    #[tokio::test]
    async fn progress_is_shown_as_a_bar() {
        let arguments = ["call", "countdown", "from=2", "delay_ms=1"];
        let (out, shown) = at_terminal(&arguments, &[]).await;
        assert_eq!(out, "counted down from 2\n", "{shown}");
        assert!(
            shown.contains("████████████████████ 2/2 0 to go"),
            "{shown}"
        );
        assert!(shown.ends_with("\r\u{1b}[K"), "{shown:?}");
    }

    #[tokio::test]
    async fn user_writes_the_message_of_a_model() {
        for era in ["modern", "legacy"] {
            let arguments = ["call", "summarise", "text=Long.", "--era", era];
            let script: &[_] = &[("Enter alone rejects the request): ", "In short.")];
            let (out, shown) = at_terminal(&arguments, script).await;
            assert_eq!(out, "In short.\n", "{shown}");
            assert!(shown.contains("Summarise in one sentence:"), "{shown}");
        }
    }
}
