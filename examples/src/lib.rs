//! Runnable examples; each file under `examples/` is one program.
