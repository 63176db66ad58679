//! The filter for progress notifications: values increase, and none follows the completion.
//!
//! Spec, basic/patterns/progress: the value increases with each notification and notifications stop with completion.

/// A filter that accepts only strictly increasing progress of one request.
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
    /// Returns `true` if this value may be sent or reported, and records it.
    ///
    /// NaN and the infinities have no JSON form and are never accepted.
    pub fn accept(&mut self, progress: f64) -> bool {
        let increases = self.last.is_none_or(|last| progress > last);
        let is_accepted = !self.completed && progress.is_finite() && increases;
        if is_accepted {
            self.last = Some(progress);
        }
        is_accepted
    }

    /// Marks the request as complete. Later values are not accepted.
    pub fn complete(&mut self) {
        self.completed = true;
    }

    /// Returns `true` if the request is complete.
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
    fn only_increasing_finite_values_are_accepted() {
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
    fn no_value_is_accepted_after_completion() {
        let mut gate = ProgressGate::default();
        assert!(!gate.is_complete());
        gate.complete();
        assert!(gate.is_complete());
        assert!(!gate.accept(1.0));
    }

    proptest! {
        #[test]
        fn accepted_values_always_increase(values in proptest::collection::vec(any::<f64>(), 0..64)) {
            prop_assert!(accepted(&values).is_sorted_by(|earlier, later| earlier < later));
        }
    }
}
