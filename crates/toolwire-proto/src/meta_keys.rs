//! meta_keys
