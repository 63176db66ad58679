//! The gate every progress notification passes: values grow, and nothing follows the end.
//!
//! Spec, basic/patterns/progress: the value increases with each notification and notifications stop with completion.

/// Lets strictly increasing progress of one request through.
///
/// ```
/// use toolwire_proto::progress::ProgressGate;
///
/// let mut gate = ProgressGate::default();
/// assert!(gate.accept(0.5));
/// assert!(!gate.accept(0.5));
/// gate.complete();
/// assert!(!gate.accept(1.0));
/// ```
#[derive(Debug, Clone, Default)]
pub struct ProgressGate {
    last: Option<f64>,
    completed: bool,
}

impl ProgressGate {
    /// True when this value may be sent (or believed); it then becomes the new mark.
    ///
    /// NaN and the infinities have no JSON form and never pass.
    pub fn accept(&mut self, progress: f64) -> bool {
        let grows = self.last.is_none_or(|last| progress > last);
        let passes = !self.completed && progress.is_finite() && grows;
        if passes {
            self.last = Some(progress);
        }
        passes
    }

    /// Closes the gate: the request has its outcome.
    pub fn complete(&mut self) {
        self.completed = true;
    }

    /// True when the request has its outcome.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.completed
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn accepted(values: &[f64]) -> Vec<f64> {
        let mut gate = ProgressGate::default();
        values
            .iter()
            .copied()
            .filter(|value| gate.accept(*value))
            .collect()
    }

    #[test]
    fn only_growing_finite_values_pass() {
        let check = |values: &[f64], expected: &[f64]| assert_eq!(accepted(values), expected);
        check(&[], &[]);
        check(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]);
        check(&[1.0, 1.0, 0.5, 1.5], &[1.0, 1.5]);
        check(&[-2.0, -1.0, 0.0], &[-2.0, -1.0, 0.0]);
        check(&[0.0, -0.0], &[0.0]);
        check(&[f64::NAN, 1.0, f64::NAN, 2.0], &[1.0, 2.0]);
        check(&[f64::INFINITY, 1.0, f64::NEG_INFINITY], &[1.0]);
    }

    #[test]
    fn nothing_passes_after_completion() {
        let mut gate = ProgressGate::default();
        assert!(!gate.is_complete());
        gate.complete();
        assert!(gate.is_complete());
        assert!(!gate.accept(1.0));
    }

    proptest! {
        #[test]
        fn what_passes_always_grows(values in proptest::collection::vec(any::<f64>(), 0..64)) {
            prop_assert!(accepted(&values).is_sorted_by(|earlier, later| earlier < later));
        }
    }
}
