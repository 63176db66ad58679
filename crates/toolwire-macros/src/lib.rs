//! Macros of toolwire.
