//! Results about tasks, in both designs.
//!
//! The two designs do not convert into each other. The caller picks the one that its peer supports.

use toolwire_types::ResultType;
use toolwire_types::tasks::{core, extension};

use crate::stamp::results::stamp_result;
use crate::stamp::{Stamp, Target, stamp_meta};

impl Stamp for core::CreateTaskResult {
    fn stamp(&mut self, target: &Target<'_>) {
        stamp_meta(&mut self.meta, target);
    }
}

impl Stamp for core::Task {
    fn stamp(&mut self, target: &Target<'_>) {
        stamp_meta(&mut self.meta, target);
    }
}

impl Stamp for core::ListTasksResult {
    fn stamp(&mut self, target: &Target<'_>) {
        stamp_meta(&mut self.meta, target);
    }
}

impl Stamp for extension::CreateTaskResult {
    fn stamp(&mut self, target: &Target<'_>) {
        stamp_result(
            ResultType::Task,
            &mut self.result_type,
            &mut self.meta,
            target,
        );
    }
}

/// Stamps the result of `tasks/get`. The same type is the parameters of `notifications/tasks`, which need no stamp.
impl Stamp for extension::GetTaskResult {
    fn stamp(&mut self, target: &Target<'_>) {
        stamp_result(
            ResultType::Complete,
            &mut self.result_type,
            &mut self.meta,
            target,
        );
    }
}
