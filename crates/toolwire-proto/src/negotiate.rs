//! negotiate
