//! `toolwire replay`: serves a record, compares a server with it, or writes it as a test.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use toolwire::ProcessTracker;
use toolwire::relay::Relay;

use crate::closing::close;
use crate::commands::serving::{addresses, serve};
use crate::connect;
use crate::connection_arguments::{Era, Server};
use crate::failure::{Exit, Failure, Phase};
use crate::interrupts::Interrupts;
use crate::record::{Record, RecordError};
use crate::replay::{
    CompareOptions, Pointer, RecordedServer, changing_tools, replay_against, rust_test,
};
use crate::replay_arguments::Replay;
use crate::screen::Screen;
use crate::show::one_line;
use crate::target::{self, Target};
use crate::terminal_input::ask_line;

/// How long a response may take by default.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);

/// Serves the record, or does what the options say.
pub(crate) async fn replay(arguments: Replay, screen: &Arc<Screen>) -> Result<Exit, Failure> {
    let mut arguments = arguments;
    let words = std::mem::take(&mut arguments.server.words);
    let [file] = &words[..] else {
        return Err(Failure::usage("give one record to replay").with_advice(
            "name the server after --against: toolwire replay FILE --against SERVER",
        ));
    };
    if arguments.against.is_none() {
        reject_connection_options(&arguments.server)?;
    }
    let record = read(Path::new(file))?;
    if let Some(warning) = &record.warning {
        screen.warn(warning);
    }
    if arguments.test {
        screen.print(&rust_test(&record))?;
        return Ok(Exit::Success);
    }
    match arguments.against.take() {
        Some(server) => {
            if !server.is_empty() {
                arguments.server.words = vec![server];
            }
            against(&record, &arguments, screen).await
        }
        None => serve_record(&record, &arguments, screen).await,
    }
}

/// Returns an error if there are options of a connection. A record that is served or printed has none.
fn reject_connection_options(server: &Server) -> Result<(), Failure> {
    let options = [
        ("--config", server.lookup.config.is_some()),
        ("--input", !server.lookup.inputs.is_empty()),
        ("--cacert", server.tls.cacert.is_some()),
        ("--insecure", server.tls.insecure),
        ("--era", server.era != Era::Auto),
        ("--protocol-version", server.protocol_version.is_some()),
        ("--header", !server.headers.is_empty()),
        ("--bearer-env", server.bearer_env.is_some()),
        ("--env", !server.environment.is_empty()),
        ("--inherit-env", server.inherit_env),
        ("--login", server.login),
        ("--timeout", server.timeout.is_some()),
        ("--root", !server.roots.is_empty()),
        ("--log-level", server.log_level.is_some()),
        ("--record", server.recording.file.is_some()),
        ("--unredacted", server.recording.unredacted),
    ];
    let given = options.iter().filter(|(_, is_given)| *is_given);
    let given: Vec<&str> = given.map(|(name, _)| *name).collect();
    if given.is_empty() {
        return Ok(());
    }
    let given = given.join(", ");
    Err(Failure::usage(format!(
        "without --against, replay connects to no server: {given}"
    ))
    .with_advice("remove these options, or compare a server: --against SERVER"))
}

fn read(path: &Path) -> Result<Record, Failure> {
    let record = Record::read(path);
    record.map_err(|error: RecordError| {
        Failure::usage(format!("the record {}: {error}", path.display()))
            .with_advice("create a record with: toolwire record FILE SERVER")
    })
}

async fn serve_record(
    record: &Record,
    arguments: &Replay,
    screen: &Arc<Screen>,
) -> Result<Exit, Failure> {
    if !arguments.server.command.is_empty() {
        return Err(
            Failure::usage("a command is given, but not what to do with it").with_advice(
                "compare it with the record: toolwire replay FILE --against -- COMMAND",
            ),
        );
    }
    let mut interrupts = Interrupts::listen();
    let addresses = interrupts.or(addresses(&arguments.listen)).await?;
    let relay = RecordedServer::new(record, arguments.strict)
        .upstream()
        .relay();
    let outcome = serve(
        &relay,
        &arguments.listen,
        addresses,
        &mut interrupts,
        screen,
    )
    .await;
    close(relay.close(), &ProcessTracker::new(), &mut interrupts).await?;
    outcome
}

/// Compares a server with the record.
async fn against(
    record: &Record,
    arguments: &Replay,
    screen: &Arc<Screen>,
) -> Result<Exit, Failure> {
    let server = &arguments.server;
    if !server.roots.is_empty() || server.log_level.is_some() {
        return Err(Failure::usage(
            "--root and --log-level are decided by the client of the record",
        )
        .with_advice("remove them"));
    }
    let ignored = arguments.ignore.iter().map(|text| {
        Pointer::parse(text).ok_or_else(|| {
            Failure::usage(format!("--ignore {text} is not a JSON pointer"))
                .with_advice("begin it with /: --ignore /result/content")
        })
    });
    let options = CompareOptions {
        ignored: ignored.collect::<Result<_, _>>()?,
    };
    let mut interrupts = Interrupts::listen();
    let (target, _) = interrupts.or(target::find(server, screen)).await?;
    let processes = ProcessTracker::new();
    let upstream = connect::upstream(&target, server, false, screen, &processes)?;
    let relay = upstream.relay();
    let timeout = server.timeout.unwrap_or(RESPONSE_TIMEOUT);
    let comparing = async {
        let connected = relay.connect().await;
        connected.map_err(|error| connect::failed(&error, &target))?;
        if !arguments.yes {
            permit_calls(record, &relay, &target).await?;
        }
        Ok(replay_against(record, &relay, &options, timeout).await)
    };
    let outcome = interrupts.or(comparing).await;
    close(relay.close(), &processes, &mut interrupts).await?;
    let report = outcome?;
    if let Some(file) = &arguments.junit {
        std::fs::write(file, report.junit()).map_err(|error| {
            Failure::usage(format!("--junit {}: {error}", file.display()))
                .with_advice("give a file that can be written")
        })?;
    }
    if screen.json {
        screen.print_json(&report.json())?;
    } else {
        screen.print(&report.text())?;
    }
    Ok(if report.has_differences() {
        Exit::ToolFailed
    } else {
        Exit::Success
    })
}

/// Returns an error if the record calls tools that may change something, unless the user agrees.
async fn permit_calls(record: &Record, relay: &Relay, target: &Target) -> Result<(), Failure> {
    let changing = changing_tools(record, relay).await;
    let changing = changing.map_err(|error| Failure::of(&error, Phase::Calling).at(target))?;
    if changing.is_empty() {
        return Ok(());
    }
    let names = one_line(&changing.join(", "));
    if Screen::is_interactive() {
        let prompt = format!("These tools may change something: {names}. Call them again? [y/N] ");
        let line = ask_line(&prompt, false).await;
        if matches!(line.as_deref().map(str::trim), Some("y" | "Y" | "yes")) {
            return Ok(());
        }
    }
    Err(Failure::usage(format!(
        "the record calls tools that may change something: {names}"
    ))
    .with_advice("permit it with --yes"))
}
