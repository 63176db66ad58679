//! Reports a command line that cannot be parsed.

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::failure::{Exit, Failure};
use crate::server_hints;

/// Prints the error, the help or the version, and returns the exit code.
pub(crate) fn report(mut error: clap::Error) -> ExitCode {
    if error.kind() == ErrorKind::UnknownArgument {
        if let Some(failure) = unknown_option(&error) {
            eprint!("{}", failure.text());
            return ExitCode::from(Exit::Usage as u8);
        }
        remove_separator_tip(&mut error);
    }
    // The program exits in the same way if standard error is closed.
    let _ = error.print();
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(Exit::Usage as u8))
}

/// Removes the tip to pass the option as a value after `--`, because only the command of a server can be there.
fn remove_separator_tip(error: &mut clap::Error) {
    if let Some(ContextValue::StyledStrs(mut tips)) = error.remove(ContextKind::Suggested) {
        tips.retain(|tip| !tip.to_string().contains("as a value"));
        if !tips.is_empty() {
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
        }
    }
}

/// Returns the failure for an option that belongs to the command of a server.
fn unknown_option(error: &clap::Error) -> Option<Failure> {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let arguments = std::env::args_os().skip(1);
    let arguments: Vec<_> = arguments
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    let intended = server_hints::for_unknown_option(&arguments, option)?;
    let message = format!("`{option}` is not an option of toolwire; a command needs -- before it");
    Some(Failure::usage(message).with_advice(intended))
}
