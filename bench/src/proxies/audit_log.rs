//! The memory of a gateway while it writes many lines into its audit log.

use std::io;
use std::path::Path;

use super::cases::audited_calls;
use crate::comparison::Sample;
use crate::comparison::http::round;
use crate::process::ServerProcess;

/// The number of parts of the work. The memory after the first one is compared with that after the last one.
const PARTS: usize = 10;

/// Makes a call for each line.
pub(super) async fn write(
    generator: &Path,
    gateway: &ServerProcess,
    lines: usize,
    audit_file: &Path,
) -> io::Result<Sample> {
    let plan = audited_calls(lines / PARTS).plan(1);
    let resident = || gateway.memory().map(|memory| memory.resident);
    let mut last = round(generator, gateway, &plan, None).await?;
    let after_first = resident();
    for _ in 1..PARTS {
        last = round(generator, gateway, &plan, None).await?;
    }
    let growth = after_first.zip(resident());
    if std::fs::metadata(audit_file)?.len() == 0 {
        return Err(io::Error::other("the audit log is empty"));
    }
    Ok(Sample {
        growth_bytes: growth.map(|(first, last)| last.saturating_sub(first) as f64),
        ..last
    })
}
