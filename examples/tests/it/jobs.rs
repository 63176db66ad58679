//! The examples of whole jobs: each client uses its server over stdio and over HTTP, in both eras, and prints the same
//! lines.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

use crate::client::program;
use crate::http::Example;
use crate::tasks::{empty_task_directory, worker};

/// The timeout of a client, so that a blocked test fails instead of hanging.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(120);

/// The arguments of the client for each era, the modern one first.
pub(crate) const ERAS: [&[&str]; 2] = [&[], &["--legacy"]];

/// How a job is run: the directory and an environment variable of its server and its client.
#[derive(Clone, Copy)]
pub(crate) struct Job<'a> {
    name: &'a str,
    directory: &'a Path,
    variable: Option<(&'a str, &'a str)>,
}

impl<'a> Job<'a> {
    pub(crate) fn new(name: &'a str) -> Self {
        Self {
            name,
            directory: Path::new("."),
            variable: None,
        }
    }

    fn in_directory(self, directory: &'a Path) -> Self {
        Self { directory, ..self }
    }

    fn with_variable(self, name: &'a str, value: &'a str) -> Self {
        Self {
            variable: Some((name, value)),
            ..self
        }
    }

    fn command(self) -> Command {
        let mut command = Command::new(program(self.name));
        command.current_dir(self.directory).kill_on_drop(true);
        command.envs(self.variable);
        command
    }

    /// Returns the lines that the client prints.
    pub(crate) async fn client_lines(self, arguments: &[&str]) -> Vec<String> {
        let mut command = self.command();
        command.arg("client").args(arguments).stdin(Stdio::null());
        let output = timeout(CLIENT_TIMEOUT, command.output()).await;
        let output = output.expect("the client exits").unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        let name = self.name;
        assert!(output.status.success(), "{name} {arguments:?}: {errors}");
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    /// Returns the lines of a client over HTTP. It is the first client of its server.
    async fn lines_over_http(self, era: &[&str]) -> Vec<String> {
        let server = Example::run(&mut self.command()).await;
        let url = server.url();
        self.client_lines(&[&[url.as_str()], era].concat()).await
    }

    /// Checks the lines of a client over stdio and over HTTP in these eras. Each client has a server of its own.
    async fn check_in(self, eras: &[&[&str]], expected: &[&str]) {
        for era in eras {
            let lines = self.client_lines(era).await;
            assert_eq!(lines, expected, "{} over stdio {era:?}", self.name);
            let lines = self.lines_over_http(era).await;
            assert_eq!(lines, expected, "{} over HTTP {era:?}", self.name);
        }
    }

    /// Checks the lines of a client over stdio and over HTTP in both eras.
    async fn check(self, expected: &[&str]) {
        self.check_in(&ERAS, expected).await;
    }
}

#[tokio::test]
async fn notes_are_stored_and_found_by_their_words() {
    let expected = [
        "stored Bread as notes:///1",
        "stored Tea as notes:///2",
        "stored Baking times as notes:///3",
        "minutes baking: 2 found",
        "  Baking times: Rolls [bake] for fifteen [minutes], bread for forty.",
        "  Bread: Knead the dough for ten [minutes], then [bake]…",
        "  Rolls bake for fifteen minutes, bread for forty.",
        "\"NEAR(: 0 found",
        "80: 1 found",
        "  Tea: Pour water of [80] degrees on the leaves…",
        "  Pour water of 80 degrees on the leaves and wait.",
    ];
    Job::new("sqlite_notes").check(&expected).await;
}

#[tokio::test]
async fn files_outside_the_roots_and_the_directory_are_rejected() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("file_browser");
    fs::create_dir_all(directory.join("public/drafts")).unwrap();
    fs::write(directory.join("public/a.txt"), "first line\nsecond").unwrap();
    fs::write(directory.join("secret.txt"), "secret").unwrap();
    let expected = [
        "a.txt: first line",
        "drafts/",
        ".: this is outside the roots of the client",
        "../..: ../.. is outside the served directory",
        "files:///secret.txt: this is outside the roots of the client (-32603)",
        "files:///public/../secret.txt: this is outside the roots of the client (-32603)",
    ];
    let job = Job::new("file_browser").in_directory(&directory);
    job.check(&expected).await;
}

#[tokio::test]
async fn report_is_written_as_a_task_and_asks_once() {
    let expected = [
        "the report is a task",
        "the server asks: The report of 2026 has 22 pages. Send it to the board?",
        "22 pages about 2026, sent",
        "rejected: invalid arguments for tool `write_report`: arguments.year: 1066 is less than the minimum of 2000",
    ];
    Job::new("annual_report").check(&expected).await;
}

#[tokio::test]
async fn model_calls_tools_until_it_knows_the_price() {
    let expected = [
        "user: What does order 170 cost in francs? Perhaps it was 17.",
        "model calls find_order {\"number\":170}",
        "  there is no order 170; orders have two digits",
        "model calls find_order {\"number\":17}",
        "  {\"item\":\"teapot\",\"price\":2400}",
        "model calls convert {\"cents\":2400,\"currency\":\"CHF\"}",
        "  22.80 CHF",
        "model: Order 17 costs 22.80 CHF.",
    ];
    Job::new("chat").check(&expected).await;
}

#[tokio::test]
async fn tracker_over_stdio_permits_everything() {
    for era in ERAS {
        let lines = Job::new("issue_tracker").client_lines(era).await;
        assert_eq!(lines[0], "tools: list_issues, close_issue");
        assert_eq!(lines[2], "the local user closed issue 1");
        assert_eq!(lines[3], "the tracker responded with 404 Not Found");
    }
}

#[tokio::test]
async fn tracker_over_http_permits_what_the_user_grants() {
    let tracker = Job::new("issue_tracker");
    for era in ERAS {
        // The second login of each user is for the scope of the second tool.
        let ann = tracker.with_variable("TRACKER_USER", "ann");
        let lines = ann.lines_over_http(era).await;
        assert_eq!(
            lines[..2],
            ["ann logs in", "tools: list_issues, close_issue"]
        );
        assert!(lines[2].contains("The kettle boils over"), "{lines:?}");
        assert_eq!(lines[3], "ann logs in");
        let denied = lines[4..].iter();
        let denied = denied.filter(|line| line.starts_with("not permitted: "));
        assert_eq!((denied.count(), lines.len()), (2, 6), "{lines:?}");

        let bob = tracker.with_variable("TRACKER_USER", "bob");
        let lines = bob.lines_over_http(era).await;
        assert_eq!(
            lines[..2],
            ["bob logs in", "tools: list_issues, close_issue"]
        );
        let closed = [
            "bob logs in",
            "bob closed issue 1",
            "the tracker responded with 404 Not Found",
        ];
        assert_eq!(lines[3..], closed);
    }
}

#[tokio::test]
async fn axum_application_shares_its_state_with_the_tools() {
    let application = Job::new("axum_app");
    for era in ERAS {
        let bob = application.with_variable("SHOP_TOKEN", "token-of-bob");
        let expected = [
            "in stock: 1",
            "bob sold a cup, 0 are left",
            "no cups are left; use restock",
        ];
        assert_eq!(bob.lines_over_http(era).await, expected);

        let ann = application.with_variable("SHOP_TOKEN", "token-of-ann");
        let lines = ann.lines_over_http(era).await;
        assert!(lines[1].starts_with("not permitted: "), "{lines:?}");
    }
}

#[tokio::test]
async fn client_of_a_job_without_stdio_needs_a_url() {
    let mut command = Job::new("axum_app").command();
    let output = timeout(CLIENT_TIMEOUT, command.arg("client").output()).await;
    let output = output.expect("the client exits").unwrap();
    assert!(!output.status.success());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("pass its URL"), "{errors}");
}

#[tokio::test]
async fn ticket_is_booked_with_the_form_and_not_if_the_user_declines() {
    let expected = [
        "the server asks: A ticket to Rome: who travels?",
        "  email",
        "  seats",
        "  class (optional)",
        "1 × First to Rome, sent to ada@example.com",
        "the server asks: A ticket to Atlantis: who travels?",
        "  email",
        "  seats",
        "  class (optional)",
        "not booked",
    ];
    Job::new("train_booking").check(&expected).await;
}

#[tokio::test]
async fn workers_run_the_tasks_of_the_server() {
    let directory = empty_task_directory("task_workers");
    let worker = worker(&directory);
    let worker = worker.id().unwrap();
    let expected = [
        "queued: to be or not to be",
        "queued: call me Ishmael",
        &format!("6 words, counted by process {worker}"),
        &format!("3 words, counted by process {worker}"),
    ];
    let job = Job::new("task_workers");
    let job = job.with_variable("TASK_DIRECTORY", directory.to_str().unwrap());
    job.check(&expected).await;
}

#[tokio::test]
async fn host_shows_the_view_and_other_clients_get_text() {
    let expected = [
        "a tool for the model: forecast",
        "  its view is ui://weather/forecast, limited to default-src 'none'",
        "the model and the view get: The forecast of Oslo is displayed. [18, 19, 17]",
        "after a click: week 1 [16, 17, 18, 19, 15, 16, 17]",
        "without views: Oslo will have 18, 19 and 17 degrees. [18, 19, 17]",
    ];
    Job::new("weather_view").check(&expected).await;
}

#[tokio::test]
async fn skill_is_found_and_loaded_with_its_checklist() {
    let expected = [
        "incident: What to do if the service is down",
        "release: Cut a release of the desktop application",
        "git-workflow: Our rules for branches",
        "daily: The report of today",
        "  is created when it is read, so it has to be approved each time",
        "# Release",
        "",
        "1. Work through `references/CHECKLIST.md`.",
        "2. Tag the commit and publish the notes.",
        "[ ] The changelog has an entry for every change that users see.",
        "[ ] All tests pass.",
    ];
    Job::new("team_handbook").check(&expected).await;
}

#[tokio::test]
async fn catalogue_is_read_and_its_counter_is_watched() {
    let expected = [
        "shop://terms: # Terms",
        "",
        "Be kind.",
        "shop://logo: image/png",
        "shop://visits: 0",
        "shelves with b: books, bread",
        "shop://shelves/bread?page=2&tags=fresh: bread, page 2, tagged [\"fresh\"]",
        "shop://visits: 1",
    ];
    Job::new("shop_catalogue").check(&expected).await;
}

#[tokio::test]
async fn alerts_continue_where_the_client_stopped() {
    let expected = [
        "build 1 of draft finished",
        "build 2 of main finished",
        "alert: build 2 of main",
        "note 1: buy milk",
        "note 2: call Bob",
    ];
    // Older revisions have no events.
    let job = Job::new("build_alerts");
    job.check_in(&ERAS[..1], &expected).await;
}

#[tokio::test]
async fn client_sees_tools_that_are_added_and_removed() {
    let expected = [
        "tools: learn, forget",
        "tools: learn, forget, to_chf",
        "20 are 19.0 francs",
        "tools: learn, forget",
    ];
    Job::new("exchange_rates").check(&expected).await;
}

#[tokio::test]
async fn logbook_limits_writing_and_denies_deletion() {
    let expected = [
        "tools: write_line, read_line",
        "write_line: 1",
        "write_line: 2",
        "write_line is rejected: too many calls; try again later",
        "read_line: door painted",
        "delete_lines is rejected: unknown tool `delete_lines`",
    ];
    Job::new("guarded_logbook").check(&expected).await;
}

#[tokio::test]
async fn teams_share_a_server() {
    let expected = [
        "weather_forecast: Bonn: 20 °C",
        "add_station: added",
        "weather_north: wind",
        "add_station(name)",
        "weather_forecast(city)",
        "weather_north()",
    ];
    Job::new("team_server").check(&expected).await;
}

#[tokio::test]
async fn gateway_offers_the_tools_of_two_servers() {
    let expected = [
        "orders_find_order: Finds an order by its number.",
        "trains_book: Book a train",
        "{\"item\":\"teapot\",\"price\":2400}",
        "[trains] A ticket to Rome: who travels?",
        "1 × Second to Rome, sent to ada@example.com",
        "rejected: unknown tool `orders_convert` (-32602)",
    ];
    Job::new("gateway").check(&expected).await;
}
