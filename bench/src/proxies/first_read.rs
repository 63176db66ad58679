//! The time from the start of a process until it has read the first byte of its standard input.

use std::io;
use std::process::Command;

use crate::comparison::Sample;
use crate::comparison::sample::median;
use crate::cores::Cores;

/// Starts the program several times, and returns the median. It is measured on Linux only.
pub(super) fn starts(
    command: impl Fn() -> Command,
    cores: Option<Cores>,
    starts: usize,
) -> io::Result<Sample> {
    let mut times = Vec::new();
    for _ in 0..starts {
        times.extend(first_read(command(), cores)?);
    }
    Ok(Sample {
        first_read_ms: median(times),
        ..Sample::default()
    })
}

/// Returns the time in milliseconds.
#[cfg(target_os = "linux")]
fn first_read(mut command: Command, cores: Option<Cores>) -> io::Result<Option<f64>> {
    use std::io::Write as _;
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    /// How often the pipe is looked at. It is far shorter than a start.
    const LOOK_INTERVAL: Duration = Duration::from_micros(20);

    command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if let Some(cores) = cores {
        cores.pin_to_server_core();
    }
    let start = Instant::now();
    let child = command.spawn();
    if let Some(cores) = cores {
        cores.pin_to_load_core();
    }
    let mut child = child?;
    let mut input = child.stdin.take().expect("stdin is piped");
    input.write_all(b"\n")?;
    // The pipe has the byte until the process reads it.
    while rustix::io::ioctl_fionread(&input)? > 0 {
        if let Some(status) = child.try_wait()? {
            return Err(io::Error::other(format!(
                "the program ended before it read ({status})"
            )));
        }
        std::thread::sleep(LOOK_INTERVAL);
    }
    let time = start.elapsed();
    drop(input);
    child.wait()?;
    Ok(Some(time.as_secs_f64() * 1e3))
}

/// Returns `None`: other systems do not report what a pipe contains.
#[cfg(not(target_os = "linux"))]
fn first_read(command: Command, cores: Option<Cores>) -> io::Result<Option<f64>> {
    drop((command, cores));
    Ok(None)
}
