//! `toolwire doctor redis`: checks what a service on several nodes depends on.

use std::time::Duration;

use serde_json::json;
use toolwire_redis::{ConnectError, Redis, RedisOptions};

use crate::doctor_arguments::DoctorRedis;
use crate::failure::{Exit, Failure};
use crate::screen::Screen;
use crate::show::plain_text;

/// The number of commands whose round trip is measured.
const ROUND_TRIPS: usize = 20;

/// Connects to an engine as a node would, and reports problems with their remedies. It changes nothing that nodes compare.
pub(crate) async fn check_redis(arguments: &DoctorRedis, screen: &Screen) -> Result<Exit, Failure> {
    let options = RedisOptions::new(&arguments.service).with_inspection_only();
    let redis = Redis::connect(&arguments.url, options).await;
    let redis = redis.map_err(|error| Failure::new(exit_of(&error), error.to_string()))?;
    let round_trip = median_round_trip(&redis).await;
    let round_trip = round_trip.map_err(|error| faulty("the engine does not respond", &error))?;
    redis
        .check_bus()
        .await
        .map_err(|error| faulty("nodes cannot hear each other", &error))?;
    let micros = u64::try_from(round_trip.as_micros()).unwrap_or(u64::MAX);
    if screen.json {
        let warnings = redis
            .warnings()
            .iter()
            .map(|warning| json!({ "problem": warning.problem, "remedy": warning.remedy }));
        let warnings: Vec<_> = warnings.collect();
        screen.print_json(&json!({ "warnings": warnings, "roundTripMicros": micros }))?;
        return Ok(Exit::Success);
    }
    let mut report = String::from("the engine can be used\n");
    for warning in redis.warnings() {
        report += &format!("warning: {}\n", plain_text(&warning.problem));
        report += &format!("         {}\n", plain_text(&warning.remedy));
    }
    let milliseconds = Duration::from_micros(micros).as_secs_f64() * 1000.0;
    report += &format!("round trip: {milliseconds:.2} ms (median of {ROUND_TRIPS})\n");
    screen.print(&report)?;
    Ok(Exit::Success)
}

async fn median_round_trip(redis: &Redis) -> Result<Duration, toolwire::store::StoreError> {
    let mut times = Vec::new();
    for _ in 0..ROUND_TRIPS {
        times.push(redis.round_trip().await?);
    }
    times.sort_unstable();
    Ok(times.get(ROUND_TRIPS / 2).copied().unwrap_or_default())
}

fn exit_of(error: &ConnectError) -> Exit {
    match error {
        ConnectError::InvalidUrl(_) | ConnectError::InvalidService(_) => Exit::Usage,
        ConnectError::Unavailable(_) | ConnectError::Certificate(_) => Exit::NoConnection,
        _ => Exit::ToolFailed,
    }
}

fn faulty(problem: &str, error: &toolwire::store::StoreError) -> Failure {
    let reason =
        std::error::Error::source(error).map_or_else(String::new, |source| format!(": {source}"));
    Failure::new(Exit::ToolFailed, format!("{problem}: {error}{reason}"))
}
