//! subscriptions
