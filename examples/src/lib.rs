//! Runnable examples; each file or directory under `examples/` is one program.

pub mod job;
