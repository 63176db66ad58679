//! Stores that several servers share.
