//! Runs a command and returns its exit code.

use std::io::Write;
use std::sync::Arc;

use clap::CommandFactory;
use toolwire::ProcessTracker;
use toolwire::transport::http::{HttpListener, HttpOptions};

use crate::access_log::AccessLog;
use crate::arguments::{Arguments, Command};
use crate::closing::close;
#[cfg(feature = "events")]
use crate::commands::WatchPlan;
use crate::commands::{
    self, CallPlan, CompletePlan, Domain, ListenPlan, PromptPlan, ReadPlan, RespondPlan, Session,
    SkillPlan, TaskPlan, ViewPlan,
};
use crate::connect::connect;
use crate::connection_arguments::Server;
use crate::demo_arguments::Demo;
use crate::dev::dev;
use crate::doctor_arguments::DoctorDependency;
#[cfg(feature = "events")]
use crate::event_arguments::Events;
use crate::exchange_reports::ReportCollector;
use crate::failure::{Exit, Failure};
use crate::input_requests::InputHandler;
use crate::inspect::inspect;
use crate::interrupts::Interrupts;
use crate::output_arguments::Colour;
use crate::request_arguments::InputOptions;
use crate::screen::Screen;
use crate::skill_arguments::Skills;
use crate::state_key::read_state_keys;
use crate::task_arguments::Task;
use crate::view_arguments::View;
use crate::{accounts, demo, server_files, target, telemetry, tour};

/// Runs a command and prints its failure.
pub(crate) async fn run(command: Command) -> Exit {
    let screen = Arc::new(match command.output() {
        Some(output) => Screen::new(output.json, output.color),
        None => Screen::new(false, Colour::Auto),
    });
    let recording = command.recording().cloned();
    let outcome = dispatch(command, &screen).await;
    if let Some(recording) = recording {
        recording.finish(outcome.is_err());
    }
    match outcome {
        Ok(exit) => {
            screen.clear();
            exit
        }
        Err(failure) => {
            screen.fail(&failure);
            failure.exit
        }
    }
}

async fn dispatch(command: Command, screen: &Arc<Screen>) -> Result<Exit, Failure> {
    use commands::{at_most_one, no_more_words};
    match command {
        Command::Discover(plain) => {
            if let Some(domain) = Domain::of(&plain.server)? {
                let discovering = domain.discover(&plain.server, screen);
                return Interrupts::listen().or(discovering).await;
            }
            let run = async |session: &Session, ()| commands::discover(session).await;
            with_client(&plain.server, None, screen, no_more_words, run).await
        }
        Command::Ping(plain) => {
            let run = async |session: &Session, ()| commands::ping(session).await;
            with_client(&plain.server, None, screen, no_more_words, run).await
        }
        Command::Tools(plain) => {
            let plan = |words| at_most_one(words, "tool");
            with_client(&plain.server, None, screen, plan, commands::list_tools).await
        }
        Command::Prompts(plain) => {
            let plan = |words| at_most_one(words, "prompt");
            with_client(&plain.server, None, screen, plan, commands::list_prompts).await
        }
        Command::Resources(resources) => {
            let only_templates = resources.templates;
            let run = async |session: &Session, ()| {
                commands::list_resources(session, only_templates).await
            };
            with_client(&resources.server, None, screen, no_more_words, run).await
        }
        Command::Call(mut call) => {
            let saved = call.read_saved()?;
            if call.inside {
                call.request.server.reports = Some(ReportCollector::new("tools/call"));
            }
            let plan = |words| match saved {
                Some(saved) => CallPlan::saved(&call, saved, words),
                None => CallPlan::new(&call, words),
            };
            let run = async |session: &Session, plan: CallPlan| plan.run(session).await;
            let request = &call.request;
            with_client(&request.server, Some(&request.input), screen, plan, run).await
        }
        Command::Saved(saved) => commands::saved(&saved, screen),
        Command::Task(task) => dispatch_task(task, screen).await,
        Command::Dev(arguments) => dev(&arguments, screen).await,
        Command::Inspect(arguments) => inspect(&arguments, screen).await,
        Command::Skills(skills) => dispatch_skills(skills, screen).await,
        #[cfg(feature = "events")]
        Command::Events(events) => dispatch_events(events, screen).await,
        Command::View(View::Open(mut open)) => {
            open.request.server.shows_views = true;
            let plan = |words| ViewPlan::new(&open, words);
            let run = async |session: &Session, plan: ViewPlan| plan.run(session).await;
            let request = &open.request;
            with_client(&request.server, Some(&request.input), screen, plan, run).await
        }
        Command::View(View::Bundle(bundle)) => commands::bundle_view(&bundle, screen),
        Command::Read(read) => {
            let plan = |words| ReadPlan::new(&read, words);
            let run = async |session: &Session, plan: ReadPlan| plan.run(session).await;
            with_client(&read.server, Some(&read.input), screen, plan, run).await
        }
        Command::Prompt(prompt) => {
            let plan = |words| PromptPlan::new(&prompt, words);
            let run = async |session: &Session, plan: PromptPlan| plan.run(session).await;
            with_client(&prompt.server, Some(&prompt.input), screen, plan, run).await
        }
        Command::Complete(complete) => {
            let plan = |words| CompletePlan::new(&complete, words);
            let run = async |session: &Session, plan: CompletePlan| plan.run(session).await;
            with_client(&complete.server, None, screen, plan, run).await
        }
        Command::Listen(listen) => {
            let plan = |words| Ok(ListenPlan::new(&listen, words));
            let run = async |session: &Session, plan: ListenPlan| plan.run(session).await;
            with_client(&listen.server, None, screen, plan, run).await
        }
        Command::Servers(servers) => server_files::list(&servers, screen),
        Command::Login(login) => {
            Interrupts::listen()
                .or(accounts::log_in(&login, screen))
                .await
        }
        Command::Logout(logout) => {
            Interrupts::listen()
                .or(accounts::log_out(&logout, screen))
                .await
        }
        Command::Whoami(whoami) => {
            Interrupts::listen()
                .or(accounts::who_am_i(&whoami, screen))
                .await
        }
        Command::Doctor(doctor) => match &doctor.dependency {
            Some(DoctorDependency::Redis(redis)) => {
                let checking = commands::check_redis(redis, screen);
                Interrupts::listen().or(checking).await
            }
            None => commands::check_server(&doctor.server, screen).await,
        },
        Command::Proxy(proxy) => commands::proxy(&proxy, screen).await,
        Command::Record(record) => commands::record(record, screen).await,
        Command::Replay(replay) => commands::replay(replay, screen).await,
        Command::Gateway(gateway) => commands::gateway(&gateway, screen).await,
        Command::Pins(pins) => commands::pins(&pins, screen).await,
        Command::Install(install) => commands::install(&install, screen).await,
        Command::Uninstall(uninstall) => commands::uninstall(&uninstall, screen).await,
        Command::Installed(installed) => commands::installed(&installed, screen),
        Command::New(new) => commands::new(&new, screen),
        Command::Bundle(bundle) => commands::bundle(&bundle, screen).await,
        Command::Publish(publish) => commands::publish(&publish, screen).await,
        Command::Demo(demo) => serve(demo, screen).await,
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "toolwire", &mut script);
            screen.print(&String::from_utf8_lossy(&script))?;
            Ok(Exit::Success)
        }
    }
}

async fn dispatch_task(task: Task, screen: &Arc<Screen>) -> Result<Exit, Failure> {
    match task {
        Task::Get(plain) => {
            let run = async |session: &Session, plan: TaskPlan| plan.get(session).await;
            with_client(&plain.server, None, screen, TaskPlan::new, run).await
        }
        Task::Wait(wait) => {
            let output = wait.output.as_deref();
            let run = async |session: &Session, plan: TaskPlan| plan.wait(session, output).await;
            let input = Some(&wait.input);
            with_client(&wait.server, input, screen, TaskPlan::new, run).await
        }
        Task::Respond(respond) => {
            let plan = |words| RespondPlan::new(&respond, words);
            let run = async |session: &Session, plan: RespondPlan| plan.run(session).await;
            with_client(&respond.server, None, screen, plan, run).await
        }
        Task::Cancel(plain) => {
            let run = async |session: &Session, plan: TaskPlan| plan.cancel(session).await;
            with_client(&plain.server, None, screen, TaskPlan::new, run).await
        }
        Task::List(plain) => {
            let run = async |session: &Session, ()| commands::list_tasks(session).await;
            with_client(&plain.server, None, screen, commands::no_more_words, run).await
        }
    }
}

async fn dispatch_skills(skills: Skills, screen: &Arc<Screen>) -> Result<Exit, Failure> {
    match skills {
        Skills::List(plain) => {
            let run = commands::list_skills;
            with_client(&plain.server, None, screen, commands::no_more_words, run).await
        }
        Skills::Show(plain) => {
            let run = async |session: &Session, plan: SkillPlan| plan.show(session).await;
            with_client(&plain.server, None, screen, SkillPlan::of_show, run).await
        }
        Skills::Load(load) => {
            let run = async |session: &Session, plan: SkillPlan| plan.load(session, &load).await;
            with_client(&load.server, None, screen, SkillPlan::of_load, run).await
        }
        Skills::Check(check) => {
            let checking = commands::check_skills(&check, screen);
            Interrupts::listen().or(checking).await
        }
    }
}

#[cfg(feature = "events")]
async fn dispatch_events(events: Events, screen: &Arc<Screen>) -> Result<Exit, Failure> {
    match events {
        Events::List(plain) => {
            let run = commands::list_events;
            with_client(&plain.server, None, screen, commands::no_more_words, run).await
        }
        Events::Watch(watch) => {
            let plan = |words| WatchPlan::new(&watch, words);
            let run = async |session: &Session, plan: WatchPlan| plan.run(session).await;
            with_client(&watch.server, None, screen, plan, run).await
        }
    }
}

/// Reads the arguments, connects, runs the command, and closes the connection in every case. A signal cancels requests
/// in flight.
async fn with_client<P>(
    server: &Server,
    input: Option<&InputOptions>,
    screen: &Arc<Screen>,
    plan: impl FnOnce(Vec<String>) -> Result<P, Failure>,
    run: impl AsyncFnOnce(&Session, P) -> Result<Exit, Failure>,
) -> Result<Exit, Failure> {
    // One receiver for all steps, so that no signal between two steps is lost.
    let mut interrupts = Interrupts::listen();
    let (target, words) = interrupts.or(target::find(server, screen)).await?;
    let plan = plan(words)?;
    let input = match input {
        Some(options) => InputHandler::new(options, screen)?,
        None => None,
    };
    let processes = ProcessTracker::new();
    let connecting = connect(&target, server, input.as_ref(), screen, &processes);
    let client = match interrupts.or(connecting).await {
        Ok(client) => client,
        Err(failure) => {
            close(async {}, &processes, &mut interrupts).await?;
            return Err(failure);
        }
    };
    let session = Session {
        client,
        screen: Arc::clone(screen),
        responds: input.map(|input| input.capabilities()).unwrap_or_default(),
        target: target.clone(),
        era: server.era,
    };
    let outcome = interrupts.or(run(&session, plan)).await;
    if let Some(reports) = &server.reports {
        let showing = async {
            reports.show(screen, outcome.is_err()).await;
            Ok(())
        };
        interrupts.or(showing).await?;
    }
    let outcome = outcome.map_err(|failure| failure.at(&target).with_input_advice());
    close(session.client.close(), &processes, &mut interrupts).await?;
    outcome
}

async fn serve(arguments: Demo, screen: &Arc<Screen>) -> Result<Exit, Failure> {
    let versions = arguments.protocol_version;
    let limited = |server: toolwire::Server| {
        if versions.is_empty() {
            return server;
        }
        server.with_versions(versions)
    };
    if arguments.stdio {
        let server = telemetry::observe_server(limited(demo::server()));
        let served = server.serve_stdio().await;
        served.map_err(|error| Failure::new(Exit::NoConnection, error.to_string()))?;
        return Ok(Exit::Success);
    }
    let Some(address) = arguments.http else {
        let mut interrupts = Interrupts::listen();
        let processes = ProcessTracker::new();
        let outcome = interrupts.or(tour::run(screen, &processes)).await;
        close(async {}, &processes, &mut interrupts).await?;
        return outcome;
    };
    let mut options = HttpOptions::new().with_public_hosts(arguments.public_host);
    if arguments.sse {
        options = options.with_http_sse();
    }
    let access_log = AccessLog::open_if(arguments.access_log.as_deref(), screen)?;
    if let Some(log) = &access_log {
        options = options.with_access_log(log.writer());
    }
    let serve_failure =
        |error: toolwire::Error| Failure::new(Exit::NoConnection, error.to_string());
    let keys = read_state_keys(&arguments.state_key)?;
    let (server, options) = match (arguments.redis, keys) {
        (Some(url), keys) => demo::join(&url, keys, options).await?,
        (None, Some(keys)) => (demo::server_with_keys(keys), options),
        (None, None) => (demo::server(), options),
    };
    let server = telemetry::observe_server(limited(server));
    let listener = HttpListener::bind(server, &address, options)
        .await
        .map_err(serve_failure)?;
    // The server also runs if standard error is closed.
    let _ = writeln!(std::io::stderr(), "listening on {}", listener.url());
    let served = listener.run().await;
    if let Some(log) = access_log {
        log.flush();
    }
    served.map_err(serve_failure)?;
    Ok(Exit::Success)
}
