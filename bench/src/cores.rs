//! Assigns processor cores: server and load must not compete for CPU time.

/// The cores of server and load, if the system supports thread affinity and has two cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cores {
    #[cfg(target_os = "linux")]
    server: usize,
    #[cfg(target_os = "linux")]
    load: usize,
    /// All cores of this process.
    #[cfg(target_os = "linux")]
    all: rustix::thread::CpuSet,
}

/// Programs inherit the affinity of the thread that starts them.
#[cfg(target_os = "linux")]
impl Cores {
    pub(crate) fn two() -> Option<Self> {
        use rustix::thread::{CpuSet, sched_getaffinity};

        let allowed = sched_getaffinity(None).ok()?;
        let mut cores = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core));
        Some(Self {
            server: cores.next()?,
            load: cores.next()?,
            all: allowed,
        })
    }

    /// Runs this thread, and programs that it starts, on the server core.
    pub(crate) fn pin_to_server_core(self) {
        set_affinity(&only(self.server));
    }

    /// Runs this thread, and programs that it starts, on the load core.
    pub(crate) fn pin_to_load_core(self) {
        set_affinity(&only(self.load));
    }

    /// Runs this thread, and programs that it starts, on all cores.
    pub(crate) fn use_all(self) {
        set_affinity(&self.all);
    }
}

#[cfg(target_os = "linux")]
fn only(core: usize) -> rustix::thread::CpuSet {
    let mut set = rustix::thread::CpuSet::new();
    set.set(core);
    set
}

#[cfg(target_os = "linux")]
fn set_affinity(cores: &rustix::thread::CpuSet) {
    // It was permitted before. If it is not any more, the figures are only noisier.
    let _ = rustix::thread::sched_setaffinity(None, cores);
}

#[cfg(not(target_os = "linux"))]
impl Cores {
    pub(crate) fn two() -> Option<Self> {
        None
    }

    pub(crate) fn pin_to_server_core(self) {}

    pub(crate) fn pin_to_load_core(self) {}

    pub(crate) fn use_all(self) {}
}
