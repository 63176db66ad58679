//! Selects the fault of each call.

use std::collections::HashMap;

use crate::store::contract::faulty::Fault;

/// The faults that a test demands.
#[derive(Debug, Default)]
pub(super) struct FaultPlan {
    /// The faults of methods, and for how many more calls they apply.
    faults: HashMap<String, (Fault, usize)>,
    random: Option<RandomFaults>,
    calls: HashMap<&'static str, usize>,
}

/// Faults that a seed selects.
#[derive(Debug)]
struct RandomFaults {
    state: u64,
    one_in: u64,
    of_calls: Vec<Fault>,
    of_messages: Vec<Fault>,
}

impl FaultPlan {
    pub(super) fn inject(&mut self, method: &str, fault: Fault, times: usize) {
        self.faults.insert(method.to_owned(), (fault, times));
    }

    pub(super) fn inject_random(&mut self, seed: u64, one_in: u64, faults: &[Fault]) {
        let (of_messages, of_calls) = faults.iter().partition(|fault| fault.is_of_messages());
        self.random = Some(RandomFaults {
            state: seed,
            one_in: one_in.max(1),
            of_calls,
            of_messages,
        });
    }

    pub(super) fn heal(&mut self) {
        self.faults.clear();
        self.random = None;
    }

    pub(super) fn calls(&self, method: &str) -> usize {
        self.calls.get(method).copied().unwrap_or_default()
    }

    /// Counts a call and returns its fault.
    pub(super) fn next_of_call(&mut self, method: &'static str) -> Option<Fault> {
        let random = |random: &mut RandomFaults| random.next(false);
        self.next(method)
            .or_else(|| self.random.as_mut().and_then(random))
    }

    /// Counts a message and returns its fault.
    pub(super) fn next_of_message(&mut self) -> Option<Fault> {
        let random = |random: &mut RandomFaults| random.next(true);
        self.next("next")
            .or_else(|| self.random.as_mut().and_then(random))
    }

    fn next(&mut self, method: &'static str) -> Option<Fault> {
        *self.calls.entry(method).or_default() += 1;
        let (fault, left) = self.faults.get_mut(method)?;
        let fault = *fault;
        *left = left.saturating_sub(1);
        if *left == 0 {
            self.faults.remove(method);
        }
        Some(fault)
    }
}

impl RandomFaults {
    fn next(&mut self, is_message: bool) -> Option<Fault> {
        let faults = if is_message {
            &self.of_messages
        } else {
            &self.of_calls
        };
        let count = u64::try_from(faults.len())
            .ok()
            .filter(|count| *count > 0)?;
        let random = next_random(&mut self.state);
        if !random.is_multiple_of(self.one_in) {
            return None;
        }
        let selected = (random >> 32) % count;
        faults.get(usize::try_from(selected).ok()?).copied()
    }
}

/// Returns the next number of the generator SplitMix64.
fn next_random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
