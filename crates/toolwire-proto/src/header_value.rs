//! header_value
