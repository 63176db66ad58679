//! Parameters of notifications, and a client's responses to a server.

use toolwire_types::{
    CancelledNotificationParams, ElicitationCompleteNotificationParams, ListRootsResult,
    LoggingMessageNotificationParams, NotificationParams, ProgressNotificationParams,
    ResourceUpdatedNotificationParams, Root, SubscriptionsAcknowledgedNotificationParams,
};

use crate::features::VersionFeatures;
use crate::stamp::{Stamp, Target, keep_if, stamp_meta};

impl Stamp for ProgressNotificationParams {
    fn stamp(&mut self, target: &Target<'_>) {
        keep_if(target.version.progress_has_message(), &mut self.message);
        stamp_meta(&mut self.meta, target);
    }
}

impl Stamp for NotificationParams {
    fn stamp(&mut self, target: &Target<'_>) {
        stamp_meta(&mut self.meta, target);
    }
}

impl Stamp for CancelledNotificationParams {
    fn stamp(&mut self, target: &Target<'_>) {
        stamp_meta(&mut self.meta, target);
    }
}

impl Stamp for ElicitationCompleteNotificationParams {
    fn stamp(&mut self, target: &Target<'_>) {
        stamp_meta(&mut self.meta, target);
    }
}

impl Stamp for LoggingMessageNotificationParams {
    fn stamp(&mut self, target: &Target<'_>) {
        stamp_meta(&mut self.meta, target);
    }
}

impl Stamp for ResourceUpdatedNotificationParams {
    fn stamp(&mut self, target: &Target<'_>) {
        stamp_meta(&mut self.meta, target);
    }
}

impl Stamp for SubscriptionsAcknowledgedNotificationParams {
    fn stamp(&mut self, target: &Target<'_>) {
        stamp_meta(&mut self.meta, target);
    }
}

impl Stamp for ListRootsResult {
    fn stamp(&mut self, target: &Target<'_>) {
        self.roots.stamp(target);
        stamp_meta(&mut self.meta, target);
    }
}

impl Stamp for Root {
    fn stamp(&mut self, target: &Target<'_>) {
        keep_if(target.version.has_titles(), &mut self.meta);
    }
}
