//! Which processor core a process runs on: server and load must not take each other's time.

/// The cores of server and load, if this system can tell threads where to run and there are two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cores {
    #[cfg(target_os = "linux")]
    server: usize,
    #[cfg(target_os = "linux")]
    load: usize,
}

/// Programs take over where the thread that starts them may run.
#[cfg(target_os = "linux")]
impl Cores {
    pub(crate) fn two() -> Option<Self> {
        use rustix::thread::{CpuSet, sched_getaffinity};

        let allowed = sched_getaffinity(None).ok()?;
        let mut cores = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core));
        Some(Self {
            server: cores.next()?,
            load: cores.next()?,
        })
    }

    /// From now on this thread, and what it starts, runs where servers do.
    pub(crate) fn stay_with_the_server(self) {
        stay_on(self.server);
    }

    /// From now on this thread, and what it starts, runs where the load does.
    pub(crate) fn stay_with_the_load(self) {
        stay_on(self.load);
    }
}

#[cfg(target_os = "linux")]
fn stay_on(core: usize) {
    let mut set = rustix::thread::CpuSet::new();
    set.set(core);
    // It was allowed a moment ago; if it no longer is, the figures are only noisier.
    let _ = rustix::thread::sched_setaffinity(None, &set);
}

#[cfg(not(target_os = "linux"))]
impl Cores {
    pub(crate) fn two() -> Option<Self> {
        None
    }

    pub(crate) fn stay_with_the_server(self) {}

    pub(crate) fn stay_with_the_load(self) {}
}
